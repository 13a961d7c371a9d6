#ifndef ODYSSEY_POLICY_LATTICE_RIGHTS_H_
#define ODYSSEY_POLICY_LATTICE_RIGHTS_H_

// What a request gives, in its normal form: two requests that give the same have equal rights,
// however they are written. What gives nothing is left out: where a mount appears, the values of
// variables, the uid inside the cell.
//
// Rights are ordered, and any two have a greatest common part (Meet). The order is one of each
// part:
//
//   mode          read_only < workspace_write < danger_full_access
//   network       none < egress < full; of egress the endpoints, each for one program and port,
//                 are a subset, or the same with a pin
//   providers     are a subset
//   executables   named ones < the system's < those, and what a writable workspace holds <
//                 anything visible
//   trees         each lies in one of the other's: below its source, with no access, execution,
//                 suffix or size beyond it
//   env, limits   names are a subset; no limit is higher, nor one of egress' network_budget
//   protect, deny, held, protection, landlock, ephemeral, build
//                 nothing that the other keeps back is given
//
// `protect` and `deny` are relative to the root of each tree, so a tree that begins further down
// would take them along to other places. A tree therefore counts as lying in another only if it has
// the same root, or if what the other keeps back is kept back below the new root all the same: no
// `deny` but of the forms "**/NAME" and "**/NAME/**" with no NAME on the way down, and for writing
// no `protect`, nor, where the default protection holds, a component with a leading dot on the way.

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "policy/lattice/endpoints.h"
#include "policy/model/request.h"

namespace odyssey::lattice {

// A host directory or file that a request shows: a mount, the workspace, or an executable.
struct Tree {
  std::string source;
  policy::Access access = policy::Access::kReadOnly;
  bool executable = false;
  std::set<std::string> suffixes;  // empty: any
  uint64_t max_file_bytes = 0;     // UINT64_MAX: any

  // How it came about; no part of the rights.
  std::string key;     // "mounts[2].source"
  std::string target;  // "" = it has none of its own

  friend bool operator==(const Tree& a, const Tree& b);
};

struct Rights {
  policy::Mode mode = policy::Mode::kReadOnly;
  policy::Network network = policy::Network::kNone;
  Pieces egress;                  // of network egress, at least one
  egress::Budget network_budget;  // of network egress
  std::set<std::string> providers;
  policy::ExecutablesMode executables_mode = policy::ExecutablesMode::kExplicit;
  std::set<std::string> executables;  // of the system and the workspace, beyond the mode's
  std::vector<Tree> trees;            // sorted; none lies in another
  std::set<std::string> env;
  policy::Limits limits;  // 0 = unlimited
  bool ephemeral = false;
  std::set<std::string> protect;  // none lies in another
  policy::Protection protection = policy::Protection::kDefault;
  std::set<std::string> deny;
  std::set<std::string> held;  // host paths inside writable trees that are read-only there
  policy::Landlock landlock = policy::Landlock::kHardRequirement;
  bool build = false;  // of an image
  friend bool operator==(const Rights&, const Rights&) = default;
};

// danger_full_access gives every file, program and network there is, whatever the request lists.
// INVALID_ARGUMENT for a path that is not normalised and absolute: what it means is not guessed at.
Result<Rights> RightsOf(const policy::SandboxRequest& request);

// The most that both give. Trees keep the second one's key and target.
Rights Meet(const Rights& first, const Rights& second);

// What `child` gives beyond `parent`, a refusal of each item: its key, its value, and what the
// parent has. Empty: the child lies within the parent.
std::vector<Status> Excess(const Rights& child, const Rights& parent);

}  // namespace odyssey::lattice

#endif  // ODYSSEY_POLICY_LATTICE_RIGHTS_H_
