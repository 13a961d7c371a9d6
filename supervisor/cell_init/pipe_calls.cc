#include "supervisor/cell_init/pipe_calls.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "common/os/file.h"
#include "common/os/message_socket.h"
#include "supervisor/cell_init/caller.h"
#include "supervisor/cell_init/own_pipes.h"

namespace odyssey::cell_init {
namespace {

constexpr size_t kMostStatus = 16 * 1024;

// Empty if it cannot be read. Another thread of the caller may change it; then this is the path.
std::string PathAt(const seccomp_notif& call, uint64_t address) {
  const UniqueFd memory(open(ProcOf(call, "mem").c_str(), O_RDONLY | O_CLOEXEC));
  char path[PATH_MAX];
  const ssize_t n =
      memory ? pread(memory.get(), path, sizeof(path), static_cast<off_t>(address)) : -1;
  if (n <= 0 || memchr(path, '\0', static_cast<size_t>(n)) == nullptr) return "";
  return path;
}

std::optional<uint32_t> UmaskOf(const seccomp_notif& call) {
  const auto status = ReadFile(ProcOf(call, "status"), kMostStatus);
  const std::string key = "\nUmask:\t";
  const size_t at = status.ok() ? status->find(key) : std::string::npos;
  if (at == std::string::npos) return std::nullopt;
  return static_cast<uint32_t>(strtoul(status->c_str() + at + key.size(), nullptr, 8));
}

}  // namespace

bool MakesPipe(const seccomp_data& call) {
  if (call.nr != SYS_mknod && call.nr != SYS_mknodat) return false;
  const auto mode = static_cast<uint32_t>(call.args[call.nr == SYS_mknod ? 1 : 2]);
  return (mode & (S_IFMT | S_ISUID | S_ISGID)) == S_IFIFO;
}

std::optional<int> AskForPipe(const seccomp_notif& call, int listener, int cell_init) {
  const bool at = call.data.nr == SYS_mknodat;
  const auto directory = at ? static_cast<int>(call.data.args[0]) : AT_FDCWD;
  PipeRequest request{.mode = static_cast<uint32_t>(call.data.args[at ? 2 : 1]),
                      .path = PathAt(call, call.data.args[at ? 1 : 0])};
  const std::string from = directory == AT_FDCWD ? "cwd" : "fd/" + std::to_string(directory);
  const UniqueFd start(open(ProcOf(call, from).c_str(), O_PATH | O_CLOEXEC));
  const auto umask = UmaskOf(call);
  if (cell_init < 0 || request.path.empty() || !start || !umask) return std::nullopt;
  request.umask = *umask;
  if (ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &call.id) != 0) return std::nullopt;

  auto channel = MessageSocketPair();
  if (!channel.ok()) return std::nullopt;
  if (!SendMessage(cell_init, request.Encode(), {start.get(), channel->second.get()}).ok()) {
    return std::nullopt;
  }
  channel->second.reset();
  int answer = 0;
  if (read(channel->first.get(), &answer, sizeof(answer)) != sizeof(answer)) return std::nullopt;
  return answer;
}

}  // namespace odyssey::cell_init
