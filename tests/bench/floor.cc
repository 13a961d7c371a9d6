#include "tests/bench/floor.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/os/unique_fd.h"
#include "tests/bench/child.h"

namespace odyssey::bench {
namespace {

constexpr size_t kPipeBuffer = 64 * 1024;  // the default capacity of a pipe

}  // namespace

Status SpawnAndWait(const std::vector<std::string>& argv) {
  ODY_ASSIGN_OR_RETURN(Child child, Child::Spawn(argv, {}));
  return child.Wait();
}

Status BwrapTrue() {
  static const std::vector<std::string> command = {
      "/usr/bin/bwrap", "--unshare-all", "--ro-bind", "/",    "/",
      "--proc",         "/proc",         "--dev",     "/dev", "/bin/true"};
  return SpawnAndWait(command);
}

Result<uint64_t> DrainPipe(const std::vector<std::string>& argv) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "create pipe");
  UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  ODY_ASSIGN_OR_RETURN(Child child, Child::Spawn(argv, {.stdout_fd = writer.get()}));
  writer.reset();
  std::vector<char> buffer(kPipeBuffer);
  uint64_t total = 0;
  for (;;) {
    const ssize_t n = read(reader.get(), buffer.data(), buffer.size());
    if (n < 0) return ErrnoStatus(errno, "read pipe");
    if (n == 0) break;
    total += static_cast<uint64_t>(n);
  }
  ODY_RETURN_IF_ERROR(child.Wait());
  return total;
}

Result<uint64_t> ReadWithPread(const std::string& path, size_t max_bytes) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return ErrnoStatus(errno, "open " + path);
  std::string buffer(max_bytes, '\0');
  const ssize_t n = pread(fd.get(), buffer.data(), buffer.size(), 0);
  if (n < 0) return ErrnoStatus(errno, "read " + path);
  return static_cast<uint64_t>(n);
}

}  // namespace odyssey::bench
