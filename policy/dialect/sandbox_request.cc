#include "policy/dialect/sandbox_request.h"

#include <algorithm>

#include "policy/ceiling/ceiling.h"

namespace odyssey::dialect {
namespace {

constexpr char kWorkspace[] = "/workspace";
constexpr char kBundle[] = "/bundle";

policy::Mode ToMode(SandboxMode mode) {
  switch (mode) {
    case SandboxMode::kReadOnly:
      return policy::Mode::kReadOnly;
    case SandboxMode::kWorkspaceWrite:
      return policy::Mode::kWorkspaceWrite;
    case SandboxMode::kDangerFullAccess:
      break;  // asked for; whether it is given is for the operator and the person to say
  }
  return policy::Mode::kDangerFullAccess;
}

bool IsBelow(const std::string& path, const std::string& other) {
  return path != other && (other == "." || path.compare(0, other.size() + 1, other + "/") == 0);
}

// The bundle's own programs, from where the agent cannot change them. A private workspace has a
// copy, which it can.
Status AddOwnPrograms(const SandboxSpec& sandbox, const RequestContext& context,
                      policy::SandboxRequest* request) {
  const bool in_place = !request->workspace.empty() &&
                        request->executables_mode == policy::ExecutablesMode::kExplicit;
  for (const std::string& path : sandbox.exec) {
    if (context.bundle_directory.empty()) {
      return InvalidArgument("sandbox.permissions.filesystem.exec: `" + path +
                             "` is a file of a bundle, and there is none");
    }
    const bool covered =
        std::any_of(sandbox.exec.begin(), sandbox.exec.end(),
                    [&path](const std::string& other) { return IsBelow(path, other); });
    const std::string tail = path == "." ? "" : "/" + path;
    const policy::Mount mount = {
        .source = context.bundle_directory + tail, .target = kBundle + tail, .executable = true};
    const auto& mounts = request->mounts;
    if (covered || std::find(mounts.begin(), mounts.end(), mount) != mounts.end()) continue;
    request->mounts.push_back(mount);
    if (in_place) request->executables.push_back(kWorkspace + tail);
  }
  return OkStatus();
}

Status AddMounts(const std::vector<std::string>& sources, policy::Access access,
                 const RequestContext& context, policy::SandboxRequest* request) {
  const std::string side = access == policy::Access::kReadOnly ? "read" : "write";
  const std::string base = std::string(kWorkspace) + "/mount/" + side + "/";
  for (const std::string& source : sources) {
    if (source != ".") {
      request->mounts.push_back(
          {source, source == "/" ? base + "abs" : base + "abs" + source, access});
    } else if (context.client_cwd.empty()) {
      return InvalidArgument("sandbox.permissions.filesystem.mounts." + side +
                             ": `.` is the client's directory, and the client named none");
    } else {
      request->mounts.push_back({context.client_cwd, base + "current", access});
    }
  }
  return OkStatus();
}

Status AddEnv(const SandboxSpec& sandbox, const RequestContext& context,
              policy::SandboxRequest* request) {
  for (const auto& [target, source] : sandbox.env) {
    const auto found = context.host_env.find(source);
    if (found == context.host_env.end()) continue;
    if (ceiling::LooksSecret(source) && context.granted_env.count(source) == 0) {
      return PermissionDenied("sandbox.env." + target + ": the variable " + source +
                              " looks like a secret and needs an operator grant");
    }
    request->env[target] = found->second;
  }
  return OkStatus();
}

policy::Limits ToLimits(const Resources& resources) {
  policy::Limits limits;
  limits.cpu_millis = static_cast<uint32_t>(resources.cpu * 1000);
  limits.memory_bytes = resources.memory_mb << 20;
  limits.pids = static_cast<uint32_t>(resources.pids);
  limits.wall_clock_ms = static_cast<uint32_t>(resources.wall_clock_s * 1000);
  limits.cpu_seconds = static_cast<uint32_t>(resources.cpu_seconds);
  limits.open_files = static_cast<uint32_t>(resources.open_files);
  limits.tmp_bytes = resources.tmp_mb << 20;
  limits.disk_bytes = resources.disk_mb << 20;
  return limits;
}

}  // namespace

Result<policy::SandboxRequest> ToRequest(const SandboxSpec& sandbox,
                                         const RequestContext& context) {
  policy::SandboxRequest request;
  request.mode = ToMode(sandbox.mode);
  request.executables_mode = sandbox.system_tools_mode;
  // In the other modes the system's directories hold them.
  if (request.executables_mode == policy::ExecutablesMode::kExplicit) {
    request.executables = sandbox.system_tools;
  }
  if (context.bundle_as_workspace && request.mode == policy::Mode::kReadOnly) {
    request.workspace = context.bundle_directory;
  }
  ODY_RETURN_IF_ERROR(AddOwnPrograms(sandbox, context, &request));
  ODY_RETURN_IF_ERROR(AddMounts(sandbox.read_mounts, policy::Access::kReadOnly, context, &request));
  ODY_RETURN_IF_ERROR(
      AddMounts(sandbox.write_mounts, policy::Access::kReadWrite, context, &request));
  ODY_RETURN_IF_ERROR(AddEnv(sandbox, context, &request));
  request.network = sandbox.network;
  request.limits = ToLimits(sandbox.resources);
  request.protect = sandbox.protect;
  request.protection = sandbox.protection;
  request.deny = sandbox.deny;
  request.landlock = sandbox.landlock;
  request.user = sandbox.user;
  return request;
}

}  // namespace odyssey::dialect
