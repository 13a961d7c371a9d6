#ifndef ODYSSEY_SUPERVISOR_CELL_INIT_ENDPOINT_WATCH_H_
#define ODYSSEY_SUPERVISOR_CELL_INIT_ENDPOINT_WATCH_H_

// Sockets and named pipes that the host makes in a writable tree while the cell lives: a server
// that is started anew unlinks its socket, and with it what covered it. Each is covered when its
// name appears. The cell's own stay open to it.

#include <sys/inotify.h>

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "policy/plan/cell_wire.h"
#include "supervisor/cell_init/own_pipes.h"

namespace odyssey::cell_init {

// Of a cell: directories that are watched, of which each takes about a KiB of the kernel's memory,
// and endpoints that are covered.
struct WatchBounds {
  size_t directories = 2048;
  size_t covers = 256;
};

class EndpointWatch final {
 public:
  // `pipes` are the cell's own.
  explicit EndpointWatch(const OwnPipes* pipes, const WatchBounds& bounds = {})
      : own_pipes_(pipes), bounds_(bounds) {}

  // A tree whose directories follow; `target` is where it is mounted. Nothing is watched where the
  // network is the host's, and so every socket its own; if the kernel lacks something, or the
  // cell's user has no instance of inotify left.
  void AddTree(const std::string& target, bool own_network);
  // Called before the directory is read: what is made in it from now on is seen. `directory` may be
  // O_PATH; `path` is absolute.
  void AddDirectory(int directory, const std::string& path);

  bool watches() const { return static_cast<bool>(inotify_); }
  const std::vector<std::string>& trees() const { return trees_; }

  // What is mounted in the trees from now on is so in slots that are made later, too.
  Status ShareMounts() const;

  // For poll(2): readable when something was made in a directory, and -1 for a moment after that,
  // in which events gather: a command that makes many files shall not wake this process for each.
  int fd() const { return pausing_ ? -1 : inotify_.get(); }
  // For poll(2), milliseconds: the end of that moment, or what is not bound yet is looked at again.
  int timeout() const;
  // Covers what has appeared, and says where; and, once, in which tree something is not watched.
  // For each round of a loop: does nothing when there is nothing to do.
  std::vector<cell::Repository> Serve();

 private:
  using Clock = std::chrono::steady_clock;
  struct Unbound {
    UniqueFd socket;
    std::string path;
    Clock::time_point until;
  };

  void ReadEvents();
  void OnEvent(const inotify_event& event);
  void OnName(const std::string& directory, const char* name);
  void SearchWhatAppeared();
  // Everything below `path`, which has appeared with what is in it. False if it is not there any
  // more, or too deep to be named; the latter is said.
  bool Search(const std::string& path);
  void LookAt(int directory, const char* name, const std::string& path);
  // False if nobody is bound to it, yet or any more.
  bool Settle(int place, const std::string& path);
  bool SettleSocket(int socket, const std::string& path);
  void Put(int place, const std::string& path);
  void ForgetTheGone();
  void SayUnwatched(const std::string& path);

  const OwnPipes* const own_pipes_;
  const WatchBounds bounds_;
  UniqueFd inotify_;
  std::vector<std::string> trees_;
  // By their watch, of which the kernel has one for each inode: where it is, and where it was.
  std::map<int, std::vector<std::string>> directories_;
  bool pausing_ = false;
  Clock::time_point due_;  // the end of the pause
  // Of the events that are being read:
  std::vector<std::string> searches_;
  std::string opened_path_;  // of `opened_`
  UniqueFd opened_;
  std::vector<Unbound> unbound_;
  std::set<std::string> covered_;
  std::set<std::string> unwatched_;     // trees
  std::vector<cell::Repository> news_;  // of both
};

}  // namespace odyssey::cell_init

#endif  // ODYSSEY_SUPERVISOR_CELL_INIT_ENDPOINT_WATCH_H_
