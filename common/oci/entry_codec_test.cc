#include "common/oci/entry_codec.h"

#include <gtest/gtest.h>

#include <map>

namespace odyssey::oci {
namespace {

using std::string_literals::operator""s;

class MapSink final : public EntrySink {
 public:
  Status Begin(const std::string& path, uint64_t bytes) override {
    path_ = path;
    files_[path].reserve(bytes < 1024 ? bytes : 0);
    return OkStatus();
  }
  Status Data(std::string_view bytes) override {
    files_[path_] += bytes;
    return OkStatus();
  }
  Status End() override { return OkStatus(); }

  std::map<std::string, std::string> files_;

 private:
  std::string path_;
};

Status Decode(const EntryFormat& format, const std::string& bytes, size_t piece,
              std::map<std::string, std::string>* files = nullptr) {
  MapSink sink;
  EntryDecoder decoder(format, &sink);
  for (size_t i = 0; i < bytes.size(); i += piece) {
    ODY_RETURN_IF_ERROR(decoder.Feed(std::string_view(bytes).substr(i, piece)));
  }
  if (files != nullptr) *files = sink.files_;
  return decoder.Finish();
}

// Byte for byte as the contract has it.
const std::string kLayer =
    "ODYLP1\n"
    "\x02\x00\x00\x00"
    "\x01\x00\x00\x00"
    "a"
    "\x03\x00\x00\x00\x00\x00\x00\x00"
    "xyz"
    "\x03\x00\x00\x00"
    "b/c"
    "\x00\x00\x00\x00\x00\x00\x00\x00"s;

TEST(EntryCodecTest, EncodesAsTheContractHasIt) {
  EXPECT_EQ(*EncodeHeader(kLayerFormat, 2) + *EncodeEntry(kLayerFormat, "a", 3) + "xyz" +
                *EncodeEntry(kLayerFormat, "b/c", 0),
            kLayer);
  EXPECT_EQ(*EncodeHeader(kArchiveFormat, 1), "ODYB1\n\x01\x00\x00\x00"s);
}

TEST(EntryCodecTest, DecodesInPiecesOfAnySize) {
  for (size_t piece = 1; piece <= kLayer.size(); ++piece) {
    std::map<std::string, std::string> files;
    EXPECT_TRUE(Decode(kLayerFormat, kLayer, piece, &files).ok()) << piece;
    EXPECT_EQ(files, (std::map<std::string, std::string>{{"a", "xyz"}, {"b/c", ""}})) << piece;
  }
}

TEST(EntryCodecTest, EveryPrefixIsTruncated) {
  for (size_t size = 0; size < kLayer.size(); ++size) {
    const Status status = Decode(kLayerFormat, kLayer.substr(0, size), 7);
    EXPECT_EQ(status, InvalidArgument(size < 7 ? "invalid bundle: invalid bundle payload header"
                                               : "invalid bundle: bundle entry is truncated"))
        << size;
  }
}

std::string WithPath(const EntryFormat& format, const std::string& path) {
  std::string size(4, '\0');
  size[0] = static_cast<char>(path.size());
  return std::string(format.magic) + "\x01\0\0\0"s + size + path + std::string(8, '\0');
}

TEST(EntryCodecTest, RefusesByName) {
  const auto number = [](char high) { return "\x01\x00\x00"s + high; };
  for (const auto& [format, bytes, cause] :
       std::vector<std::tuple<const EntryFormat&, std::string, std::string>>{
           {kLayerFormat, "ODYB1\n....", "invalid bundle payload header"},
           {kArchiveFormat, "ODYLP1\n....", "invalid bundle archive header"},
           {kLayerFormat, "ODYLP1\n" + number(1), "payload file count exceeds maximum 16384"},
           {kArchiveFormat, "ODYB1\n" + number(1), "archive entry count exceeds maximum 16384"},
           {kLayerFormat, "ODYLP1\n\x01\0\0\0"s + number(1),
            "payload path length exceeds maximum 4096 bytes"},
           {kArchiveFormat, "ODYB1\n\x01\0\0\0"s + number(1),
            "archive path length exceeds maximum 4096 bytes"},
           {kLayerFormat, "ODYLP1\n\x01\0\0\0\x01\0\0\0a\x01\0\0\x10\0\0\0\0"s,
            "payload data length exceeds maximum 268435456 bytes"},
           {kArchiveFormat, "ODYB1\n\x01\0\0\0\x01\0\0\0a\0\0\0\0\0\0\0\x80"s,
            "archive entry length exceeds maximum 268435456 bytes"},
           {kLayerFormat, kLayer + "x", "payload bundle contains trailing data"},
           {kArchiveFormat, "ODYB1\n\0\0\0\0x"s, "bundle archive contains trailing data"},
           {kLayerFormat, WithPath(kLayerFormat, ""), "payload entry path cannot be empty"},
           {kLayerFormat, WithPath(kLayerFormat, "/a"), "payload entry path must be relative: /a"},
           {kLayerFormat, WithPath(kLayerFormat, "a/../b"),
            "payload entry path escapes destination: a/../b"},
           {kLayerFormat, WithPath(kLayerFormat, "a//b"),
            "payload entry path is not normalised: a//b"},
           {kLayerFormat, WithPath(kLayerFormat, "a/"), "payload entry path is not normalised: a/"},
           {kLayerFormat, WithPath(kLayerFormat, "a\0b"s),
            "payload entry path is not UTF-8 text: a\0b"s},
           {kArchiveFormat, WithPath(kArchiveFormat, "../escape.txt"),
            "bundle archive entry escapes destination: ../escape.txt"},
           {kArchiveFormat, WithPath(kArchiveFormat, "/etc/x"),
            "bundle archive entry escapes destination: /etc/x"}}) {
    EXPECT_EQ(Decode(format, bytes, 3), InvalidArgument("invalid bundle: " + cause));
  }
}

TEST(EntryCodecTest, RefusesAPathThatComesTwice) {
  const std::string entry = *EncodeEntry(kLayerFormat, "a", 0);
  EXPECT_EQ(Decode(kLayerFormat, *EncodeHeader(kLayerFormat, 2) + entry + entry, 100),
            InvalidArgument("invalid bundle: payload entry comes twice: a"));
}

TEST(EntryCodecTest, EncodesNothingThatItWouldRefuse) {
  EXPECT_FALSE(EncodeHeader(kLayerFormat, kMaxEntries + 1).ok());
  EXPECT_FALSE(EncodeEntry(kLayerFormat, "../a", 0).ok());
  EXPECT_FALSE(EncodeEntry(kLayerFormat, std::string(kMaxPathBytes + 1, 'a'), 0).ok());
  EXPECT_FALSE(EncodeEntry(kLayerFormat, "a", kMaxEntryBytes + 1).ok());
}

}  // namespace
}  // namespace odyssey::oci
