#include "agentd/service/convert.h"

#include "common/base/utf8.h"

namespace odyssey::service {
namespace {

using model::MessageKind;

// One overload for each payload. Strings were made valid UTF-8 where they came in; texts of other
// programs are checked once more, because one bad byte would end the whole stream.
void Set(const event::TurnStarted& e, pb::Event* out) {
  auto* to = out->mutable_turn_started();
  to->set_turn_id(e.turn_id);
  to->set_prompt(e.prompt);
  to->set_sandbox_mode(e.sandbox_mode);
}
void Set(const event::TurnCompleted& e, pb::Event* out) {
  auto* to = out->mutable_turn_completed();
  to->set_turn_id(e.turn_id);
  to->set_message(SanitizeUtf8(e.message));
}
void Set(const event::TurnFailed& e, pb::Event* out) {
  auto* to = out->mutable_turn_failed();
  to->set_turn_id(e.turn_id);
  to->set_message(SanitizeUtf8(e.message));
  to->set_interrupted(e.interrupted);
}
void Set(const event::TurnCancelled& e, pb::Event* out) {
  out->mutable_turn_cancelled()->set_turn_id(e.turn_id);
}
void Set(const event::AgentMessageDelta& e, pb::Event* out) {
  auto* to = out->mutable_agent_message_delta();
  to->set_turn_id(e.turn_id);
  to->set_delta(SanitizeUtf8(e.delta));
}
void Set(const event::ReasoningDelta& e, pb::Event* out) {
  auto* to = out->mutable_reasoning_delta();
  to->set_turn_id(e.turn_id);
  to->set_delta(SanitizeUtf8(e.delta));
}
void Set(const event::ReasoningSectionBreak& e, pb::Event* out) {
  out->mutable_reasoning_section_break()->set_turn_id(e.turn_id);
}
void Set(const event::ToolCallStarted& e, pb::Event* out) {
  auto* to = out->mutable_tool_call_started();
  to->set_turn_id(e.turn_id);
  to->set_tool_call_id(e.tool_call_id);
  to->set_tool_name(e.tool_name);
  to->set_arguments_json(e.arguments_json);
}
void Set(const event::ToolCallFinished& e, pb::Event* out) {
  auto* to = out->mutable_tool_call_finished();
  to->set_turn_id(e.turn_id);
  to->set_tool_call_id(e.tool_call_id);
  to->set_tool_name(e.tool_name);
  to->set_result_json(e.result_json);
  to->set_success(e.success);
}
void Set(const event::ExecCommandBegin& e, pb::Event* out) {
  auto* to = out->mutable_exec_command_begin();
  to->set_turn_id(e.turn_id);
  to->set_exec_id(e.exec_id);
  to->mutable_command()->Assign(e.command.begin(), e.command.end());
  to->set_cwd(e.cwd);
}
void Set(const event::ExecCommandOutputDelta& e, pb::Event* out) {
  auto* to = out->mutable_exec_command_output_delta();
  to->set_turn_id(e.turn_id);
  to->set_exec_id(e.exec_id);
  to->set_stream(e.stream);
  to->set_delta(SanitizeUtf8(e.delta));
}
void Set(const event::ExecCommandEnd& e, pb::Event* out) {
  auto* to = out->mutable_exec_command_end();
  to->set_turn_id(e.turn_id);
  to->set_exec_id(e.exec_id);
  to->set_exit_code(e.exit_code);
  to->set_outcome(e.outcome);
}
void Set(const event::AccessDenied& e, pb::Event* out) {
  auto* to = out->mutable_access_denied();
  to->set_turn_id(e.turn_id);
  to->set_tool_call_id(e.tool_call_id);
  auto* denial = to->mutable_denial();
  denial->set_kind(e.denial.kind);
  denial->set_resource(SanitizeUtf8(e.denial.resource));
  denial->set_access(e.denial.access);
  denial->set_rule(SanitizeUtf8(e.denial.rule));
  denial->set_grant(SanitizeUtf8(e.denial.grant));
  denial->set_process(SanitizeUtf8(e.denial.process));
  denial->set_source(e.denial.source);
  denial->set_exec_id(e.denial.exec_id);
  denial->set_count(e.denial.count);
  denial->set_session_id(e.denial.session_id);
  denial->set_verdict(e.denial.verdict);
}
void Set(const event::WorkspaceChanged& e, pb::Event* out) {
  auto* to = out->mutable_workspace_changed();
  to->set_turn_id(e.turn_id);
  auto* counts = to->mutable_counts();
  counts->set_added(e.counts.added);
  counts->set_modified(e.counts.modified);
  counts->set_deleted(e.counts.deleted);
  counts->set_renamed(e.counts.renamed);
  counts->set_other(e.counts.other);
  counts->set_marked(e.counts.marked);
  counts->set_conflicts(e.counts.conflicts);
}
void Set(const event::SessionForked& e, pb::Event* out) {
  auto* to = out->mutable_session_forked();
  to->set_from_session_id(e.from_session_id);
  to->set_at_sequence(e.at_sequence);
  to->set_turns(e.turns);
}
void Set(const event::PermissionRequested& e, pb::PermissionRequested* to) {
  to->set_turn_id(e.turn_id);
  to->set_request_id(e.request_id);
  to->set_tool_name(e.tool_name);
  to->set_rule(e.rule);
  to->set_arguments_json(e.arguments_json);
  to->set_cwd(e.cwd);
  to->set_scope(SanitizeUtf8(e.scope));
  to->set_diff(SanitizeUtf8(e.diff));
}
void Set(const event::PermissionRequested& e, pb::Event* out) {
  Set(e, out->mutable_permission_requested());
}
void Set(const event::ApprovalResolved& e, pb::Event* out) {
  auto* to = out->mutable_approval_resolved();
  to->set_turn_id(e.turn_id);
  to->set_request_id(e.request_id);
  to->set_decision(e.decision);
  to->set_by_uid(e.by_uid);
}
void Set(const event::Error& e, pb::Event* out) {
  auto* to = out->mutable_error();
  to->set_turn_id(e.turn_id);
  to->set_message(SanitizeUtf8(e.message));
}

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

pb::ChatMessage ToProto(const model::Message& message) {
  pb::ChatMessage out;
  const bool is_tool_use = message.kind == MessageKind::kToolUse;
  const bool is_result = message.kind == MessageKind::kToolResult;
  const bool is_user = message.kind == MessageKind::kUser;
  out.set_role(is_user ? "user" : is_result ? "tool" : "assistant");
  out.set_kind(is_tool_use ? "tool_use" : is_result ? "tool_result" : "text");
  out.set_content(SanitizeUtf8(message.content));
  for (const model::ToolUse& tool : message.tools) {
    pb::ToolCall* call = out.add_tool_calls();
    call->set_id(tool.id);
    call->set_name(tool.name);
    call->set_arguments(tool.json);
  }
  return out;
}

}  // namespace

pb::Event ToProto(const event::Event& event) {
  pb::Event out;
  out.set_id(event.id);
  out.set_session_id(event.session_id);
  out.set_sequence(event.sequence);
  out.set_created_at(event.created_at);
  std::visit([&out](const auto& payload) { Set(payload, &out); }, event.payload);
  return out;
}

pb::Turn ToProto(const session::TurnRecord& turn) {
  pb::Turn out;
  out.set_id(turn.id);
  out.set_status(ToProto(turn.status));
  out.set_created_at(turn.created_at);
  out.set_prompt(SanitizeUtf8(turn.prompt));
  out.set_response(SanitizeUtf8(turn.response));
  out.set_error(SanitizeUtf8(turn.error));
  for (const model::Message& message : turn.history) *out.add_chat_history() = ToProto(message);
  return out;
}

pb::Session ToProto(const session::SessionRecord& record, uint64_t last_sequence, Turns turns) {
  pb::Session out;
  out.set_id(record.id);
  out.set_bundle_ref(session::BundleRef(record.bundle));
  out.set_bundle_digest(record.bundle.digest);
  out.set_agent_id(record.agent_id);
  out.set_model_provider(record.model_provider);
  out.set_model_id(record.model_id);
  out.set_created_at(record.created_at);
  out.set_cwd(record.cwd);
  out.set_owner_uid(record.owner_uid);
  out.set_review(record.reviews);
  out.set_forked_from(record.forked_from);
  out.mutable_env_sources()->Assign(record.env_sources.begin(), record.env_sources.end());
  out.set_last_sequence(last_sequence);
  size_t messages = 0;
  for (const session::TurnRecord& turn : record.turns) {
    messages += turn.history.size();
    if (turns == Turns::kInclude) *out.add_turns() = ToProto(turn);
  }
  out.set_message_count(static_cast<uint32_t>(messages));
  return out;
}

pb::Approval ToProto(const approval::Question& question) {
  pb::Approval out;
  out.set_session_id(question.session_id);
  out.set_created_at(question.created_at);
  Set(event::PermissionRequested{question.turn_id, question.request_id, question.tool_name,
                                 question.rule, question.arguments_json, question.cwd,
                                 question.scope, question.diff},
      out.mutable_request());
  return out;
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
