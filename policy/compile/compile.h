#ifndef ODYSSEY_POLICY_COMPILE_COMPILE_H_
#define ODYSSEY_POLICY_COMPILE_COMPILE_H_

// Request + host facts → the plan that root executes and the confinement that cell-init applies.
// Pure: no system call; facts about the host are gathered by the caller.

#include <map>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "policy/compile/found_executables.h"
#include "policy/compile/found_image.h"
#include "policy/model/request.h"
#include "policy/plan/cell_configure.h"
#include "policy/plan/landlock_rights.h"
#include "policy/plan/plan.h"
#include "policy/plan/plan_check.h"

namespace odyssey::compile {

// What the compiler must know about the host's root directory: which of plan::SystemTrees() and
// /etc/resolv.conf exist, what of /etc is shown (policy/executables/configuration.h), and which of
// them are symbolic links (merged /usr).
struct SystemEntry {
  std::string path;         // "/usr", "/bin", "/etc/ssl", …
  std::string link_target;  // not empty: a symbolic link, e.g. "usr/bin"
  friend bool operator==(const SystemEntry&, const SystemEntry&) = default;
};

// What a path of the host is, links followed.
enum class PlaceKind { kMissing, kDirectory, kFile, kOther };

// What the supervisor can do on this host. As root, all of it.
struct Enforcement {
  // Not 0: it runs without root (docs/ROOTLESS.md), and this is the uid of every cell.
  uint32_t rootless_uid = 0;
  bool control_groups = true;  // bound a cell's memory and processor time, and freeze it
  bool fuse = true;            // /dev/fuse can be opened
  friend bool operator==(const Enforcement&, const Enforcement&) = default;
};

struct HostFacts {
  std::vector<SystemEntry> system;
  landlock::Support landlock;
  std::vector<std::string> homes;  // of the users of this host
  // Of /sys/fs/cgroup, where control groups are of version 1: the hierarchies that root uses.
  std::vector<SystemEntry> control_groups;
  uint32_t processors = 0;    // online; 0: unknown
  uint64_t memory_bytes = 0;  // of the machine; 0: unknown
  // Of the workspace and the sources of mounts those that could be looked at; the supervisor leaves
  // them to root, which opens them.
  std::map<std::string, PlaceKind> places;
  plan::CheckContext check;
  Enforcement enforcement;
};

struct Compiled {
  plan::Plan plan;  // without cell_id and cell_tree
  cell::Configure confinement;
  policy::Limits limits;                 // effective
  std::vector<std::string> base_env;     // "NAME=value", before the request's own
  std::vector<std::string> explanation;  // one line per decision: what, and why
  std::string digest;                    // sha256 hex over everything but env values
  // Where commands start.
  std::string workspace = plan::kWorkspacePath;
  // By CompileDanger: for the host runner, which confines nothing.
  bool unconfined = false;

  bool HasOwnNetwork() const { return confinement.own_network && !unconfined; }
};

// INVALID_ARGUMENT or PERMISSION_DENIED naming the field (as policy.proto spells it), the value and
// what is allowed; NOT_FOUND likewise for a place that is not there; FAILED_PRECONDITION if the
// host lacks what every cell needs. What it returns passes plan::CheckPlan.
//
// `found`: what policy/executables says of SystemExecutables(request). `image`: what the store says
// of its image, if it has one.
Result<Compiled> Compile(const policy::SandboxRequest& request, const HostFacts& facts,
                         const FoundExecutables& found = {}, const FoundImage& image = {});

// What odyssey-egress does not do is FAILED_PRECONDITION, so that none of it is taken for granted;
// a policy without an endpoint is INVALID_ARGUMENT.
Status CheckEndpoints(const egress::NetworkPolicy& policy);

}  // namespace odyssey::compile

#endif  // ODYSSEY_POLICY_COMPILE_COMPILE_H_
