#ifndef ODYSSEY_CTL_DAEMON_DAEMON_MONITOR_H_
#define ODYSSEY_CTL_DAEMON_DAEMON_MONITOR_H_

// Keeps a list of daemons running: starts them in order, forwards what they say, restarts one that
// dies, stops them in reverse order. One thread, one poll loop.

#include <poll.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "ctl/daemon/daemon_process.h"
#include "ctl/daemon/restart_policy.h"

namespace odyssey::ctl {

// Complete lines out of a byte stream; a longer line than kMaxLine is cut into several.
class LineBuffer final {
 public:
  static constexpr size_t kMaxLine = 16 * 1024;
  // Calls `line` for each one that `bytes` completes.
  void Append(std::string_view bytes, const std::function<void(const std::string&)>& line);
  // What is left at the end of the stream.
  void Finish(const std::function<void(const std::string&)>& line);

 private:
  std::string partial_;
};

class DaemonMonitor final {
 public:
  using Log = std::function<void(const std::string& line)>;

  // `signal_fd`: a signalfd; any signal on it means stop. Both must outlive the monitor.
  DaemonMonitor(std::vector<DaemonSpec> specs, int signal_fd, Log log);
  ~DaemonMonitor();

  // Each daemon after the one before it said `ready`. CANCELLED if a signal came first. On failure
  // the message says which daemon, how it ended and its last words; StopAll is still to be called.
  Status StartAll();
  // Until a signal (OK), or until a daemon died too often (UNAVAILABLE).
  Status Keep();
  // SIGTERM in reverse order, SIGKILL to one that takes longer than its time. A signal meanwhile is
  // another SIGTERM to the one that is being stopped.
  void StopAll();

 private:
  using Clock = std::chrono::steady_clock;

  struct Slot {
    DaemonSpec spec;
    std::unique_ptr<DaemonProcess> process;
    bool ready = false;
    Clock::time_point ready_at;
    Clock::time_point restart_at;  // while it does not run
    RestartPolicy policy;
    LineBuffer out;
    LineBuffer err;
    std::string last_words;
  };

  Status Start(Slot* slot);
  // Waits for something and handles it, at most until `until`.
  Status Step(Clock::time_point until);
  void Drain(Slot* slot);
  void OnLine(Slot* slot, const std::string& line);
  Status OnEnd(Slot* slot);
  // It died of `how`: sets when it starts again, or gives up.
  Status Reschedule(Slot* slot, const std::string& how);
  Status RestartDue();
  Clock::time_point NextRestart(Clock::time_point until) const;

  int signal_fd_;
  Log log_;
  std::vector<std::unique_ptr<Slot>> slots_;
  bool keeping_ = false;
  bool stopping_ = false;
  bool signalled_ = false;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_DAEMON_DAEMON_MONITOR_H_
