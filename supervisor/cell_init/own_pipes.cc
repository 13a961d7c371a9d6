#include "supervisor/cell_init/own_pipes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "common/os/message_socket.h"
#include "supervisor/cell_guard/tree_walk.h"
#include "supervisor/cell_init/worker_process.h"

namespace odyssey::cell_init {
namespace {

// At once, of which each takes a descriptor, and 1,024 is what a service may have unless told
// otherwise. What has no name any more counts no more.
constexpr size_t kMaxPipes = 256;

// A pipe with this bit that is no older than the call was made by it: nobody gives the bit to a
// pipe, for which it means nothing, but a command that means to have the host's taken for its own.
constexpr mode_t kMark = S_ISVTX;

// Without the kernel's own links: in its /proc pid 1 would meet itself.
UniqueFd OpenDirectory(int from, const std::string& path) {
  open_how how{};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_NO_MAGICLINKS;
  return UniqueFd(static_cast<int>(syscall(SYS_openat2, from, path.c_str(), &how, sizeof(how))));
}

bool IsBelowOneOf(const std::vector<std::string>& trees, int directory) {
  char path[PATH_MAX];
  const std::string link = "/proc/self/fd/" + std::to_string(directory);
  const ssize_t length = readlink(link.c_str(), path, sizeof(path));
  if (length <= 0) return false;
  const std::string_view place(path, static_cast<size_t>(length));
  return std::any_of(trees.begin(), trees.end(), [&](const std::string& tree) {
    return place == tree || cell_guard::Below(place, tree).has_value();
  });
}

// What the clock of file systems says: that of the kernel's ticks.
timespec Now() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return now;
}

bool IsMarked(int pipe, const timespec& since) {
  struct statx info;
  if (statx(pipe, "", AT_EMPTY_PATH, STATX_MODE | STATX_BTIME, &info) != 0) return false;
  const bool is_new = (info.stx_mask & STATX_BTIME) != 0 &&
                      std::pair<int64_t, int64_t>(info.stx_btime.tv_sec, info.stx_btime.tv_nsec) >=
                          std::pair<int64_t, int64_t>(since.tv_sec, since.tv_nsec);
  return is_new && S_ISFIFO(info.stx_mode) && (info.stx_mode & kMark) != 0;
}

// In the process that makes it: what mknodat(2) answers. `*pipe` is what was made, whatever has its
// name by now; nothing if that cannot be told, and so it will be taken for the host's.
int MakePipe(int directory, const std::string& name, const PipeRequest& request, UniqueFd* pipe) {
  umask(request.umask);
  const timespec start = Now();
  if (mknodat(directory, name.c_str(), request.mode | kMark, 0) != 0) return errno;
  UniqueFd made(openat(directory, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat info;
  if (!made || !IsMarked(made.get(), start) || fstat(made.get(), &info) != 0) return 0;
  const std::string link = "/proc/self/fd/" + std::to_string(made.get());
  const mode_t mode = (info.st_mode & ALLPERMS & ~kMark) | (request.mode & kMark);
  if (chmod(link.c_str(), mode) == 0) *pipe = std::move(made);
  return 0;
}

[[noreturn]] void BecomeMaker(const Confinement& confinement, const PipeRequest& request,
                              int directory, int answer) {
  if (!BecomeWorker("make-pipe", confinement, {directory, answer}).ok()) _exit(1);
  const std::string name = request.path.substr(request.path.rfind('/') + 1);
  UniqueFd pipe;
  const int error = MakePipe(kFirstWorkerFd, name, request, &pipe);
  const std::string_view bytes(reinterpret_cast<const char*>(&error), sizeof(error));
  std::vector<int> fds;
  if (pipe) fds.push_back(pipe.get());
  _exit(SendMessage(kFirstWorkerFd + 1, bytes, fds).ok() ? 0 : 1);
}

}  // namespace

std::string PipeRequest::Encode() const {
  const uint32_t numbers[] = {mode, umask};
  return std::string(reinterpret_cast<const char*>(numbers), sizeof(numbers)) + path;
}

Result<PipeRequest> PipeRequest::Decode(std::string_view bytes) {
  uint32_t numbers[2];
  if (bytes.size() <= sizeof(numbers)) return InvalidArgument("a request for a pipe is too short");
  memcpy(numbers, bytes.data(), sizeof(numbers));
  return PipeRequest{numbers[0], numbers[1], std::string(bytes.substr(sizeof(numbers)))};
}

Status OwnPipes::Start() {
  ODY_ASSIGN_OR_RETURN(auto ends, MessageSocketPair());
  requests_ = std::move(ends.first);
  slot_end_ = std::move(ends.second);
  return OkStatus();
}

void OwnPipes::Serve(const Confinement& confinement, const std::vector<std::string>& trees) {
  const auto message = ReceiveMessage(requests_.get(), MSG_DONTWAIT);
  if (!message.ok() || message->fds.size() != 2) return;
  const auto request = PipeRequest::Decode(message->bytes);
  if (!request.ok()) return;
  const size_t slash = request->path.rfind('/');
  if (slash == request->path.size() - 1) return;  // of which the kernel knows what to say
  const std::string parent = slash == std::string::npos ? "." : request->path.substr(0, slash + 1);
  const UniqueFd directory = OpenDirectory(message->fds[0].get(), parent);
  if (!directory || !IsBelowOneOf(trees, directory.get())) return;
  const int answer = Make(confinement, *request, directory.get());
  // Whoever asked may be gone, or have given what nobody reads.
  (void)send(message->fds[1].get(), &answer, sizeof(answer), MSG_DONTWAIT | MSG_NOSIGNAL);
}

int OwnPipes::Make(const Confinement& confinement, const PipeRequest& request, int directory) {
  if (!HasRoom()) return ENOSPC;
  auto channel = MessageSocketPair();
  if (!channel.ok()) return EMFILE;
  const pid_t maker = fork();
  if (maker < 0) return EAGAIN;
  if (maker == 0) BecomeMaker(confinement, request, directory, channel->second.get());
  channel->second.reset();
  auto made = ReceiveMessage(channel->first.get());
  while (waitpid(maker, nullptr, 0) < 0 && errno == EINTR) {
  }
  int error = EIO;
  if (!made.ok() || made->bytes.size() != sizeof(error)) return error;
  memcpy(&error, made->bytes.data(), sizeof(error));
  struct stat info;
  if (made->fds.size() == 1 && fstat(made->fds[0].get(), &info) == 0) {
    pipes_[{info.st_dev, info.st_ino}] = std::move(made->fds[0]);
  }
  return error;
}

bool OwnPipes::HasRoom() {
  if (pipes_.size() < kMaxPipes) return true;
  std::erase_if(pipes_, [](const auto& pipe) {
    struct stat info;
    return fstat(pipe.second.get(), &info) != 0 || info.st_nlink == 0;
  });
  return pipes_.size() < kMaxPipes;
}

bool OwnPipes::Has(int place) const {
  struct stat info;
  return fstat(place, &info) == 0 && pipes_.count({info.st_dev, info.st_ino}) != 0;
}

}  // namespace odyssey::cell_init
