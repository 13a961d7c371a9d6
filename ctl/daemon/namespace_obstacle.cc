#include "ctl/daemon/namespace_obstacle.h"

#include <errno.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "common/base/status.h"
#include "common/os/file.h"

namespace odyssey::ctl {
namespace {

// A setting that forbids it, and what allows it.
struct Setting {
  const char* name;
  const char* forbids;
  const char* allows;
};
constexpr Setting kSettings[] = {{"user.max_user_namespaces", "0", "65536"},
                                 {"kernel.unprivileged_userns_clone", "0", "1"},
                                 {"kernel.apparmor_restrict_unprivileged_userns", "1", "0"}};

std::string ReadSysctl(const std::string& name) {
  std::string path = name;
  std::replace(path.begin(), path.end(), '.', '/');
  const auto text = ReadFile("/proc/sys/" + path, 4096);
  return text.ok() ? text->substr(0, text->find('\n')) : "";
}

// 0, or the errno of what failed. AppArmor lets the namespace be made, and denies its capabilities.
int TryNamespaces() {
  const pid_t child = fork();
  if (child == 0) {
    const bool made = unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
                      mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    _exit(made ? 0 : errno);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
}

}  // namespace

std::optional<NamespaceObstacle> ObstacleOf(const NamespaceFacts& facts) {
  if (facts.error == 0) return std::nullopt;
  for (const Setting& setting : kSettings) {
    if (facts.sysctl(setting.name) != setting.forbids) continue;
    const std::string name = setting.name;
    return NamespaceObstacle{name + " is " + setting.forbids,
                             "it forbids users without root their user namespaces: change it, and "
                             "keep that in /etc/sysctl.d",
                             "sysctl -w " + name + "=" + setting.allows};
  }
  return NamespaceObstacle{ErrnoStatus(facts.error, "make a user and a mount namespace").message(),
                           "in a container, allow unshare(2) and mount(2) in its seccomp profile",
                           "odyssey-ctl up"};
}

std::optional<NamespaceObstacle> FindNamespaceObstacle() {
  return ObstacleOf({.sysctl = ReadSysctl, .error = TryNamespaces()});
}

}  // namespace odyssey::ctl
