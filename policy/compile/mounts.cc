#include "policy/compile/mounts.h"

#include <map>
#include <string>

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

Status CheckTarget(const std::string& target, bool host_workspace) {
  const auto refuse = [&](const std::string& why) {
    return InvalidArgument("target: " + target + ": " + why);
  };
  if (!plan::IsNormalizedAbsolute(target) || target == "/") {
    return refuse("a normalised absolute path below / is allowed");
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
    return InvalidArgument("source: " + mount.source + ": a normalised absolute path is allowed");
  }
  if (mount.access == policy::Access::kReadWrite) {
    ODY_RETURN_IF_ERROR(CheckOutsideGit("source", mount.source, request.protection));
  }
  ODY_RETURN_IF_ERROR(CheckTarget(mount.target, host_workspace));
  ODY_RETURN_IF_ERROR(CheckMountFiles(mount));
  return plan::CheckHostSource(mount.source, ToPlanAccess(mount.access), context);
}

Status Insert(const Mount& mount, std::map<std::string, Mount>* by_target) {
  const auto [it, added] = by_target->emplace(mount.target, mount);
  if (added) return OkStatus();
  if (it->second.source != mount.source) {
    return InvalidArgument("target: " + mount.target + ": already the target of " +
                           it->second.source);
  }
  if (mount.executable != it->second.executable) {
    return InvalidArgument("executable: " + mount.target + ": another mount of it says otherwise");
  }
  if (!SameMountFiles(mount, it->second)) {
    return InvalidArgument("suffixes, max_file_bytes: another mount of " + mount.target +
                           " says otherwise");
  }
  if (mount.access == policy::Access::kReadWrite) it->second.access = mount.access;
  return OkStatus();
}

}  // namespace

Status CheckOutsideGit(const std::string& field, const std::string& path,
                       policy::Protection protection) {
  if (protection == policy::Protection::kNone || path.find("/.git/") == std::string::npos) {
    return OkStatus();
  }
  return PermissionDenied(
      field + ": " + path +
      ": a part of a repository's own files cannot be protected apart from the "
      "rest, and is not shown writable; the repository itself, or its .git, is");
}

plan::Access ToPlanAccess(policy::Access access) {
  return access == policy::Access::kReadWrite ? plan::Access::kReadWrite : plan::Access::kReadOnly;
}

Result<std::vector<Mount>> ResolveMounts(const policy::SandboxRequest& request,
                                         const plan::CheckContext& context) {
  std::map<std::string, Mount> by_target;
  for (size_t i = 0; i < request.mounts.size(); ++i) {
    const Mount& mount = request.mounts[i];
    Status status = CheckMount(mount, request, context);
    if (status.ok()) status = Insert(mount, &by_target);
    if (!status.ok()) {
      return Status(status.code(), "mounts[" + std::to_string(i) + "]." + status.message());
    }
  }

  std::vector<Mount> mounts;
  for (const auto& [target, mount] : by_target) {
    // Neighbours in the order of a map of paths: what is below another comes after it, though not
    // always next to it.
    for (const Mount& above : mounts) {
      if (IsWithin(target, above.target)) {
        return InvalidArgument("mounts: target " + target + " lies inside the target " +
                               above.target + ": nothing is placed inside a directory of the host");
      }
    }
    mounts.push_back(mount);
  }
  return mounts;
}

}  // namespace odyssey::compile
