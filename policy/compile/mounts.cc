#include "policy/compile/mounts.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "common/base/refusal.h"
#include "policy/compile/mount_files.h"
#include "policy/plan/plan.h"

namespace odyssey::compile {
namespace {

using plan::IsWithin;
using policy::Access;
using policy::Mount;

// What the cell itself is made of. A mount there would hide it; one above it would too.
constexpr std::string_view kOwnPlaces[] = {"/proc", "/dev",      "/sys",   "/etc",   "/bin",
                                           "/sbin", "/lib",      "/lib32", "/lib64", "/libx32",
                                           "/cell", "/.odyssey", "/.proc"};
// Here only what the host has at the same place may be mounted.
constexpr std::string_view kSharedPlaces[] = {"/usr", "/opt"};
// The cell's own, which take mounts below them.
constexpr std::string_view kScratchPlaces[] = {"/tmp", "/run", kVarTmp};

// A copy of a bundle has an empty directory for mounts, and is read-only.
bool IsBundleCopy(const policy::SandboxRequest& request, const plan::CheckContext& context) {
  const std::string& store = context.bundle_store;
  return !store.empty() && request.workspace != store && IsWithin(request.workspace, store);
}

constexpr size_t kMaxComponent = 255;  // NAME_MAX

size_t LongestComponent(std::string_view path) {
  size_t longest = 0;
  for (size_t begin = 0; begin < path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    longest = std::max(longest, end - begin);
    begin = end + 1;
  }
  return longest;
}

// Whether `inner` shows what `outer` has there anyway.
bool ShowsTheSame(const Mount& inner, const Mount& outer) {
  return IsWithin(inner.target, outer.target) &&
         inner.source == outer.source + inner.target.substr(outer.target.size());
}

// The workspace of a request that has one on the host, as a mount.
Mount WorkspaceMount(const policy::SandboxRequest& request) {
  return {.source = request.workspace,
          .target = plan::kWorkspacePath,
          .access = WorkspaceAccess(request),
          .executable = request.executables_mode == policy::ExecutablesMode::kWorkspace};
}

Status CheckTarget(const Mount& mount, const policy::SandboxRequest& request, bool host_workspace) {
  const std::string& target = mount.target;
  const auto refuse = [&](const std::string& why) {
    return Refused(Code::kInvalidArgument, "target", target, why);
  };
  if (!plan::IsNormalizedAbsolute(target) || target == "/") {
    return refuse("a normalised absolute path below / is allowed");
  }
  if (LongestComponent(target) > kMaxComponent) {
    return refuse("components of at most " + std::to_string(kMaxComponent) + " bytes are allowed");
  }
  for (const std::string_view place : kOwnPlaces) {
    if (IsWithin(target, place) || IsWithin(place, target)) {
      return refuse("it would hide the cell's own " + std::string(place));
    }
  }
  for (const std::string_view place : kSharedPlaces) {
    const bool there = target != place && target == mount.source;
    if (!IsWithin(place, target) && (there || !IsWithin(target, place))) continue;
    return refuse("it would hide the cell's own " + std::string(place) +
                  "; what lies below it is shown there by its own path alone");
  }
  for (const std::string_view place : kScratchPlaces) {
    if (IsWithin(place, target))
      return refuse("it would hide the cell's own " + std::string(place));
  }
  if (!IsWithin(target, plan::kWorkspacePath)) return OkStatus();
  if (host_workspace) {
    if (target != plan::kWorkspacePath && ShowsTheSame(mount, WorkspaceMount(request))) {
      return OkStatus();
    }
    return refuse(
        "inside a workspace on the host only what it has there may be placed; use another target");
  }
  if (target != kMirrorPath && IsWithin(target, kMirrorPath)) return OkStatus();
  return refuse(std::string("in the workspace, only paths below ") + kMirrorPath + " are allowed");
}

Status CheckMount(const Mount& mount, const policy::SandboxRequest& request,
                  const plan::CheckContext& context) {
  const bool host_workspace = !request.workspace.empty() && !IsBundleCopy(request, context);
  if (!plan::IsNormalizedAbsolute(mount.source)) {
    return Refused(Code::kInvalidArgument, "source", mount.source,
                   "a normalised absolute path is allowed");
  }
  if (mount.access == policy::Access::kReadWrite) {
    ODY_RETURN_IF_ERROR(CheckOutsideGit("source", mount.source, request.protection));
  }
  ODY_RETURN_IF_ERROR(CheckTarget(mount, request, host_workspace));
  ODY_RETURN_IF_ERROR(CheckMountFiles(mount));
  const Status source = plan::CheckHostSource(mount.source, ToPlanAccess(mount.access), context);
  return source.ok() ? source : OfField("source", source, mount.source);
}

// A mount, and which of the request's it was first.
struct Placed {
  Mount mount;
  size_t index = 0;
};
using ByTarget = std::map<std::string, Placed>;

std::string Nth(size_t index) { return "mounts[" + std::to_string(index) + "]"; }

Status Insert(const Mount& mount, size_t index, ByTarget* by_target) {
  const auto [it, added] = by_target->emplace(mount.target, Placed{mount, index});
  if (added) return OkStatus();
  Mount& first = it->second.mount;
  if (first.source != mount.source) {
    return Refused(Code::kInvalidArgument, "target", mount.target,
                   "already the target of " + first.source);
  }
  if (mount.executable != first.executable) {
    return Refused(Code::kInvalidArgument, "executable", mount.target,
                   "another mount of it says otherwise");
  }
  if (first.identity.inode == 0) first.identity = mount.identity;
  if (mount.identity.inode != 0 && mount.identity != first.identity) {
    return Refused(Code::kFailedPrecondition, "source", mount.source,
                   "another mount of it names another file or directory by that path");
  }
  if (!SameMountFiles(mount, first)) {
    return Refused(Code::kInvalidArgument, "suffixes, max_file_bytes", "",
                   "another mount of " + mount.target + " says otherwise");
  }
  first.access = std::max(first.access, mount.access);
  return OkStatus();
}

// A mount inside another gives what that has there another access. Whether it adds anything.
Result<bool> CheckNested(const Placed& inner, const Mount& outer, const std::string& outer_name) {
  const Mount& mount = inner.mount;
  const auto refuse = [&](const std::string& why) {
    return Refused(Code::kInvalidArgument, Nth(inner.index) + ".target", mount.target,
                   "lies inside " + outer.target + ", the target of " + outer_name + " (" +
                       outer.source + "): " + why);
  };
  if (!ShowsTheSame(mount, outer)) {
    return refuse("only what that has there may be placed inside a directory of the host");
  }
  if (std::minmax(mount.access, outer.access) == std::minmax(Access::kReview, Access::kReadWrite)) {
    return refuse("one is written directly and the other on a copy; both in one way are allowed");
  }
  const bool same = mount.access == outer.access && SameMountFiles(mount, outer);
  if (mount.access == Access::kReview && outer.access == Access::kReview && !same) {
    return refuse("they are written on one copy, and must say the same of its files");
  }
  return !same || mount.executable != outer.executable;
}

// The innermost of the mounts before it, and the workspace, that it lies in.
Result<bool> CheckPlaced(const Placed& placed, const std::vector<Placed>& before,
                         const std::optional<Mount>& workspace) {
  const Placed* around = nullptr;
  for (const Placed& other : before) {
    const bool within = IsWithin(placed.mount.target, other.mount.target);
    // In their order the last one is the innermost.
    if (within) around = &other;
  }
  if (around != nullptr) return CheckNested(placed, around->mount, Nth(around->index));
  if (workspace && IsWithin(placed.mount.target, workspace->target)) {
    return CheckNested(placed, *workspace, "workspace");
  }
  return true;
}

// A guard shows one tree: what is mounted in it would be reached around its guard, or not at all.
Status CheckDeny(const policy::SandboxRequest& request, const std::vector<Placed>& mounts,
                 bool host_workspace) {
  if (request.deny.empty()) return OkStatus();
  for (const Placed& inner : mounts) {
    const std::string& target = inner.mount.target;
    bool nested = host_workspace && IsWithin(target, plan::kWorkspacePath);
    for (const Placed& outer : mounts) {
      nested = nested || (&outer != &inner && IsWithin(target, outer.mount.target));
    }
    if (!nested) continue;
    return Refused(Code::kInvalidArgument, Nth(inner.index) + ".target", target,
                   "a policy with `deny` has no mount inside another directory of the host");
  }
  return OkStatus();
}

}  // namespace

Status CheckPlace(const std::string& field, const std::string& path, Wanted wanted,
                  const std::map<std::string, PlaceKind>& places) {
  const auto found = places.find(path);
  if (found == places.end() || found->second == PlaceKind::kDirectory) return OkStatus();
  if (found->second == PlaceKind::kMissing) {
    return Refused(Code::kNotFound, field, path,
                   "does not exist on this host: no cell is made here until it does");
  }
  if (wanted == Wanted::kDirectory) {
    return Refused(Code::kInvalidArgument, field, path, "is no directory, and only one is allowed");
  }
  if (found->second == PlaceKind::kFile) return OkStatus();
  return Refused(Code::kInvalidArgument, field, path,
                 "is neither a directory nor a regular file, and only these are allowed");
}

Status CheckSources(const policy::SandboxRequest& request,
                    const std::map<std::string, PlaceKind>& places) {
  for (size_t i = 0; i < request.mounts.size(); ++i) {
    ODY_RETURN_IF_ERROR(
        CheckPlace(Nth(i) + ".source", request.mounts[i].source, Wanted::kDirectoryOrFile, places));
  }
  return OkStatus();
}

Status CheckOutsideGit(const std::string& field, const std::string& path,
                       policy::Protection protection) {
  if (protection == policy::Protection::kNone || path.find("/.git/") == std::string::npos) {
    return OkStatus();
  }
  return Refused(Code::kPermissionDenied, field, path,
                 "a part of a repository's own files cannot be protected apart from the rest, and "
                 "is not shown writable; the repository itself, or its .git, is");
}

plan::Access ToPlanAccess(policy::Access access) {
  return access == policy::Access::kReadOnly ? plan::Access::kReadOnly : plan::Access::kReadWrite;
}

Result<std::vector<Mount>> ResolveMounts(const policy::SandboxRequest& request,
                                         const plan::CheckContext& context) {
  ByTarget by_target;
  for (size_t i = 0; i < request.mounts.size(); ++i) {
    const Mount& mount = request.mounts[i];
    Status status = CheckMount(mount, request, context);
    if (status.ok()) status = Insert(mount, i, &by_target);
    if (!status.ok()) return OfField(Nth(i), status);
  }

  std::optional<Mount> workspace;
  if (!request.workspace.empty() && !IsBundleCopy(request, context)) {
    workspace = WorkspaceMount(request);
  }
  std::vector<Placed> kept;
  for (const auto& [target, placed] : by_target) {
    ODY_ASSIGN_OR_RETURN(const bool needed, CheckPlaced(placed, kept, workspace));
    if (needed) kept.push_back(placed);
  }
  ODY_RETURN_IF_ERROR(CheckDeny(request, kept, workspace.has_value()));
  std::vector<Mount> mounts;
  for (Placed& placed : kept) mounts.push_back(std::move(placed.mount));
  return mounts;
}

}  // namespace odyssey::compile
