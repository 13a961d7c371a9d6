#ifndef ODYSSEY_COMMON_OS_NOTIFY_SOCKET_H_
#define ODYSSEY_COMMON_OS_NOTIFY_SOCKET_H_

// Reports to the service manager by its datagram protocol (sd_notify(3)). Thread-safe.

#include <chrono>
#include <string>

namespace odyssey {

class NotifySocket final {
 public:
  // `socket`: a path, or '@' and an abstract name; "": there is no manager, and reports go nowhere.
  // `watchdog_usec`: the longest time between two Alive, 0: it does not matter.
  NotifySocket(std::string socket, uint64_t watchdog_usec);
  // From NOTIFY_SOCKET and WATCHDOG_USEC, which are removed: no child process reports for us.
  static NotifySocket FromEnvironment();

  // A report that cannot be sent is lost.
  void Ready() const { Send("READY=1"); }
  void Reloading() const;  // Ready ends it
  void Stopping() const { Send("STOPPING=1"); }
  void Alive() const { Send("WATCHDOG=1"); }

  // How often to call Alive; 0: never.
  std::chrono::microseconds alive_period() const { return watchdog_ / 2; }

 private:
  void Send(const std::string& text) const;

  std::string socket_;
  std::chrono::microseconds watchdog_;
};

}  // namespace odyssey

#endif  // ODYSSEY_COMMON_OS_NOTIFY_SOCKET_H_
