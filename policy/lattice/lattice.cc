#include "policy/lattice/lattice.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "policy/lattice/trees.h"
#include "policy/model/default_limits.h"
#include "policy/plan/plan_check.h"

namespace odyssey::lattice {
namespace {

using policy::Access;
using policy::ExecutablesMode;
using policy::Mode;
using policy::SandboxRequest;

constexpr uint64_t kAnySize = std::numeric_limits<uint64_t>::max();

// Whether a request with these rights may list the tree without gaining anything.
bool IsGiven(const Tree& tree, const Rights& rights) {
  return std::any_of(rights.trees.begin(), rights.trees.end(),
                     [&](const Tree& given) { return LiesIn(tree, given, rights); });
}

Tree WorkspaceTree(const SandboxRequest& request, const Rights& rights) {
  return {.source = request.workspace,
          .access = WorkspaceAccess(request),
          .executable = rights.executables_mode == ExecutablesMode::kAll,
          .max_file_bytes = kAnySize};
}

// A tree that can be said as a name in `executables`.
bool IsExecutableAlone(const Tree& tree, const Rights& rights) {
  return tree.target.empty() && tree.executable && tree.access == Access::kReadOnly &&
         tree.suffixes.empty() && tree.max_file_bytes == kAnySize &&
         rights.executables_mode == ExecutablesMode::kExplicit;
}

// Targets apart from each other: what lies inside another's adds nothing, but for what is held.
bool IsFree(const std::string& target, const std::vector<policy::Mount>& mounts) {
  return std::none_of(mounts.begin(), mounts.end(), [&](const policy::Mount& mount) {
    return plan::IsWithin(target, mount.target) || plan::IsWithin(mount.target, target);
  });
}

// Numbered by kind of access and then by try, since one source may be shown in several ways.
std::string FreeTarget(const Tree& tree, const std::vector<policy::Mount>& mounts) {
  if (!tree.target.empty() && IsFree(tree.target, mounts)) return tree.target;
  const std::string base =
      tree.access == Access::kReadOnly ? std::string("/mount/read") : std::string("/mount/write");
  const std::string below = tree.source == "/" ? "/abs" : "/abs" + tree.source;
  std::string target = base + below;
  for (int i = 2; !IsFree(target, mounts); ++i) target = base + "-" + std::to_string(i) + below;
  return target;
}

void Place(const Tree& tree, const Rights& rights, SandboxRequest* out) {
  out->mounts.push_back(
      {.source = tree.source,
       .target = FreeTarget(tree, out->mounts),
       .access = tree.access,
       .executable = tree.executable && rights.executables_mode != ExecutablesMode::kAll,
       .suffixes = {tree.suffixes.begin(), tree.suffixes.end()},
       .max_file_bytes = tree.max_file_bytes == kAnySize ? 0 : tree.max_file_bytes});
}

void PlaceTrees(const Rights& rights, const Tree& workspace, SandboxRequest* out) {
  std::vector<const Tree*> displaced;
  for (const Tree& tree : rights.trees) {
    if (!out->workspace.empty() && tree == workspace) continue;
    if (IsExecutableAlone(tree, rights)) {
      out->executables.push_back(tree.source);
    } else if (tree.target.empty() || !IsFree(tree.target, out->mounts)) {
      displaced.push_back(&tree);
    } else {
      Place(tree, rights, out);
    }
  }
  for (const Tree* tree : displaced) Place(*tree, rights, out);
}

// What gives nothing that is not given already, but is where the child looks for it.
void KeepSecondPlaces(const Rights& rights, const SandboxRequest& child, SandboxRequest* out) {
  const bool all = rights.executables_mode == ExecutablesMode::kAll;
  for (const policy::Mount& mount : child.mounts) {
    const Tree tree = {
        .source = mount.source,
        .access = mount.access,
        .executable = all || mount.executable,
        .suffixes = {mount.suffixes.begin(), mount.suffixes.end()},
        .max_file_bytes = mount.max_file_bytes == 0 ? kAnySize : mount.max_file_bytes};
    if (IsGiven(tree, rights) && IsFree(mount.target, out->mounts)) out->mounts.push_back(mount);
  }
}

// In each writable place, what is held inside it.
void KeepHeld(const Rights& rights, SandboxRequest* out) {
  std::vector<policy::Mount> places = out->mounts;
  if (!out->workspace.empty()) {
    places.push_back({.source = out->workspace,
                      .target = plan::kWorkspacePath,
                      .access = WorkspaceAccess(*out)});
  }
  for (const policy::Mount& outer : places) {
    if (outer.access == Access::kReadOnly) continue;
    for (const std::string& path : rights.held) {
      if (path == outer.source || !plan::IsWithin(path, outer.source)) continue;
      policy::Mount part = outer;
      part.source = path;
      part.target += path.substr(outer.source.size());
      part.access = Access::kReadOnly;
      out->mounts.push_back(std::move(part));
    }
  }
}

// As a workspace if it is given as one, with the most that is given of its writes.
Tree PlaceWorkspace(const std::string& workspace, const Rights& rights, SandboxRequest* out) {
  out->workspace = workspace;
  Tree tree = WorkspaceTree(*out, rights);
  if (workspace.empty() || IsGiven(tree, rights)) return tree;
  out->workspace_writes = policy::Writes::kReview;
  tree = WorkspaceTree(*out, rights);
  if (!IsGiven(tree, rights)) out->workspace.clear();
  return tree;
}

// The request whose rights these are, in the child's words; its endpoints are some of `endpoints`.
SandboxRequest ToRequest(const Rights& rights, const egress::NetworkPolicy& endpoints,
                         const SandboxRequest& child) {
  SandboxRequest out;
  out.mode = rights.mode;
  out.network = rights.network;
  out.egress = Only(endpoints, rights.egress);
  out.egress.budget = rights.network_budget;
  out.providers = {rights.providers.begin(), rights.providers.end()};
  out.executables_mode = rights.executables_mode;
  out.executables = {rights.executables.begin(), rights.executables.end()};
  for (const std::string& name : rights.env) out.env[name] = child.env.at(name);
  out.limits = rights.limits;
  out.ephemeral = rights.ephemeral;
  out.protect = {rights.protect.begin(), rights.protect.end()};
  out.protection = rights.protection;
  out.deny = {rights.deny.begin(), rights.deny.end()};
  out.landlock = rights.landlock;
  out.user = child.user;
  out.image = child.image;
  out.image.build = rights.build && !child.image.reference.empty();
  if (rights.mode == Mode::kDangerFullAccess) {
    // Everything is given: what the child lists only says where it works.
    out.workspace = child.workspace;
    out.mounts = child.mounts;
    return out;
  }
  const Tree workspace = PlaceWorkspace(child.workspace, rights, &out);
  PlaceTrees(rights, workspace, &out);
  KeepSecondPlaces(rights, child, &out);
  KeepHeld(rights, &out);
  return out;
}

}  // namespace

Result<SandboxRequest> Narrow(const SandboxRequest& parent, const SandboxRequest& child) {
  ODY_ASSIGN_OR_RETURN(const Rights from, RightsOf(parent));
  ODY_ASSIGN_OR_RETURN(const Rights asked, RightsOf(child));
  const bool any_host = asked.network == policy::Network::kFull;
  SandboxRequest out = ToRequest(Meet(from, asked), any_host ? parent.egress : child.egress, child);
  // Which programs there are is no right, and a child that names no image has its parent's.
  if (out.image.reference.empty() && !parent.image.reference.empty() && out.user == 0) {
    out.image = {.reference = parent.image.reference, .user = parent.image.user};
  }
  // No right, and so not in Rights: what neither asks for, the two together do not either.
  for (const policy::LimitKey& key : policy::kLimitKeys) {
    const bool said = AsksFor(parent, key) || AsksFor(child, key);
    key.set(&out.unsaid_limits, said ? 0 : key.get(out.limits));
  }
  return out;
}

Status IsWithin(const SandboxRequest& child, const SandboxRequest& parent) {
  ODY_ASSIGN_OR_RETURN(const Rights asked, RightsOf(child));
  ODY_ASSIGN_OR_RETURN(const Rights given, RightsOf(parent));
  const std::vector<Status> excess = Excess(asked, given);
  return excess.empty() ? OkStatus() : excess.front();
}

}  // namespace odyssey::lattice
