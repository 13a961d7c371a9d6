#include "ctl/backup/tar_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "common/os/file.h"
#include "common/os/unique_fd.h"

namespace odyssey::ctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

using Entries = std::vector<std::pair<std::string, std::string>>;  // a directory: "dir"

UniqueFd Memory() { return UniqueFd(memfd_create("tar", MFD_CLOEXEC)); }

std::string Write(const Entries& entries) {
  const UniqueFd fd = Memory();
  TarWriter tar(fd.get());
  for (const auto& [name, content] : entries) {
    const bool directory = content == "dir";
    EXPECT_TRUE(
        tar.Begin({.name = name, .directory = directory, .size = directory ? 0 : content.size()})
            .ok());
    EXPECT_TRUE(tar.Data(directory ? "" : content).ok());
    EXPECT_TRUE(tar.End().ok());
  }
  EXPECT_TRUE(tar.Finish().ok());
  lseek(fd.get(), 0, SEEK_SET);
  return *ReadToTheEnd(fd.get(), "tar", 1 << 24);
}

Result<Entries> Read(const std::string& bytes) {
  const UniqueFd fd = Memory();
  EXPECT_TRUE(WriteAll(fd.get(), bytes).ok());
  lseek(fd.get(), 0, SEEK_SET);
  TarReader tar(fd.get());
  Entries out;
  for (;;) {
    ODY_ASSIGN_OR_RETURN(const std::optional<TarEntry> entry, tar.Next());
    if (!entry) return out;
    std::string content = entry->directory ? "dir" : "";
    for (;;) {
      ODY_ASSIGN_OR_RETURN(const std::string piece, tar.Data());
      if (piece.empty()) break;
      content += piece;
    }
    out.emplace_back(entry->name, content);
  }
}

TEST(TarStreamTest, ReadsWhatItWrites) {
  const std::string long_name = "a/" + std::string(200, 'b') + "/" + std::string(250, 'c');
  const Entries entries = {{"d", "dir"},
                           {"d/empty", ""},
                           {"d/block", std::string(512, 'x')},
                           {"d/more", std::string(200'000, 'y')},
                           {"d/" + std::string(98, 'n'), "as long as the field"},
                           {"d/" + std::string(99, 'n'), "and one more"},
                           {long_name, "long"},
                           {"d/ünïcode", "text"}};
  const Result<Entries> read = Read(Write(entries));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, entries);
}

TEST(TarStreamTest, RefusesNamesThatLeadElsewhere) {
  for (const char* name :
       {"", "/", "/a", "a//b", "a/", ".", "..", "../a", "a/..", "a/../b", "a/./b", "./a", "a\nb"}) {
    EXPECT_FALSE(CheckTarName(name).ok()) << name;
  }
  EXPECT_FALSE(CheckTarName(std::string(kMaxTarName + 1, 'a')).ok());
  for (const char* name : {"a", "a/b", "...", "a/..b", ".a"}) {
    EXPECT_TRUE(CheckTarName(name).ok()) << name;
  }
}

TEST(TarStreamTest, RefusesAFileThatDoesNotFit) {
  TarWriter tar(-1);
  EXPECT_THAT(tar.Begin({.name = "a", .size = kMaxTarFileBytes + 1}).message(), HasSubstr("8 GiB"));
}

// Wherever an archive ends, it is cut off; whatever bit is wrong in a header, it is seen.
TEST(TarStreamTest, SeesDamage) {
  const std::string whole = Write({{"d", "dir"}, {"d/f", "content"}});
  ASSERT_THAT(*Read(whole), ElementsAre(Pair("d", "dir"), Pair("d/f", "content")));
  for (size_t end = 0; end + 1024 < whole.size(); end += 128) {
    EXPECT_THAT(Read(whole.substr(0, end)).status().message(), HasSubstr("cut off")) << end;
  }
  constexpr size_t kAfterChecksum = 155;  // a space that ends the checksum, as its NUL does
  for (size_t at = 0; at < 1024; ++at) {
    if (at % 512 == kAfterChecksum) continue;
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x04);
    EXPECT_FALSE(Read(changed).ok()) << at;
  }
}

}  // namespace
}  // namespace odyssey::ctl
