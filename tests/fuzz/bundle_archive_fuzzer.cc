// Reads any bytes as a `.odyssey` archive, cut in two places, and what comes of it as the JSON
// files of an OCI layout.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/oci/entry_codec.h"
#include "common/oci/layout.h"

namespace {

namespace oci = odyssey::oci;

// Holds what Begin promises of a path, and that content is as long as it said.
class CheckingSink final : public oci::EntrySink {
 public:
  explicit CheckingSink(const oci::EntryFormat& format) : format_(format) {}

  odyssey::Status Begin(const std::string& path, uint64_t bytes) override {
    ODY_CHECK(oci::CheckEntryPath(format_, path).ok());
    ODY_CHECK(path.find("..") == std::string::npos ||
              ("/" + path + "/").find("/../") == std::string::npos);
    ODY_CHECK(bytes <= oci::kMaxEntryBytes);
    left_ = bytes;
    text_.clear();
    return odyssey::OkStatus();
  }
  odyssey::Status Data(std::string_view bytes) override {
    ODY_CHECK(bytes.size() <= left_);
    left_ -= bytes.size();
    text_ += bytes;
    return odyssey::OkStatus();
  }
  odyssey::Status End() override {
    ODY_CHECK(left_ == 0);
    (void)oci::ReadIndex(text_);
    (void)oci::ReadConfig(text_);
    const auto manifest = oci::ReadManifest(text_);
    if (manifest.ok())
      ODY_CHECK(*oci::ReadManifest(oci::WriteManifest(*manifest, "x")) == *manifest);
    return odyssey::OkStatus();
  }

 private:
  const oci::EntryFormat& format_;
  uint64_t left_ = 0;
  std::string text_;
};

void Decode(const oci::EntryFormat& format, std::string_view bytes, size_t cut) {
  CheckingSink sink(format);
  oci::EntryDecoder decoder(format, &sink);
  if (decoder.Feed(bytes.substr(0, cut)).ok() && decoder.Feed(bytes.substr(cut)).ok()) {
    (void)decoder.Finish();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t cut = data[0] % bytes.size();
  Decode(oci::kArchiveFormat, bytes, cut);
  Decode(oci::kLayerFormat, bytes, cut);
  return 0;
}
