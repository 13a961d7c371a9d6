#include "tests/bench/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

#include "common/os/file.h"
#include "common/os/unique_fd.h"

namespace odyssey::bench {
namespace {

constexpr size_t kMaxLog = 64 * 1024;

Status AwaitReady(int fd, const std::string& name) {
  std::string said;
  char buffer[256];
  while (said.find("ready\n") == std::string::npos) {
    const ssize_t n = read(fd, buffer, sizeof(buffer));
    if (n <= 0) return Unavailable(name + " ended before it was ready");
    said.append(buffer, static_cast<size_t>(n));
  }
  return OkStatus();
}

}  // namespace

Result<Child> LaunchDaemon(std::vector<std::string> argv, const std::string& log) {
  const std::string name = argv[0];
  argv[0] = std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
  const UniqueFd log_fd(open(log.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  int ends[2];
  if (!log_fd || pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "open log and pipe");
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  ODY_ASSIGN_OR_RETURN(Child process,
                       Child::Spawn(argv, {.stdout_fd = writer.get(), .stderr_fd = log_fd.get()}));
  writer.reset();
  const Status ready = AwaitReady(reader.get(), name);
  if (ready.ok()) return process;
  const Result<std::string> text = ReadFile(log, kMaxLog);
  return Status(ready.code(), ready.message() + ":\n" + (text.ok() ? *text : ""));
}

}  // namespace odyssey::bench
