#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>

#include "common/os/unique_fd.h"
#include "tests/bench/figures.h"
#include "tests/bench/floor.h"
#include "tests/bench/process_memory.h"

namespace odyssey::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr char kName[] = "endpoint";
// After which cell-init waits for the next name, and gathers none of the last one's.
constexpr useconds_t kRestUs = 5000;
constexpr std::chrono::seconds kLongest{2};

// Microseconds from `make`, which is not counted itself, until `done`.
Result<double> Until(const std::function<Status()>& make, const std::function<bool()>& done) {
  usleep(kRestUs);
  ODY_RETURN_IF_ERROR(make());
  const auto made = Clock::now();
  while (!done()) {
    if (Clock::now() - made > kLongest) return Unavailable("nobody saw the name");
  }
  return std::chrono::duration<double, std::micro>(Clock::now() - made).count();
}

Status MakePipe(const std::string& path) {
  unlink(path.c_str());
  return mkfifo(path.c_str(), 0666) == 0 ? OkStatus() : ErrnoStatus(errno, "make " + path);
}

Status Bind(const std::string& path, UniqueFd* socket) {
  unlink(path.c_str());
  *socket = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return InvalidArgument("too long: " + path);
  memcpy(address.sun_path, path.data(), path.size());
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (bind(socket->get(), generic, sizeof(address)) == 0) return OkStatus();
  return ErrnoStatus(errno, "bind " + path);
}

// Somebody who waits for names in a directory, and does nothing with them.
class Waiter final {
 public:
  explicit Waiter(const std::string& directory)
      : directory_(directory), inotify_(inotify_init1(IN_CLOEXEC)) {
    inotify_add_watch(inotify_.get(), directory.c_str(), IN_CREATE | IN_DELETE_SELF);
    thread_ = std::thread([this] {
      alignas(inotify_event) char bytes[4096];
      while (read(inotify_.get(), bytes, sizeof(bytes)) > 0 && !ends_) ++seen_;
    });
  }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  // Takes the directory away.
  ~Waiter() {
    ends_ = true;
    std::filesystem::remove_all(directory_);
    thread_.join();
  }

  int seen() const { return seen_; }

 private:
  const std::string directory_;
  UniqueFd inotify_;
  std::atomic<bool> ends_ = false;
  std::atomic<int> seen_ = 0;
  std::thread thread_;
};

// As cell-init sees it: what it covers is covered in its slots at the same time.
Result<std::string> WorkspaceOf(uid_t uid) {
  ODY_ASSIGN_OR_RETURN(const auto processes, ProcessesOfUid(uid));
  for (const pid_t pid : processes) {
    const std::string path = "/proc/" + std::to_string(pid) + "/root/workspace";
    if (access(path.c_str(), F_OK) == 0) return path;
  }
  return NotFound("no process of the cell has a workspace");
}

}  // namespace

Result<Figure> MeasureCover(const Supervisor& supervisor, const Scale& scale) {
  const std::string tree = supervisor.directory() + "/covered", other = tree + "-floor";
  for (const std::string& path : {tree, other}) std::filesystem::create_directory(path);
  Client client(supervisor);
  ODY_ASSIGN_OR_RETURN(const auto cell,
                       ScopedCell::Make(&client, {.component = "cover", .workspace = tree}));
  ODY_RETURN_IF_ERROR(client.Exec(cell->id(), TrueCommand()).status());
  ODY_ASSIGN_OR_RETURN(const std::string workspace, WorkspaceOf(cell->info().host_uid()));
  const std::string seen = workspace + "/" + kName;
  const auto covered = [&] {
    struct stat info;
    return stat(seen.c_str(), &info) == 0 && (info.st_mode & ALLPERMS) == 0;
  };
  const std::string path = tree + "/" + kName;
  UniqueFd socket;
  Waiter waiter(other);
  const Measure floor = [&] {
    const int before = waiter.seen();
    return Until([&] { return MakePipe(other + "/" + kName); },
                 [&] { return waiter.seen() != before; });
  };
  ODY_ASSIGN_OR_RETURN(
      const std::vector<Samples> s,
      Interleave({[&] { return Until([&] { return MakePipe(path); }, covered); },
                  [&] { return Until([&] { return Bind(path, &socket); }, covered); }, floor},
                 scale.rounds / 20, scale.rounds));
  return Figure{.what = "what the host makes in a writable mount, until it is covered",
                .odyssey = "a pipe: " + Times(s[0]) + "; a socket: " + Times(s[1]),
                .floor = "inotify: " + Times(s[2]),
                .peer = "",
                .targets = {}};
}

}  // namespace odyssey::bench
