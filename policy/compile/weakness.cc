#include "policy/compile/weakness.h"

#include <string_view>

#include "common/base/refusal.h"
#include "policy/model/default_limits.h"

namespace odyssey::compile {
namespace {

// What needs a group of control groups that is delegated to the user.
struct GroupLimit {
  const policy::LimitKey& key;
  std::string_view name;
  std::string_view without;
};
constexpr GroupLimit kGroupLimits[] = {
    {policy::LimitNamed("memory_bytes"), "memory",
     "the kernel gives one command as much of the host's memory as your uid may have, and rpc "
     "reports no out-of-memory kill"},
    {policy::LimitNamed("cpu_millis"), "cpu",
     "the kernel gives one command as much processor time as your uid may have"},
};

constexpr char kNoGroup[] = "no control group is delegated to this user";

Status CheckGroupLimits(const policy::SandboxRequest& request) {
  for (const GroupLimit& limit : kGroupLimits) {
    if (!policy::AsksFor(request, limit.key)) continue;
    return Refused(Code::kFailedPrecondition, "limits." + std::string(limit.key.name),
                   std::to_string(limit.key.get(request.limits)),
                   "this supervisor runs without root, and " + std::string(kNoGroup) +
                       ": nothing enforces it; leave it out, of the operator's policy.d too, or "
                       "run odyssey-ctl up as root");
  }
  return OkStatus();
}

}  // namespace

std::vector<Weakness> WeaknessesOf(const Enforcement& enforcement) {
  if (enforcement.rootless_uid == 0) return {};
  const std::string uid = std::to_string(enforcement.rootless_uid);
  std::vector<Weakness> out = {
      {"uid", "each cell, the daemons and you are uid " + uid +
                  ": namespaces, seccomp and Landlock alone keep a command from your processes and "
                  "files, and not a uid of its own as well"},
      {"groups",
       "commands keep your supplementary groups: what these may read or write in a "
       "mounted directory, a command may"},
      {"mounts",
       "mounts are not idmapped: what you may read in a mounted directory or in the "
       "system's trees a command may, and it may connect to the sockets there that you "
       "may write to"},
      {"audit",
       "the audit log is yours to change, and approvals in it are what any program of "
       "yours reported"},
      {"kernel_limits",
       "bounds of the kernel for each user, such as those of inotify watches, are "
       "shared by cells and your own programs"},
      {"network",
       "network full is refused: the host's network namespace has the abstract sockets "
       "of your own programs, which trust uid " +
           uid},
      {"disk", "limits.disk_bytes is refused: a file system of the cell's own needs a loop device"},
      {"danger", "danger_full_access is refused: it is root's to grant"},
  };
  if (!enforcement.control_groups) {
    for (const GroupLimit& limit : kGroupLimits) {
      out.push_back({std::string(limit.name), "limits." + std::string(limit.key.name) +
                                                  " is not enforced, since " + kNoGroup + ": " +
                                                  std::string(limit.without) +
                                                  "; a policy that sets it is refused"});
    }
    out.push_back({"pids",
                   "limits.pids is RLIMIT_NPROC of the cell's user namespace: a fork that "
                   "it refuses is not reported as a denial"});
    out.push_back({"suspend", std::string("suspend is refused, and quarantine ends the cell: ") +
                                  kNoGroup + ", and so there is no cgroup.freeze"});
  }
  if (!enforcement.fuse) {
    out.push_back({"deny", "a policy with `deny` is refused: uid " + uid +
                               " may not open /dev/fuse for reading and writing"});
  }
  return out;
}

Status CheckEnforced(const policy::SandboxRequest& request, const Enforcement& enforcement) {
  if (enforcement.rootless_uid == 0) return OkStatus();
  if (request.network == policy::Network::kFull) {
    return Refused(Code::kFailedPrecondition, "network", "full",
                   "this supervisor runs without root, so that a command would have your uid "
                   "beside the abstract sockets of your programs; none and egress are allowed",
                   "none, egress");
  }
  const uint64_t disk = request.limits.disk_bytes;
  if (disk != 0) {
    return Refused(Code::kFailedPrecondition, "limits.disk_bytes", std::to_string(disk),
                   "this supervisor runs without root, and a file system of the cell's own needs a "
                   "loop device; 0 is allowed, or an ephemeral cell with limits.tmp_bytes",
                   "0");
  }
  if (!request.deny.empty() && !enforcement.fuse) {
    return Refused(Code::kFailedPrecondition, "deny", request.deny[0],
                   "this supervisor runs without root, and its uid may not open /dev/fuse; leave "
                   "it out, or let the uid read and write /dev/fuse");
  }
  return enforcement.control_groups ? OkStatus() : CheckGroupLimits(request);
}

}  // namespace odyssey::compile
