#include "supervisor/rpc/convert.h"

#include <utility>

#include "common/base/utf8.h"
#include "policy/convert/sandbox_proto.h"

namespace odyssey::supervisor {
namespace {

Status CheckTerminal(const std::string& field, const pb::Terminal& size) {
  constexpr uint32_t kMaxTerminalSize = 65535;  // struct winsize
  if (size.rows() <= kMaxTerminalSize && size.columns() <= kMaxTerminalSize) return OkStatus();
  return InvalidArgument(field + ": " + std::to_string(size.rows()) + " rows and " +
                         std::to_string(size.columns()) + " columns; at most 65535 are allowed");
}

Status CheckLength(const char* field, const std::string& value, size_t most) {
  if (value.size() <= most) return OkStatus();
  return InvalidArgument(std::string(field) + ": " + std::to_string(value.size()) +
                         " bytes; at most " + std::to_string(most) + " are allowed");
}

Status CheckGrantedBy(const google::protobuf::RepeatedPtrField<std::string>& ids) {
  constexpr int kMostIds = 64;
  constexpr size_t kMostBytes = 128;
  if (ids.size() > kMostIds) {
    return InvalidArgument("granted_by: " + std::to_string(ids.size()) + " ids; at most " +
                           std::to_string(kMostIds) + " are allowed");
  }
  for (const std::string& id : ids) {
    ODY_RETURN_IF_ERROR(CheckLength("granted_by", id, kMostBytes));
  }
  return OkStatus();
}

}  // namespace

Result<PrepareSpec> FromProto(const pb::PrepareCellRequest& request) {
  constexpr size_t kMaxDigest = 256;  // of any hash, in hex
  ODY_RETURN_IF_ERROR(CheckLength("bundle_digest", request.bundle_digest(), kMaxDigest));
  ODY_RETURN_IF_ERROR(CheckLength("sources_digest", request.sources_digest(), kMaxDigest));
  ODY_RETURN_IF_ERROR(CheckGrantedBy(request.granted_by()));
  PrepareSpec spec;
  spec.key = {request.key().session_id(), request.key().agent_id(), request.key().kind(),
              request.key().component()};
  ODY_RETURN_IF_ERROR(policy::FromProto(request.sandbox(), &spec.sandbox));
  spec.sandbox.workspace = request.workspace();
  spec.sandbox.workspace_identity = policy::FromProto(request.workspace_identity());
  spec.sandbox.ephemeral = request.ephemeral();
  spec.bundle_digest = request.bundle_digest();
  spec.sources_digest = request.sources_digest();
  spec.single_use = request.single_use();
  spec.owner_uid = request.owner_uid();
  spec.allow_danger = request.allow_danger();
  spec.spare_running = request.spare_running();
  spec.granted_by = {request.granted_by().begin(), request.granted_by().end()};
  return spec;
}

Status CheckStart(const pb::ExecStart& start) {
  return CheckTerminal("start.terminal", start.terminal());
}

Status CheckFollowing(const pb::ExecRequest& request) {
  constexpr int kLastSignal = 31;  // the standard ones
  switch (request.message_case()) {
    case pb::ExecRequest::kStdin:
    case pb::ExecRequest::kStdinEof:
      return OkStatus();
    case pb::ExecRequest::kResize:
      return CheckTerminal("resize", request.resize());
    case pb::ExecRequest::kSignal:
      if (request.signal() >= 1 && request.signal() <= kLastSignal) return OkStatus();
      return InvalidArgument("signal " + std::to_string(request.signal()) + ": give 1 to 31");
    case pb::ExecRequest::kStart:
      return InvalidArgument("start: the command has been started; one call runs one command");
    case pb::ExecRequest::MESSAGE_NOT_SET:
      break;
  }
  return InvalidArgument("message: give stdin, stdin_eof, resize or signal");
}

void ToProto(const Feature& feature, pb::Feature* out) {
  out->set_name(feature.name);
  out->set_in_force(feature.in_force);
  out->set_detail(feature.detail);
}

void ToProto(const CellView& view, const std::vector<Feature>& layers, pb::CellInfo* out) {
  out->set_cell_id(view.id);
  out->mutable_key()->set_session_id(view.key.session_id);
  out->mutable_key()->set_agent_id(view.key.agent_id);
  out->mutable_key()->set_kind(view.key.kind);
  out->mutable_key()->set_component(view.key.component);
  out->set_revision(view.revision);
  out->set_policy_digest(view.policy_digest);
  out->set_host_uid(view.host_uid);
  for (const Feature& layer : layers) ToProto(layer, out->add_layers());
  out->set_running_execs(view.running_execs);
  out->set_memory_bytes(view.usage.memory_bytes);
  out->set_cpu_usec(view.usage.cpu_usec);
  out->set_processes(view.usage.processes);
  out->set_created_at(view.created_at);
  out->set_workspace_path(view.workspace_path);
  out->set_mode(policy::ToProto(policy::SandboxRequest{.mode = view.mode}).mode());
  out->set_owner_uid(view.owner_uid);
  out->set_host_network(view.host_network);
  pb::CellStanding& standing = *out->mutable_standing();
  standing.set_phase(view.standing.phase);
  standing.set_since(view.standing.since);
  standing.set_reason(SanitizeUtf8(view.standing.reason));
  if (view.standing.by_uid) standing.set_by_uid(*view.standing.by_uid);
}

CellView FromProto(const pb::CellInfo& cell) {
  const pb::CellStanding& standing = cell.standing();
  CellView view{
      .id = cell.cell_id(),
      .key = {cell.key().session_id(), cell.key().agent_id(), cell.key().kind(),
              cell.key().component()},
      .revision = cell.revision(),
      .policy_digest = cell.policy_digest(),
      .created_at = cell.created_at(),
      .workspace_path = cell.workspace_path(),
      .owner_uid = cell.owner_uid(),
      .standing = {
          .phase = standing.phase(), .since = standing.since(), .reason = standing.reason()}};
  if (standing.has_by_uid()) view.standing.by_uid = standing.by_uid();
  return view;
}

static_assert(static_cast<int>(explain::Grant::Key::kNetworkEndpoint) ==
              pb::GRANT_KEY_NETWORK_ENDPOINT);
static_assert(static_cast<int>(explain::Grant::Key::kMountRead) == pb::GRANT_KEY_MOUNT_READ);

void ToProto(const explain::Denial& denial, const std::string& exec_id, pb::Denial* out) {
  out->set_kind(denial.kind);
  out->set_resource(SanitizeUtf8(denial.resource));
  out->set_access(denial.access);
  out->set_rule(SanitizeUtf8(denial.rule));
  out->set_grant(SanitizeUtf8(denial.grant.text));
  if (denial.grant.key != explain::Grant::Key::kOther) {
    out->set_grant_key(static_cast<pb::GrantKey>(denial.grant.key));
    out->set_grant_value(SanitizeUtf8(denial.grant.value));
  }
  out->set_process(SanitizeUtf8(denial.process));
  if (denial.hint) out->set_hint(true);
  out->set_exec_id(exec_id);
  out->set_count(denial.count);
  out->set_session_id(denial.session_id);
  out->set_verdict(denial.verdict);
}

}  // namespace odyssey::supervisor
