#include "policy/lattice/rights.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>

#include "common/base/refusal.h"
#include "policy/lattice/trees.h"
#include "policy/model/choice_names.h"
#include "policy/model/default_limits.h"
#include "policy/model/mode_name.h"
#include "policy/plan/plan_check.h"

namespace odyssey::lattice {
namespace {

using Names = std::set<std::string>;
using policy::Access;
using policy::ExecutablesMode;
using policy::Landlock;
using policy::Mode;
using policy::Network;
using policy::Protection;
using policy::SandboxRequest;

constexpr uint64_t kAnySize = std::numeric_limits<uint64_t>::max();

bool InWorkspace(const std::string& executable) {
  return plan::IsWithin(executable, plan::kWorkspacePath);
}

bool OfTheSystem(const std::string& executable) {
  if (executable.find('/') == std::string::npos) return true;
  const std::vector<std::string>& trees = plan::SystemTrees();
  return std::any_of(trees.begin(), trees.end(),
                     [&](const std::string& tree) { return plan::IsWithin(executable, tree); });
}

// Network and egress stand in the enumeration in the order in which they were invented.
int Rank(Network network) {
  switch (network) {
    case Network::kNone:
      return 0;
    case Network::kEgress:
      return 1;
    case Network::kFull:
      return 2;
  }
  return 0;
}

Names ReduceProtect(const std::vector<std::string>& protect) {
  Names out;
  for (const std::string& path : protect) {
    const bool implied = std::any_of(protect.begin(), protect.end(), [&](const auto& other) {
      return other != path && plan::IsWithin(path, other);
    });
    if (!implied) out.insert(path);
  }
  return out;
}

Status AddTree(Tree tree, Rights* rights) {
  if (!plan::IsNormalizedAbsolute(tree.source)) {
    return Refused(Code::kInvalidArgument, tree.key, tree.source,
                   "a normalised absolute path is allowed");
  }
  rights->trees.push_back(std::move(tree));
  return OkStatus();
}

// In a workspace that cannot be written, what may be executed is what it has. In a writable one it
// is anything that may be read, since that can be copied: then the mode says so, and no tree.
bool InReadOnlyWorkspace(const SandboxRequest& request) {
  return request.mode == Mode::kReadOnly && request.executables_mode == ExecutablesMode::kWorkspace;
}

ExecutablesMode Capped(ExecutablesMode executables, Mode mode) {
  const bool capped = mode == Mode::kReadOnly && executables == ExecutablesMode::kWorkspace;
  return capped ? ExecutablesMode::kStandard : executables;
}

// A read-only part of a writable mount, or of the workspace, that gives nothing of its own.
bool OnlyHolds(const policy::Mount& mount, const SandboxRequest& request) {
  if (mount.access != Access::kReadOnly || mount.executable) return false;
  std::vector<policy::Mount> places = request.mounts;
  if (!request.workspace.empty()) {
    places.push_back({.source = request.workspace,
                      .target = plan::kWorkspacePath,
                      .access = WorkspaceAccess(request)});
  }
  return std::any_of(places.begin(), places.end(), [&](const policy::Mount& outer) {
    return outer.access != Access::kReadOnly && mount.source != outer.source &&
           plan::IsWithin(mount.source, outer.source) &&
           mount.target == outer.target + mount.source.substr(outer.source.size()) &&
           mount.suffixes == outer.suffixes && mount.max_file_bytes == outer.max_file_bytes;
  });
}

Status AddTrees(const SandboxRequest& request, Rights* rights) {
  const bool all = request.executables_mode == ExecutablesMode::kAll;
  if (!request.workspace.empty()) {
    ODY_RETURN_IF_ERROR(AddTree({.source = request.workspace,
                                 .access = WorkspaceAccess(request),
                                 .executable = all || InReadOnlyWorkspace(request),
                                 .max_file_bytes = kAnySize,
                                 .key = "workspace"},
                                rights));
  }
  for (size_t i = 0; i < request.mounts.size(); ++i) {
    const policy::Mount& mount = request.mounts[i];
    if (OnlyHolds(mount, request)) continue;
    Names suffixes(mount.suffixes.begin(), mount.suffixes.end());
    if (suffixes.count("") != 0) suffixes.clear();  // every name ends so
    ODY_RETURN_IF_ERROR(
        AddTree({.source = mount.source,
                 .access = mount.access,
                 .executable = all || mount.executable,
                 .suffixes = std::move(suffixes),
                 .max_file_bytes = mount.max_file_bytes == 0 ? kAnySize : mount.max_file_bytes,
                 .key = "mounts[" + std::to_string(i) + "].source",
                 .target = mount.target},
                rights));
  }
  return OkStatus();
}

// The read-only mounts that lie in a writable place wherever their source is shown.
void AddHeld(const SandboxRequest& request, Rights* rights) {
  std::vector<policy::Mount> places = request.mounts;
  if (!request.workspace.empty()) {
    places.push_back({.source = request.workspace,
                      .target = plan::kWorkspacePath,
                      .access = WorkspaceAccess(request)});
  }
  for (const policy::Mount& mount : request.mounts) {
    bool inside = false, open = false;
    for (const policy::Mount& outer : places) {
      if (outer.access == Access::kReadOnly || !plan::IsWithin(mount.source, outer.source))
        continue;
      const std::string there = outer.target + mount.source.substr(outer.source.size());
      inside = inside || mount.source != outer.source;
      open |= std::none_of(places.begin(), places.end(), [&](const policy::Mount& place) {
        return place.source == mount.source && place.target == there &&
               place.access == Access::kReadOnly;
      });
    }
    if (inside && !open) rights->held.insert(mount.source);
  }
}

// Whether what the mode gives has it.
bool GivesAll(ExecutablesMode mode, const std::string& name) {
  if (mode == ExecutablesMode::kExplicit) return false;
  return mode == ExecutablesMode::kAll || OfTheSystem(name);
}

bool Gives(const Rights& rights, const std::string& name) {
  return GivesAll(rights.executables_mode, name) || rights.executables.count(name) != 0;
}

Status AddExecutables(const SandboxRequest& request, Rights* rights) {
  for (size_t i = 0; i < request.executables.size(); ++i) {
    const std::string& name = request.executables[i];
    if (OfTheSystem(name) || InWorkspace(name)) {
      if (!GivesAll(rights->executables_mode, name)) rights->executables.insert(name);
      continue;
    }
    ODY_RETURN_IF_ERROR(AddTree({.source = name,
                                 .executable = true,
                                 .max_file_bytes = kAnySize,
                                 .key = "executables[" + std::to_string(i) + "]"},
                                rights));
  }
  return OkStatus();
}

void GiveEverything(Rights* rights) {
  rights->network = Network::kFull;
  rights->executables_mode = ExecutablesMode::kAll;
  rights->trees = {{.source = "/",
                    .access = Access::kReadWrite,
                    .executable = true,
                    .max_file_bytes = kAnySize,
                    .key = "mode"}};
  rights->protection = Protection::kNone;
  rights->landlock = Landlock::kBestEffort;
  rights->build = true;
}

// Egress without endpoints is none.
void SetNetwork(Network network, Pieces egress, const egress::Budget& budget, Rights* rights) {
  rights->network = network;
  if (network != Network::kEgress) return;
  if (egress.empty()) {
    rights->network = Network::kNone;
    return;
  }
  rights->egress = std::move(egress);
  rights->network_budget = budget;
}

egress::Budget Meet(const egress::Budget& a, const egress::Budget& b) {
  egress::Budget out;
  for (const egress::BudgetKey& key : egress::kBudgetKeys) {
    const uint64_t one = a.*key.member, other = b.*key.member;
    out.*key.member = egress::IsMore(one, other) ? other : one;
  }
  return out;
}

void MeetNetworks(const Rights& a, const Rights& b, Rights* out) {
  const Rights& less = Rank(a.network) < Rank(b.network) ? a : b;
  Pieces egress = a.network == b.network ? Meet(a.egress, b.egress) : less.egress;
  SetNetwork(less.network, std::move(egress), Meet(a.network_budget, b.network_budget), out);
}

void MeetExecutables(const Rights& a, const Rights& b, Rights* out) {
  out->executables_mode = Capped(std::min(a.executables_mode, b.executables_mode), out->mode);
  for (const Rights* one : {&a, &b}) {
    for (const std::string& name : one->executables) {
      const bool is_new = !GivesAll(out->executables_mode, name);
      if (is_new && Gives(a, name) && Gives(b, name)) out->executables.insert(name);
    }
  }
}

// Where a part of a tree appears if the tree does; "" if it has no place of its own.
std::string PlaceOf(const std::string& source, const Tree& tree) {
  if (tree.target.empty() || source == tree.source) return tree.target;
  return tree.target + source.substr(tree.source == "/" ? 0 : tree.source.size());
}

const char* NameOf(Access access) {
  return access == Access::kReadOnly ? "read"
         : access == Access::kReview ? "read, write for review"
                                     : "read, write";
}

std::string Describe(const Tree& tree) {
  std::string text = tree.source + " (" + NameOf(tree.access);
  if (tree.executable) text += ", execute";
  for (const std::string& suffix : tree.suffixes) text += ", *" + suffix;
  if (tree.max_file_bytes != kAnySize) {
    text += ", up to " + std::to_string(tree.max_file_bytes) + " bytes";
  }
  return text + ")";
}

using Refusals = std::vector<Status>;

void Add(const std::string& field, const std::string& what, Refusals* out) {
  out->push_back(OfField(field, PermissionDenied(what), what));
}

void ExcessOfBudget(const egress::Budget& child, const egress::Budget& parent, Refusals* out) {
  for (const egress::BudgetKey& key : egress::kBudgetKeys) {
    const uint64_t value = child.*key.member, bound = parent.*key.member;
    if (!egress::IsMore(value, bound)) continue;
    Add("network_budget." + std::string(key.name),
        (value == 0 ? "unlimited" : std::to_string(value)) + ", where " + std::to_string(bound) +
            " is the most",
        out);
  }
}

void ExcessOfChoices(const Rights& child, const Rights& parent, Refusals* out) {
  const auto add = [&](const char* key, const char* value, const char* most) {
    out->push_back(OfField(
        key, PermissionDenied(std::string(value) + ", where " + most + " is the most"), value));
  };
  if (child.mode > parent.mode) add("mode", ModeName(child.mode), ModeName(parent.mode));
  if (Rank(child.network) > Rank(parent.network)) {
    add("network", policy::NetworkName(child.network), policy::NetworkName(parent.network));
  } else if (child.network == Network::kEgress && parent.network == Network::kEgress) {
    for (const auto& piece : child.egress) {
      if (!Give(parent.egress, piece)) Add("egress", piece.second.words, out);
    }
    ExcessOfBudget(child.network_budget, parent.network_budget, out);
  }
  if (child.executables_mode > parent.executables_mode) {
    add("executables_mode", policy::ExecutablesName(child.executables_mode),
        policy::ExecutablesName(parent.executables_mode));
  }
  if (child.protection > parent.protection) add("protection", "none", "default");
  if (child.landlock > parent.landlock) add("landlock", "best_effort", "hard_requirement");
  if (child.build && !parent.build) add("image.build", "true", "false");
  if (!child.ephemeral && parent.ephemeral) add("ephemeral", "false", "true");
}

void ExcessOfNames(const Rights& child, const Rights& parent, Refusals* out) {
  for (const std::string& name : child.executables) {
    if (!Gives(parent, name)) Add("executables", name, out);
  }
  for (const std::string& name : child.env) {
    if (parent.env.count(name) == 0) Add("env", name, out);
  }
  for (const std::string& name : child.providers) {
    if (parent.providers.count(name) == 0) Add("providers", name, out);
  }
  for (const std::string& path : parent.protect) {
    const bool kept = std::any_of(child.protect.begin(), child.protect.end(),
                                  [&](const auto& own) { return plan::IsWithin(path, own); });
    if (!kept) Add("protect", path + " is not protected", out);
  }
  for (const std::string& path : parent.held) {
    const bool written = std::any_of(child.trees.begin(), child.trees.end(), [&](const Tree& tree) {
      return tree.access != Access::kReadOnly && plan::IsWithin(path, tree.source);
    });
    const bool kept = std::any_of(child.held.begin(), child.held.end(),
                                  [&](const auto& own) { return plan::IsWithin(path, own); });
    if (written && !kept) Add("mounts", path + " is not kept read-only", out);
  }
  for (const std::string& pattern : parent.deny) {
    if (child.deny.count(pattern) == 0) Add("deny", pattern + " is not denied", out);
  }
}

void ExcessOfTrees(const Rights& child, const Rights& parent, Refusals* out) {
  for (const Tree& tree : child.trees) {
    const bool given = std::any_of(parent.trees.begin(), parent.trees.end(),
                                   [&](const Tree& own) { return LiesIn(tree, own, parent); });
    if (!given) out->push_back(OfField(tree.key, PermissionDenied(Describe(tree)), tree.source));
  }
}

void ExcessOfLimits(const Rights& child, const Rights& parent, Refusals* out) {
  for (const policy::LimitKey& key : policy::kLimitKeys) {
    const uint64_t value = key.get(child.limits), bound = key.get(parent.limits);
    if (Narrower(key, value, bound) == value) continue;
    Add("limits." + std::string(key.name),
        ValueText(key, value) + ", where " + ValueText(key, bound) + " is the most", out);
  }
}

}  // namespace

Result<Rights> RightsOf(const SandboxRequest& request) {
  Rights rights;
  rights.mode = request.mode;
  for (const auto& [name, value] : request.env) rights.env.insert(name);
  rights.providers = {request.providers.begin(), request.providers.end()};
  rights.limits = policy::WithDefaults(request.limits);
  if (policy::IsDanger(request)) {
    GiveEverything(&rights);
    return rights;
  }
  SetNetwork(request.network, PiecesOf(request.egress), request.egress.budget, &rights);
  rights.executables_mode = Capped(request.executables_mode, request.mode);
  rights.ephemeral = request.ephemeral;
  rights.protect = ReduceProtect(request.protect);
  rights.protection = request.protection;
  rights.deny = {request.deny.begin(), request.deny.end()};
  rights.landlock = request.landlock;
  rights.build = request.image.build;
  ODY_RETURN_IF_ERROR(AddTrees(request, &rights));
  AddHeld(request, &rights);
  ODY_RETURN_IF_ERROR(AddExecutables(request, &rights));
  Reduce(&rights);
  return rights;
}

Rights Meet(const Rights& first, const Rights& second) {
  Rights out;
  out.mode = std::min(first.mode, second.mode);
  MeetNetworks(first, second, &out);
  std::set_intersection(first.providers.begin(), first.providers.end(), second.providers.begin(),
                        second.providers.end(), std::inserter(out.providers, out.providers.end()));
  MeetExecutables(first, second, &out);
  std::set_intersection(first.env.begin(), first.env.end(), second.env.begin(), second.env.end(),
                        std::inserter(out.env, out.env.end()));
  for (const policy::LimitKey& key : policy::kLimitKeys) {
    key.set(&out.limits, Narrower(key, key.get(first.limits), key.get(second.limits)));
  }
  out.ephemeral = first.ephemeral || second.ephemeral;
  std::vector<std::string> protect(first.protect.begin(), first.protect.end());
  protect.insert(protect.end(), second.protect.begin(), second.protect.end());
  out.protect = ReduceProtect(protect);
  out.protection = std::min(first.protection, second.protection);
  out.deny = first.deny;
  out.deny.insert(second.deny.begin(), second.deny.end());
  out.held = first.held;
  out.held.insert(second.held.begin(), second.held.end());
  out.landlock = std::min(first.landlock, second.landlock);
  out.build = first.build && second.build;

  for (const Tree& a : first.trees) {
    for (const Tree& b : second.trees) {
      std::optional<Tree> tree = MeetTrees(a, first, b, second);
      if (!tree) continue;
      tree->key = b.key;
      tree->target = PlaceOf(tree->source, b);
      out.trees.push_back(*std::move(tree));
    }
  }
  std::erase_if(out.held, [&](const std::string& path) {
    return std::none_of(out.trees.begin(), out.trees.end(), [&](const Tree& tree) {
      return tree.access != Access::kReadOnly && path != tree.source &&
             plan::IsWithin(path, tree.source);
    });
  });
  Reduce(&out);
  return out;
}

std::vector<Status> Excess(const Rights& child, const Rights& parent) {
  Refusals out;
  ExcessOfChoices(child, parent, &out);
  ExcessOfTrees(child, parent, &out);
  ExcessOfNames(child, parent, &out);
  ExcessOfLimits(child, parent, &out);
  return out;
}

}  // namespace odyssey::lattice
