#include "agentd/service/convert.h"

#include "agentd/base/clock.h"
#include "common/base/utf8.h"

namespace odyssey::service {
namespace {

pb::TurnStatus ToProto(session::TurnStatus status) {
  switch (status) {
    case session::TurnStatus::kQueued:
      return pb::TURN_STATUS_QUEUED;
    case session::TurnStatus::kRunning:
      return pb::TURN_STATUS_RUNNING;
    case session::TurnStatus::kCompleted:
      return pb::TURN_STATUS_COMPLETED;
    case session::TurnStatus::kFailed:
      return pb::TURN_STATUS_FAILED;
    case session::TurnStatus::kCancelled:
      return pb::TURN_STATUS_CANCELLED;
    case session::TurnStatus::kInterrupted:
      return pb::TURN_STATUS_INTERRUPTED;
  }
  return pb::TURN_STATUS_UNSPECIFIED;
}

pb::Budget ToProto(const policy::Budget& budget) {
  pb::Budget out;
  out.set_tokens(budget.tokens);
  out.set_cost_microdollars(budget.cost_microdollars);
  out.set_tool_calls(budget.tool_calls);
  out.set_wall_clock_ms(budget.wall_clock_ms);
  return out;
}

}  // namespace

pb::Turn ToProto(const session::TurnRecord& turn) {
  pb::Turn out;
  out.set_id(turn.id);
  out.set_status(ToProto(turn.status));
  out.set_created_at(turn.created_at);
  out.set_prompt(SanitizeUtf8(turn.prompt));
  out.set_response(SanitizeUtf8(turn.response));
  out.set_error(SanitizeUtf8(turn.error));
  return out;
}

pb::ChatMessage ToProto(const model::Message& message) {
  pb::ChatMessage out;
  out.set_role(model::NameOf(message.kind).role);
  out.set_kind(model::NameOf(message.kind).name);
  out.set_content(SanitizeUtf8(message.content));
  for (const model::ToolUse& tool : message.tools) {
    pb::ToolCall* call = out.add_tool_calls();
    call->set_id(tool.id);
    call->set_name(tool.name);
    call->set_arguments(tool.json);
  }
  return out;
}

pb::Session ToProto(const session::SessionRecord& record, uint64_t last_sequence) {
  pb::Session out;
  out.set_id(record.id);
  out.set_bundle_ref(bundle::RefOf(record.bundle));
  out.set_bundle_digest(record.bundle.digest);
  out.set_agent_id(record.agent_id);
  out.set_model_provider(record.model_provider);
  out.set_model_id(record.model_id);
  out.set_created_at(record.created_at);
  out.set_cwd(record.cwd);
  out.set_owner_uid(record.owner_uid);
  out.set_review(record.reviews);
  out.set_forked_from(record.forked_from);
  out.set_parent_session_id(record.parent.session_id);
  out.mutable_env_sources()->Assign(record.env_sources.begin(), record.env_sources.end());
  out.set_last_sequence(last_sequence);
  out.set_message_count(static_cast<uint32_t>(record.message_count));
  if (record.budget != policy::Budget()) *out.mutable_budget() = ToProto(record.budget);
  *out.mutable_used() = ToProto(record.used);
  return out;
}

pb::SessionGrant ToProto(const session::SessionGrant& grant) {
  pb::SessionGrant out;
  out.set_id(grant.id);
  *out.mutable_grants() = grant.grants.grants();
  if (grant.expires_at) out.set_expires_at(agent::FormatTime(*grant.expires_at));
  out.set_by_uid(grant.by_uid);
  return out;
}

policy::Budget FromProto(const pb::Budget& budget) {
  return {budget.tokens(), budget.cost_microdollars(), budget.tool_calls(), budget.wall_clock_ms()};
}

Result<approval::Decision> FromProto(pb::Decision decision) {
  switch (decision) {
    case pb::DECISION_ALLOW_ONCE:
      return approval::Decision::kAllowOnce;
    case pb::DECISION_ALLOW_ALWAYS:
      return approval::Decision::kAllowAlways;
    case pb::DECISION_DENY:
      return approval::Decision::kDeny;
    default:
      return InvalidArgument("decision " + std::to_string(decision) +
                             ": allowed are DECISION_ALLOW_ONCE, DECISION_ALLOW_ALWAYS, "
                             "DECISION_DENY");
  }
}

}  // namespace odyssey::service
