#include "policy/compile/mounts.h"

#include <algorithm>
#include <map>
#include <string>

#include "common/base/refusal.h"
#include "policy/compile/mount_files.h"
#include "policy/plan/plan.h"

namespace odyssey::compile {
namespace {

using plan::IsWithin;
using policy::Mount;

// What the cell itself is made of. A mount there would hide it; one above it would too.
constexpr std::string_view kOwnPlaces[] = {"/proc",   "/dev",  "/sys",      "/usr",   "/etc",
                                           "/bin",    "/sbin", "/lib",      "/lib32", "/lib64",
                                           "/libx32", "/opt",  "/.odyssey", "/cell",  "/var/tmp"};

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

Status CheckTarget(const std::string& target, bool host_workspace) {
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
  if (target == "/tmp" || target == "/run") return refuse("it would hide the cell's own " + target);
  if (!IsWithin(target, plan::kWorkspacePath)) return OkStatus();
  if (host_workspace) {
    return refuse("nothing is placed inside a workspace on the host; use another target");
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
  ODY_RETURN_IF_ERROR(CheckTarget(mount.target, host_workspace));
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

Status CheckNotInside(const Placed& inner, const Placed& around) {
  const std::string& target = inner.mount.target;
  if (!IsWithin(target, around.mount.target)) return OkStatus();
  return Refused(Code::kInvalidArgument, Nth(inner.index) + ".target", target,
                 "lies inside " + around.mount.target + ", the target of " + Nth(around.index) +
                     " (" + around.mount.source +
                     "): nothing is placed inside a directory of the host; one that lies beside "
                     "it is allowed");
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

  std::vector<Mount> mounts;
  for (auto it = by_target.begin(); it != by_target.end(); ++it) {
    // In the order of a map of paths what is below another comes after it, though not always next
    // to it.
    for (auto above = by_target.begin(); above != it; ++above) {
      ODY_RETURN_IF_ERROR(CheckNotInside(it->second, above->second));
    }
    mounts.push_back(it->second.mount);
  }
  return mounts;
}

}  // namespace odyssey::compile
