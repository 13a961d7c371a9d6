#include "ctl/host_facts.h"

#include <errno.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>

#include "common/os/file.h"
#include "ctl/named_place.h"
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

std::map<std::string, compile::PlaceKind> LookAtPlaces(const policy::SandboxRequest& request) {
  using compile::PlaceKind;
  std::map<std::string, PlaceKind> places;
  const auto look = [&](const std::string& path) {
    const Walk walk = WalkPath(path);
    if (walk.place) {
      places[path] = walk.place->is_directory()    ? PlaceKind::kDirectory
                     : S_ISREG(walk.place->mode()) ? PlaceKind::kFile
                                                   : PlaceKind::kOther;
    } else if (!walk.missing.empty() && walk.status.code() != Code::kPermissionDenied) {
      places[path] = PlaceKind::kMissing;
    }
  };
  if (!request.workspace.empty()) look(request.workspace);
  for (const policy::Mount& mount : request.mounts) look(mount.source);
  for (const std::string& path : request.executables) {
    if (path.rfind('/', 0) == 0) look(path);
  }
  return places;
}

std::optional<std::string> LinkOfHost(const std::string& path) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::read_symlink(path, error);
  return error ? std::nullopt : std::optional<std::string>(target.string());
}

}  // namespace odyssey::ctl
