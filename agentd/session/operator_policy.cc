#include "agentd/session/operator_policy.h"

#include "common/base/refusal.h"
#include "policy/model/own_variables.h"

namespace odyssey::session {

Result<TurnSetup> Under(const OperatorPolicy& policy, const TurnSetup& session) {
  const policy::SandboxRequest& own = session.cell.request;
  if (policy::IsDanger(own)) {
    return FailedPrecondition(
        "policy: the session's bundle runs on the host, and has no cell of which another policy "
        "could show the directories");
  }
  if (policy::IsDanger(policy.request)) {
    return Refused(Code::kInvalidArgument, "mode", "danger_full_access",
                   "a session's directories are shown by a cell: read_only and workspace_write are "
                   "allowed");
  }
  const bool fixed = !own.workspace.empty();  // the store's copy of a read_only bundle
  if (fixed && policy.request.mode == policy::Mode::kWorkspaceWrite) {
    return Refused(
        Code::kFailedPrecondition, "mode", "workspace_write",
        "the session's workspace is its bundle's copy in the store: read_only is allowed");
  }
  TurnSetup out = session;
  out.cell.request = policy.request;
  out.cell.request.workspace = own.workspace;
  // The directories are on the disk that they were made on.
  if (policy.request.limits.disk_bytes == 0) {
    out.cell.request.limits.disk_bytes = own.limits.disk_bytes;
  }
  out.cell.owner_uid = policy.owner_uid;
  out.cell.allow_danger = false;
  out.cell.spare_running = true;
  out.origins = dialect::Origins();  // of the bundle's files
  return out;
}

std::map<std::string, std::string> SecretsOf(const OperatorPolicy& policy) {
  std::map<std::string, std::string> out = policy.request.env;
  std::erase_if(out, [](const auto& item) { return policy::IsInheritedVariable(item.first); });
  return out;
}

}  // namespace odyssey::session
