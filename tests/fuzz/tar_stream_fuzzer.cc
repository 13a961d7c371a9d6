// Reads any bytes as a backup. The sums of its headers are made right first, since no mutation
// would: what they protect against is in tar_stream_test.cc. Whatever is read, a writer writes it
// again, and it reads back as the same.

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/os/file.h"
#include "common/os/unique_fd.h"
#include "ctl/backup/tar_stream.h"

namespace {

using odyssey::Result;
using odyssey::UniqueFd;
using odyssey::ctl::TarEntry;
using odyssey::ctl::TarReader;
using odyssey::ctl::TarWriter;

constexpr size_t kBlock = 512;
constexpr size_t kChecksum = 148, kChecksumBytes = 8;
constexpr size_t kMagic = 257;

struct Member {
  TarEntry entry;
  std::string content;
};

void MakeSumsRight(std::string* bytes) {
  for (size_t at = 0; at + kBlock <= bytes->size(); at += kBlock) {
    if (bytes->compare(at + kMagic, 5, "ustar") != 0) continue;
    bytes->replace(at + kChecksum, kChecksumBytes, kChecksumBytes, ' ');
    unsigned sum = 0;
    for (size_t i = 0; i < kBlock; ++i) sum += static_cast<unsigned char>((*bytes)[at + i]);
    char digits[kChecksumBytes];
    snprintf(digits, sizeof(digits), "%06o", sum);
    memcpy(&(*bytes)[at + kChecksum], digits, 7);
  }
}

UniqueFd Holding(std::string_view bytes) {
  UniqueFd fd(memfd_create("tar", MFD_CLOEXEC));
  ODY_CHECK(fd && odyssey::WriteAll(fd.get(), bytes).ok() && lseek(fd.get(), 0, SEEK_SET) == 0);
  return fd;
}

// What restore takes: the members before the first error. `whole`: there was none.
std::vector<Member> Read(int fd, bool* whole) {
  TarReader tar(fd);
  std::vector<Member> members;
  for (*whole = false;;) {
    Result<std::optional<TarEntry>> entry = tar.Next();
    if (!entry.ok()) return members;
    if (!*entry) {
      *whole = true;
      return members;
    }
    ODY_CHECK(odyssey::ctl::CheckTarName((*entry)->name).ok());
    ODY_CHECK(((*entry)->mode & ~mode_t{0777}) == 0);
    Member member{.entry = **std::move(entry)};
    for (;;) {
      const Result<std::string> piece = tar.Data();
      if (!piece.ok()) return members;
      if (piece->empty()) break;
      member.content += *piece;
    }
    ODY_CHECK(member.content.size() == member.entry.size);
    members.push_back(std::move(member));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  MakeSumsRight(&bytes);
  bool whole = false;
  const std::vector<Member> members = Read(Holding(bytes).get(), &whole);

  const UniqueFd again = Holding("");
  TarWriter tar(again.get());
  for (const Member& member : members) {
    ODY_CHECK(tar.Begin(member.entry).ok() && tar.Data(member.content).ok() && tar.End().ok());
  }
  ODY_CHECK(tar.Finish().ok() && lseek(again.get(), 0, SEEK_SET) == 0);
  const std::vector<Member> read = Read(again.get(), &whole);
  ODY_CHECK(whole && read.size() == members.size());
  for (size_t i = 0; i < read.size(); ++i) {
    ODY_CHECK(read[i].entry.name == members[i].entry.name &&
              read[i].entry.directory == members[i].entry.directory &&
              read[i].entry.mode == members[i].entry.mode &&
              read[i].entry.size == members[i].entry.size && read[i].content == members[i].content);
  }
  return 0;
}
