#include "policy/dialect/sandbox_request.h"

#include <algorithm>

namespace odyssey::dialect {
namespace {

constexpr char kWorkspace[] = "/workspace";

Result<policy::Mode> ToMode(SandboxMode mode) {
  switch (mode) {
    case SandboxMode::kReadOnly:
      return policy::Mode::kReadOnly;
    case SandboxMode::kWorkspaceWrite:
      return policy::Mode::kWorkspaceWrite;
    case SandboxMode::kDangerFullAccess:
      break;
  }
  return PermissionDenied(
      "sandbox.mode: danger_full_access needs an operator grant; a manifest may ask for read_only "
      "or "
      "workspace_write");
}

Status AddExecutables(const SandboxSpec& sandbox, const RequestContext& context,
                      policy::SandboxRequest* request) {
  request->executables_mode = sandbox.system_tools_mode;
  const bool is_explicit = sandbox.system_tools_mode == policy::ExecutablesMode::kExplicit;
  if (is_explicit && !context.explicit_executables) {
    return Status(
        Code::kUnimplemented,
        "sandbox.system_tools_mode: explicit is not available from this supervisor, which "
        "has standard and all");
  }
  if (sandbox.system_tools_mode == policy::ExecutablesMode::kStandard && !sandbox.exec.empty()) {
    return Status(Code::kUnimplemented,
                  "sandbox.permissions.filesystem.exec: `" + sandbox.exec[0] +
                      "` cannot be made executable with system_tools_mode standard; run it through "
                      "its interpreter, or ask for all");
  }
  if (!is_explicit) return OkStatus();  // the system's directories hold them
  request->executables = sandbox.system_tools;
  for (const std::string& path : sandbox.exec) {
    request->executables.push_back(std::string(kWorkspace) + "/" + path);
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
    if (IsSecretName(source) && context.granted_env.count(source) == 0) {
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
  return limits;
}

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

bool IsSecretName(const std::string& name) {
  for (const char* end : {"_API_KEY", "_TOKEN", "_SECRET", "_PASSWORD"}) {
    if (EndsWith(name, end)) return true;
  }
  return name.compare(0, 4, "AWS_") == 0 || name.compare(0, 4, "SSH_") == 0;
}

Result<policy::SandboxRequest> ToRequest(const SandboxSpec& sandbox,
                                         const RequestContext& context) {
  policy::SandboxRequest request;
  ODY_ASSIGN_OR_RETURN(request.mode, ToMode(sandbox.mode));
  ODY_RETURN_IF_ERROR(AddExecutables(sandbox, context, &request));
  ODY_RETURN_IF_ERROR(AddMounts(sandbox.read_mounts, policy::Access::kReadOnly, context, &request));
  ODY_RETURN_IF_ERROR(
      AddMounts(sandbox.write_mounts, policy::Access::kReadWrite, context, &request));
  ODY_RETURN_IF_ERROR(AddEnv(sandbox, context, &request));
  request.network = sandbox.network;
  request.limits = ToLimits(sandbox.resources);
  return request;
}

}  // namespace odyssey::dialect
