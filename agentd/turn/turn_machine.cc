#include "agentd/turn/turn_machine.h"

#include <utility>

#include "agentd/base/json_text.h"
#include "common/base/utf8.h"

namespace odyssey::turn {
namespace {

constexpr size_t kMaxToolNameBytes = 128;

// The text of "arguments" in events: the canonical object, or the text as a JSON string.
Call ToCall(const model::ToolUse& use, std::string id) {
  Result<std::string> canonical = agent::CanonicalObject(use.json);
  std::string name = SanitizeUtf8(use.name.substr(0, kMaxToolNameBytes));
  return {std::move(id), std::move(name),
          canonical.ok() ? *std::move(canonical) : agent::JsonString(use.json)};
}

bool IsObject(const std::string& json) { return !json.empty() && json.front() == '{'; }

Emit Durable(event::Payload payload) { return {std::move(payload), true}; }

}  // namespace

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
  calls_.clear();
  next_call_ = 0;
  return {CallModel{}};
}

void TurnMachine::EndReasoning(Effects* out) {
  if (std::exchange(reasoning_, false)) {
    out->push_back(Emit{event::ReasoningSectionBreak{turn_id_}});
  }
}

Effects TurnMachine::OnModelEvent(const model::ModelEvent& event) {
  Effects out;
  if (finished_) return out;
  if (const auto* reasoning = std::get_if<model::ReasoningDelta>(&event)) {
    reasoning_ = true;
    out.push_back(Emit{event::ReasoningDelta{turn_id_, reasoning->text}});
  } else if (const auto* text = std::get_if<model::TextDelta>(&event)) {
    EndReasoning(&out);
    text_ += text->text;
    out.push_back(Emit{event::AgentMessageDelta{turn_id_, text->text}});
  } else {
    EndReasoning(&out);
    calls_.push_back(ToCall(std::get<model::ToolUse>(event), new_id_("tcl")));
  }
  return out;
}

// The assistant's message of the answer that just ended, with its calls.
void TurnMachine::FlushAssistantMessage() {
  std::string text = std::exchange(text_, {});
  if (calls_.empty()) {
    if (!text.empty()) messages_.push_back({model::MessageKind::kAssistant, std::move(text), {}});
    return;
  }
  model::Message message{model::MessageKind::kToolUse, std::move(text), {}};
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

Effects TurnMachine::NextCall() {
  if (next_call_ == calls_.size()) return CallModelAgain();
  const Call& call = calls_[next_call_];
  started_ = true;
  Effects out = {
      Durable(event::ToolCallStarted{turn_id_, call.id, call.tool, call.arguments_json})};
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
      return {Ask{request_id_, call, verdict.rule, verdict.scope}};
    case rules::Verdict::kDeny:
      break;
  }
  return OnToolResult(agent::ErrorObject(verdict.message), false);
}

Effects TurnMachine::OnAnswer(const Answered& answer) {
  if (finished_) return {};
  Effects out = {
      Durable(event::ApprovalResolved{turn_id_, request_id_, answer.decision, answer.by_uid})};
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
    out->push_back(
        Durable(event::ToolCallFinished{turn_id_, call.id, call.tool, result_json, success}));
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
