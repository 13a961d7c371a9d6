#ifndef ODYSSEY_CTL_DAEMON_DAEMON_PROCESS_H_
#define ODYSSEY_CTL_DAEMON_DAEMON_PROCESS_H_

// A daemon as a child process: its own session, user, environment; its output on two pipes.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/os/unique_fd.h"

namespace odyssey::ctl {

struct DaemonSpec {
  std::string name;               // for messages
  std::vector<std::string> argv;  // argv[0]: absolute path
  std::vector<std::string> env;   // "NAME=value"; the whole environment
  uint32_t uid = 0;
  uint32_t gid = 0;
  // In a new user namespace that maps `uid` to itself and nothing else, with every capability in
  // it: what odyssey-supervisor --rootless needs. The group appears under the number of the uid.
  bool own_user_namespace = false;
  std::chrono::seconds stop_timeout{20};  // after SIGTERM; then SIGKILL
};

class DaemonProcess final {
 public:
  // Forks and executes. The child gets SIGTERM when this process dies. Caller must be
  // single-threaded. The error names the step that failed in the child.
  static Result<std::unique_ptr<DaemonProcess>> Start(const DaemonSpec& spec);

  // Kills and reaps it if it still runs.
  ~DaemonProcess();
  DaemonProcess(const DaemonProcess&) = delete;
  DaemonProcess& operator=(const DaemonProcess&) = delete;

  int pidfd() const { return pidfd_.get(); }  // readable when it has ended
  int out() const { return out_.get(); }      // non-blocking
  int err() const { return err_.get(); }

  void Signal(int signal);
  // After pidfd() became readable: "exit code 3", "signal 9 (Killed)".
  std::string Reap();

 private:
  DaemonProcess(UniqueFd pidfd, UniqueFd out, UniqueFd err);

  UniqueFd pidfd_;
  UniqueFd out_;
  UniqueFd err_;
  bool reaped_ = false;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_DAEMON_DAEMON_PROCESS_H_
