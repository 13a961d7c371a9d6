#include "common/os/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/os/file.h"

namespace odyssey {
namespace {

constexpr int kFirstScratch = 64;  // where descriptors wait before they take their places

}  // namespace

Status PlaceDescriptors(const std::vector<int>& wanted, int first) {
  std::vector<int> scratch;
  for (const int fd : wanted) {
    scratch.push_back(fcntl(fd, F_DUPFD_CLOEXEC, kFirstScratch));
    if (scratch.back() < 0) return ErrnoStatus(errno, "duplicate descriptor");
  }
  int place = first;
  for (const int fd : scratch) {
    if (dup2(fd, place++) < 0) return ErrnoStatus(errno, "place descriptor");
  }
  if (syscall(SYS_close_range, place, ~0U, 0) != 0) return ErrnoStatus(errno, "close descriptors");
  return OkStatus();
}

Result<UniqueFd> SealedMemoryFile(const char* name, std::string_view bytes) {
  UniqueFd file(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) return ErrnoStatus(errno, "create memory file");
  ODY_RETURN_IF_ERROR(WriteAll(file.get(), bytes));
  constexpr int kSeals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW;
  const bool sealed =
      lseek(file.get(), 0, SEEK_SET) == 0 && fcntl(file.get(), F_ADD_SEALS, kSeals) == 0;
  if (!sealed) return ErrnoStatus(errno, "seal memory file");
  return file;
}

}  // namespace odyssey
