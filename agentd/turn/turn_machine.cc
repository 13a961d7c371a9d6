#include "agentd/turn/turn_machine.h"

#include <google/protobuf/util/message_differencer.h>

#include <utility>

#include "agentd/base/json_text.h"
#include "common/base/utf8.h"

namespace odyssey::turn {
namespace {

using agent::v1::Event;

constexpr size_t kMaxToolNameBytes = 128;

// The text of "arguments" in events: the canonical object, or the text as a JSON string.
Call ToCall(const model::ToolUse& use, std::string id) {
  Result<std::string> canonical = agent::CanonicalObject(use.json);
  std::string name = SanitizeUtf8(use.name.substr(0, kMaxToolNameBytes));
  return {std::move(id), std::move(name),
          canonical.ok() ? *std::move(canonical) : agent::JsonString(use.json)};
}

bool IsCut(const std::optional<model::ModelEnd>& end) {
  return end && end->reason != agent::v1::END_REASON_STOP &&
         end->reason != agent::v1::END_REASON_TOOL_CALLS;
}

std::string WhyEmpty(const model::ModelEnd& end) {
  const char* why = "the provider did not report why";
  if (end.reason == agent::v1::END_REASON_LENGTH) why = "it reached the limit of tokens";
  if (end.reason == agent::v1::END_REASON_FILTER) why = "the provider's content filter ended it";
  if (end.reason == agent::v1::END_REASON_REFUSAL) why = "the model refused";
  return std::string("model answer: empty: ") + why +
         (end.words.empty() ? "" : "; the provider reports: " + end.words);
}

bool IsObject(const std::string& json) { return !json.empty() && json.front() == '{'; }

}  // namespace

bool operator==(const Emit& a, const Emit& b) {
  return a.durable == b.durable &&
         google::protobuf::util::MessageDifferencer::Equals(a.event, b.event);
}

TurnMachine::TurnMachine(std::string turn_id, std::string prompt,
                         std::function<std::string(std::string_view)> new_id,
                         uint32_t max_model_calls)
    : turn_id_(std::move(turn_id)), new_id_(std::move(new_id)), max_model_calls_(max_model_calls) {
  messages_.push_back({model::MessageKind::kUser, std::move(prompt), {}});
}

Effects TurnMachine::Start() { return CallModelAgain(); }

Effects TurnMachine::CallModelAgain() {
  if (model_calls_ == max_model_calls_) {
    return Stop(Ending::kFailed, "the turn used its " + std::to_string(max_model_calls_) +
                                     " model calls without coming to an end");
  }
  ++model_calls_;
  answering_ = true;
  end_.reset();
  calls_.clear();
  next_call_ = 0;
  return {CallModel{}};
}

void TurnMachine::EndReasoning(Effects* out) {
  if (std::exchange(reasoning_, false)) {
    Event closed;
    closed.mutable_reasoning_section_break()->set_turn_id(turn_id_);
    out->push_back(Emit{std::move(closed)});
  }
}

Effects TurnMachine::OnModelEvent(const model::ModelEvent& event) {
  Effects out;
  if (finished_) return out;
  if (const auto* reasoning = std::get_if<model::ReasoningDelta>(&event)) {
    reasoning_ = true;
    Event told;
    told.mutable_reasoning_delta()->set_turn_id(turn_id_);
    told.mutable_reasoning_delta()->set_delta(reasoning->text);
    out.push_back(Emit{std::move(told)});
  } else if (const auto* text = std::get_if<model::TextDelta>(&event)) {
    EndReasoning(&out);
    text_ += text->text;
    Event told;
    told.mutable_agent_message_delta()->set_turn_id(turn_id_);
    told.mutable_agent_message_delta()->set_delta(text->text);
    out.push_back(Emit{std::move(told)});
  } else if (const auto* end = std::get_if<model::ModelEnd>(&event)) {
    RecordModelEnd(*end);
  } else {
    EndReasoning(&out);
    calls_.push_back(ToCall(std::get<model::ToolUse>(event), new_id_("tcl")));
  }
  return out;
}

void TurnMachine::RecordModelEnd(const model::ModelEnd& end) {
  end_ = end;
  usage_.set_input_tokens(usage_.input_tokens() + end.usage.input_tokens());
  usage_.set_output_tokens(usage_.output_tokens() + end.usage.output_tokens());
  usage_.set_cached_input_tokens(usage_.cached_input_tokens() + end.usage.cached_input_tokens());
  usage_.set_reasoning_tokens(usage_.reasoning_tokens() + end.usage.reasoning_tokens());
}

void TurnMachine::DescribeEnd(agent::v1::TurnCompleted* completed) const {
  if (!end_) return;
  completed->set_end_reason(end_->reason);
  if (!end_->words.empty()) completed->set_end_words(end_->words);
  if (usage_.input_tokens() + usage_.output_tokens() != 0) *completed->mutable_usage() = usage_;
}

// The assistant's message of the answer that just ended, with its calls.
void TurnMachine::FlushAssistantMessage() {
  std::string text = std::exchange(text_, {});
  std::string replay = end_ ? end_->replay : "";
  if (calls_.empty()) {
    if (text.empty()) return;
    messages_.push_back({model::MessageKind::kAssistant, std::move(text), {}, std::move(replay)});
    return;
  }
  model::Message message{model::MessageKind::kToolUse, std::move(text), {}, std::move(replay)};
  for (const Call& call : calls_) {
    // Providers want an object, whatever the model wrote.
    message.tools.push_back(
        {call.id, call.tool, IsObject(call.arguments_json) ? call.arguments_json : "{}"});
  }
  messages_.push_back(std::move(message));
}

Effects TurnMachine::OnModelEnd(const Status& status) {
  if (finished_) return {};
  if (!status.ok()) return Stop(Ending::kFailed, status.message());
  if (IsCut(end_)) {
    calls_.clear();  // the arguments of a cut answer are not the model's
    if (text_.empty()) return Stop(Ending::kFailed, WhyEmpty(*end_));
  }
  answering_ = false;
  Effects out;
  EndReasoning(&out);
  const std::string text = text_;
  FlushAssistantMessage();
  if (!calls_.empty()) {
    Effects next = NextCall();
    out.insert(out.end(), next.begin(), next.end());
    return out;
  }
  finished_ = true;
  out.push_back(Finish{Ending::kCompleted, text});
  return out;
}

Event TurnMachine::Started(const Call& call) const {
  Event out;
  agent::v1::ToolCallStarted& started = *out.mutable_tool_call_started();
  started.set_turn_id(turn_id_);
  started.set_tool_call_id(call.id);
  started.set_tool_name(call.tool);
  started.set_arguments_json(call.arguments_json);
  return out;
}

Event TurnMachine::Finished(const Call& call, const std::string& result_json, bool success) const {
  Event out;
  agent::v1::ToolCallFinished& finished = *out.mutable_tool_call_finished();
  finished.set_turn_id(turn_id_);
  finished.set_tool_call_id(call.id);
  finished.set_tool_name(call.tool);
  finished.set_result_json(result_json);
  finished.set_success(success);
  return out;
}

Event TurnMachine::Resolved(const Answered& answer) const {
  Event out;
  agent::v1::ApprovalResolved& resolved = *out.mutable_approval_resolved();
  resolved.set_turn_id(turn_id_);
  resolved.set_request_id(request_id_);
  resolved.set_decision(answer.decision);
  resolved.set_by_uid(answer.by_uid);
  if (!answer.note.empty()) resolved.set_note(SanitizeUtf8(answer.note));
  resolved.set_by(answer.by);
  if (answer.grant_scope) resolved.set_grant_scope(*answer.grant_scope);
  if (!answer.grants_expire_at.empty()) resolved.set_grants_expire_at(answer.grants_expire_at);
  return out;
}

Effects TurnMachine::NextCall() {
  if (next_call_ == calls_.size()) return CallModelAgain();
  const Call& call = calls_[next_call_];
  started_ = true;
  Effects out = {Emit{Started(call), true}};
  if (IsObject(call.arguments_json)) {
    out.push_back(Authorize{call});
    return out;
  }
  Effects rest = OnToolResult(agent::ErrorObject("invalid arguments: not a JSON object"), false);
  out.insert(out.end(), rest.begin(), rest.end());
  return out;
}

Effects TurnMachine::OnVerdict(const approval::Verdict& verdict) {
  if (finished_) return {};
  const Call& call = calls_[next_call_];
  switch (verdict.kind) {
    case rules::Verdict::kAllow:
      return {RunTool{call}};
    case rules::Verdict::kAsk:
      asked_ = verdict;
      request_id_ = new_id_("apr");
      return {Ask{request_id_, call, verdict.rule, verdict.scope, verdict.risk}};
    case rules::Verdict::kDeny:
      break;
  }
  return OnToolResult(agent::ErrorObject(verdict.message), false);
}

Effects TurnMachine::AskBeforeResult(const std::string& rule) {
  if (finished_) return {};
  has_run_ = true;
  request_id_ = new_id_("apr");
  return {Ask{request_id_, calls_[next_call_], rule, "", rules::RiskClass::kNetworkEgress}};
}

Effects TurnMachine::OnAnswer(const Answered& answer) {
  if (finished_) return {};
  Effects out = {Emit{Resolved(answer), true}};
  if (std::exchange(has_run_, false)) {
    out.push_back(ResumeResult{answer.allowed, SanitizeUtf8(answer.note)});
    return out;
  }
  if (answer.allowed) {
    out.push_back(RunTool{calls_[next_call_]});
    return out;
  }
  const std::string message =
      approval::DeniedMessage(calls_[next_call_].tool, asked_.rule, SanitizeUtf8(answer.note));
  Effects rest = OnToolResult(agent::ErrorObject(message), false);
  out.insert(out.end(), rest.begin(), rest.end());
  return out;
}

void TurnMachine::RecordResult(const Call& call, const std::string& result_json, bool success,
                               Effects* out) {
  if (std::exchange(started_, false)) {
    out->push_back(Emit{Finished(call, result_json, success), true});
  }
  messages_.push_back({model::MessageKind::kToolResult, "", {{call.id, call.tool, result_json}}});
}

Effects TurnMachine::OnToolResult(const std::string& result_json, bool success) {
  if (finished_) return {};
  Effects out;
  RecordResult(calls_[next_call_], result_json, success, &out);
  ++next_call_;
  Effects rest = NextCall();
  out.insert(out.end(), rest.begin(), rest.end());
  return out;
}

Effects TurnMachine::Stop(Ending ending, const std::string& message) {
  if (finished_) return {};
  finished_ = true;
  Effects out;
  EndReasoning(&out);
  if (std::exchange(answering_, false)) {
    calls_.clear();  // the text was said, the calls were not made
    FlushAssistantMessage();
  }
  const std::string why = ending == Ending::kCancelled ? "cancelled" : message;
  for (; next_call_ < calls_.size(); ++next_call_) {
    RecordResult(calls_[next_call_], agent::ErrorObject("execution failed: " + why), false, &out);
  }
  out.push_back(Finish{ending, message});
  return out;
}

}  // namespace odyssey::turn
