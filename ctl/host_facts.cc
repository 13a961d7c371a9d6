#include "ctl/host_facts.h"

#include <errno.h>
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>

#include "common/os/file.h"
#include "policy/compile/protection.h"
#include "policy/plan/plan_check.h"

namespace odyssey::ctl {

compile::HostFacts GatherHostFacts(const std::string& state) {
  namespace fs = std::filesystem;
  compile::HostFacts facts;
  for (const std::string& path : plan::SystemTrees()) {
    std::error_code error;
    const fs::file_status status = fs::symlink_status(path, error);
    if (!fs::exists(status)) continue;
    compile::SystemEntry entry = {path, ""};
    if (fs::is_symlink(status)) entry.link_target = fs::read_symlink(path, error).string();
    facts.system.push_back(std::move(entry));
  }
  // landlock_create_ruleset(2) has no wrapper in glibc 2.36.
  const long abi =
      syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  facts.landlock = landlock::SupportFrom(abi, errno);
  constexpr size_t kMaxPasswdBytes = 1 << 20;
  const auto passwd = ReadFile("/etc/passwd", kMaxPasswdBytes);
  if (passwd.ok()) facts.homes = compile::HomeDirectories(*passwd);
  facts.check.own_directories = {state, "/var/lib/odyssey", "/run/odyssey", "/etc/odyssey"};
  facts.check.bundle_store = state + "/agentd/bundles";
  return facts;
}

}  // namespace odyssey::ctl
