#ifndef ODYSSEY_CTL_DAEMON_NAMESPACE_OBSTACLE_H_
#define ODYSSEY_CTL_DAEMON_NAMESPACE_OBSTACLE_H_

#include <functional>
#include <optional>
#include <string>

namespace odyssey::ctl {

// Why this host lets a user without root make no user and mount namespace.
struct NamespaceObstacle {
  std::string detail;
  std::string advice;
  std::string mend;  // a command of root's
  friend bool operator==(const NamespaceObstacle&, const NamespaceObstacle&) = default;
};

// What the choice depends on.
struct NamespaceFacts {
  std::function<std::string(const std::string&)> sysctl;  // by name, "" if there is none
  int error = 0;  // what making both and a mount in them failed with; 0: it can be done
};

// Nothing if `error` is 0, whatever the settings say. Pure.
std::optional<NamespaceObstacle> ObstacleOf(const NamespaceFacts& facts);

// Of this host and this uid. Forks a process that tries it. Caller must be single-threaded.
std::optional<NamespaceObstacle> FindNamespaceObstacle();

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_DAEMON_NAMESPACE_OBSTACLE_H_
