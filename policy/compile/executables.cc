#include "policy/compile/executables.h"

#include <algorithm>
#include <string>

#include "common/base/refusal.h"
#include "policy/compile/mounts.h"

namespace odyssey::compile {
namespace {

using plan::Access;
using plan::Entry;
using plan::EntryKind;
using plan::IsWithin;
using policy::ExecutablesMode;
using policy::Mount;

constexpr char kNamed[] = "named by executables";

std::string Nth(size_t index) { return "executables[" + std::to_string(index) + "]"; }

// A path of the cell, as opposed to a program of the system's.
bool IsOwnPath(const std::string& entry) {
  return entry.rfind('/', 0) == 0 && !IsInSystemTree(entry);
}

Status CheckEntry(const std::string& entry) {
  if (plan::IsNormalizedAbsolute(entry) && entry != "/") return OkStatus();
  const bool name = !entry.empty() && entry.size() <= 255 && entry != "." && entry != ".." &&
                    std::none_of(entry.begin(), entry.end(),
                                 [](unsigned char c) { return c < 0x20 || c == 0x7f || c == '/'; });
  if (name) return OkStatus();
  return InvalidArgument("a name without a slash, or a normalised absolute path is allowed");
}

// The mount whose target is `path` or above it.
const Mount* MountAround(const std::string& path, const std::vector<Mount>& mounts) {
  const auto it = std::find_if(mounts.begin(), mounts.end(),
                               [&](const Mount& m) { return IsWithin(path, m.target); });
  return it == mounts.end() ? nullptr : &*it;
}

// What runs on the host's side of the cell's paths: programs that are found, and mounts of
// programs.
std::vector<std::string> ExecutableSources(const policy::SandboxRequest& request,
                                           const FoundExecutables& found,
                                           const std::vector<Mount>& mounts) {
  std::vector<std::string> sources;
  for (const Executable& file : found.files) sources.push_back(file.path);
  for (const Mount& mount : mounts) {
    if (mount.executable) sources.push_back(mount.source);
  }
  for (const std::string& entry : request.executables) {
    if (!IsOwnPath(entry)) continue;
    if (const Mount* around = MountAround(entry, mounts)) {
      sources.push_back(around->source + entry.substr(around->target.size()));
    } else if (!request.workspace.empty() && IsWithin(entry, plan::kWorkspacePath)) {
      sources.push_back(request.workspace + entry.substr(sizeof(plan::kWorkspacePath) - 1));
    }
  }
  return sources;
}

// Whether `path`, which `outer` would show, is in its place covered by a mount of the same with
// another access: a part of it.
bool IsPartOf(const std::string& path, const std::string& outer_source,
              const std::string& outer_target, policy::Access access,
              const std::vector<Mount>& mounts) {
  const std::string place = outer_target + path.substr(outer_source.size());
  return std::any_of(mounts.begin(), mounts.end(), [&](const Mount& mount) {
    return mount.access == access && mount.target != outer_target &&
           IsWithin(place, mount.target) && IsWithin(mount.target, outer_target) &&
           path == mount.source + place.substr(mount.target.size());
  });
}

// Whether the writable `tree` lies in a directory of programs as a part, which is not executable.
bool IsPartOfPrograms(const std::string& tree, const std::string& programs,
                      const std::vector<Mount>& mounts) {
  bool shown = false;
  for (const Mount& mount : mounts) {
    if (mount.access != policy::Access::kReadOnly || mount.source != programs) continue;
    shown = true;
    if (!IsPartOf(tree, mount.source, mount.target, policy::Access::kReadWrite, mounts)) {
      return false;
    }
  }
  return shown;
}

// A program that the agent can rewrite through another path is any program.
Status CheckNotWritable(const policy::SandboxRequest& request, const FoundExecutables& found,
                        const std::vector<Mount>& mounts) {
  std::vector<std::pair<std::string, std::string>> writable;  // source, target
  for (const Mount& mount : mounts) {
    if (mount.access != policy::Access::kReadOnly)
      writable.emplace_back(mount.source, mount.target);
  }
  if (!request.workspace.empty() && request.mode == policy::Mode::kWorkspaceWrite) {
    writable.emplace_back(request.workspace, plan::kWorkspacePath);
  }
  for (const std::string& source : ExecutableSources(request, found, mounts)) {
    for (const auto& [tree, target] : writable) {
      if (!IsWithin(source, tree) && !IsWithin(tree, source)) continue;
      const bool inside = source != tree && IsWithin(source, tree);
      if (inside ? IsPartOf(source, tree, target, policy::Access::kReadOnly, mounts)
                 : IsPartOfPrograms(tree, source, mounts)) {
        continue;
      }
      return Refused(Code::kInvalidArgument, "executables", "",
                     source + " may be executed, and " + target +
                         " makes it writable: only what no writable mount shows is allowed");
    }
  }
  return OkStatus();
}

// What a cell has removed of its image is not there when its directories are used again.
void AllowExecution(const std::string& path, const std::string& why, Compiled* out) {
  const uint8_t if_there = out->plan.layers.empty() ? 0 : cell::kIfThere;
  out->confinement.rules.push_back(
      {path, static_cast<uint8_t>(cell::kRead | cell::kExecute | if_there)});
  out->explanation.push_back(path + ": executable: " + why);
}

void AddPart(const std::string& path, bool run, const std::string& why, Compiled* out) {
  out->plan.entries.push_back({.kind = EntryKind::kPart, .target = path, .executable = true});
  if (run) return AllowExecution(path, why, out);
  out->explanation.push_back(path + ": loadable: " + why);
}

Entry* TreeAround(const std::string& path, Compiled* out) {
  Entry* around = nullptr;
  for (Entry& entry : out->plan.entries) {
    if (!IsWithin(path, entry.target)) continue;
    if (around == nullptr || entry.target.size() > around->target.size()) around = &entry;
  }
  return around;
}

Status AddOwnPath(const std::string& path, Compiled* out) {
  Entry* around = TreeAround(path, out);
  const bool tree = around != nullptr && around->kind == EntryKind::kHostTree;
  if (!tree || around->access != Access::kReadOnly) {
    return InvalidArgument(path +
                           ": what the agent could write is not executed; name what lies in "
                           "a read-only mount or workspace");
  }
  if (around->executable) return OkStatus();
  if (around->target != path) {
    AddPart(path, /*run=*/true, kNamed, out);
    return OkStatus();
  }
  around->executable = true;
  AllowExecution(path, kNamed, out);
  return OkStatus();
}

Status AddFound(const Executable& file, Compiled* out) {
  const Entry* around = TreeAround(file.path, out);
  if (around == nullptr ||
      (around->kind != EntryKind::kHostTree && around->kind != EntryKind::kPart)) {
    return Refused(Code::kFailedPrecondition, "executables", file.path,
                   "its tree is left out of cells");
  }
  AddPart(file.path, file.run, file.why, out);
  return OkStatus();
}

}  // namespace

bool IsInSystemTree(std::string_view path) {
  const std::vector<std::string>& trees = plan::SystemTrees();
  return std::any_of(trees.begin(), trees.end(),
                     [path](const std::string& tree) { return IsWithin(path, tree); });
}

std::vector<std::string> SystemExecutables(const policy::SandboxRequest& request) {
  std::vector<std::string> names;
  for (const std::string& entry : request.executables) {
    if (CheckEntry(entry).ok() && !IsOwnPath(entry)) names.push_back(entry);
  }
  return names;
}

Status CheckExecutables(const policy::SandboxRequest& request, const FoundExecutables& found) {
  for (size_t i = 0; i < request.mounts.size(); ++i) {
    const Mount& mount = request.mounts[i];
    if (mount.executable && mount.access != policy::Access::kReadOnly) {
      return Refused(Code::kInvalidArgument, "mounts[" + std::to_string(i) + "].executable", "",
                     "only with ACCESS_READ_ONLY");
    }
  }
  if (request.executables.size() > kMaxExecutables) {
    return Refused(Code::kInvalidArgument, "executables", "",
                   std::to_string(request.executables.size()) + " entries: at most " +
                       std::to_string(kMaxExecutables) + " are allowed");
  }
  for (size_t i = 0; i < request.executables.size(); ++i) {
    const Status status = CheckEntry(request.executables[i]);
    if (status.ok()) continue;
    return OfField(Nth(i),
                   WithMessage("'" + request.executables[i] + "': " + status.message(), status),
                   request.executables[i]);
  }
  if (!SystemExecutables(request).empty() && found == FoundExecutables()) {
    return Internal("executables: they were not searched for");
  }
  return OkStatus();
}

Result<std::vector<Mount>> AddExecutableMounts(const policy::SandboxRequest& request,
                                               const FoundExecutables& found,
                                               std::vector<Mount> mounts, const HostFacts& facts) {
  for (size_t i = 0; i < request.executables.size(); ++i) {
    const std::string& path = request.executables[i];
    const bool shown = IsWithin(path, plan::kWorkspacePath) || IsWithin(path, plan::kCellPath) ||
                       MountAround(path, mounts) != nullptr;
    if (!IsOwnPath(path) || shown) continue;
    policy::SandboxRequest alone = {.mounts = {{path, path, policy::Access::kReadOnly, true}},
                                    .workspace = request.workspace};
    const auto checked = ResolveMounts(alone, facts.check);
    if (!checked.ok()) {
      return Refused(checked.status().code(), Nth(i), "", WhyRefused(checked.status()));
    }
    ODY_RETURN_IF_ERROR(CheckPlace(Nth(i), path, Wanted::kDirectoryOrFile, facts.places));
    for (const Mount& mount : mounts) {
      if (!IsWithin(mount.target, path)) continue;
      return Refused(Code::kInvalidArgument, Nth(i), path,
                     "the mount target " + mount.target + " lies inside it");
    }
    mounts.push_back(alone.mounts[0]);
  }
  std::sort(mounts.begin(), mounts.end(),
            [](const Mount& a, const Mount& b) { return a.target < b.target; });
  // Then what the command writes is executable anyway.
  if (request.executables_mode >= ExecutablesMode::kWorkspace) return mounts;
  ODY_RETURN_IF_ERROR(CheckNotWritable(request, found, mounts));
  return mounts;
}

Status AddExecutables(const policy::SandboxRequest& request, const FoundExecutables& found,
                      Compiled* out) {
  for (const Executable& file : found.files) ODY_RETURN_IF_ERROR(AddFound(file, out));
  for (const std::string& note : found.notes) out->explanation.push_back(note);
  if (request.executables_mode == ExecutablesMode::kAll) return OkStatus();
  for (size_t i = 0; i < request.executables.size(); ++i) {
    if (!IsOwnPath(request.executables[i])) continue;
    const Status status = AddOwnPath(request.executables[i], out);
    if (!status.ok()) return OfField(Nth(i), status, request.executables[i]);
  }
  return OkStatus();
}

void DenyWriteExec(const std::vector<Mount>& mounts, const FoundExecutables& found, Compiled* out) {
  std::vector<std::string> compilers = found.compilers;
  for (const Mount& mount : mounts) {
    if (mount.executable) compilers.push_back(mount.target);
  }
  out->confinement.denies_write_exec = compilers.empty();
  if (compilers.empty()) {
    out->explanation.push_back(
        "memory that was written is not executed (PR_SET_MDWE, Linux 6.3): none of the programs "
        "compiles while it runs");
  }
  for (const std::string& path : compilers) {
    out->explanation.push_back(path +
                               ": compiles while it runs, or may: memory that was written "
                               "can be executed");
  }
}

}  // namespace odyssey::compile
