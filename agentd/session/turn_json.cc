#include "agentd/session/turn_json.h"

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace odyssey::session {
namespace {

using Json = nlohmann::json;
using model::Message;
using model::MessageKind;

constexpr std::array<std::pair<TurnStatus, const char*>, 6> kStatuses = {
    {{TurnStatus::kQueued, "queued"},
     {TurnStatus::kRunning, "running"},
     {TurnStatus::kCompleted, "completed"},
     {TurnStatus::kFailed, "failed"},
     {TurnStatus::kCancelled, "cancelled"},
     {TurnStatus::kInterrupted, "interrupted"}}};

// Thrown by the decoders, with nlohmann's own exceptions, and caught in TurnFromJson.
struct Malformed {
  std::string what;
};

Json EncodeMessage(const Message& message) {
  Json calls = Json::array();
  for (const model::ToolUse& tool : message.tools) {
    calls.push_back({{"id", tool.id},
                     {"call_type", "function"},
                     {"name", tool.name},
                     {"arguments", tool.json}});
  }
  const model::MessageKindName& kind = model::NameOf(message.kind);
  Json out = {{"role", kind.role},
              {"content", message.content},
              {"kind", kind.name},
              {"tool_calls", std::move(calls)}};
  if (!message.replay.empty()) out["replay"] = message.replay;
  return out;
}

Message DecodeMessage(const Json& json) {
  const std::string role = json.at("role").get<std::string>();
  const std::string name = json.value("kind", "text");
  for (const model::MessageKindName& kind : model::kMessageKinds) {
    if (role != kind.role || name != kind.name) continue;
    Message out{kind.kind, json.at("content").get<std::string>(), {}, json.value("replay", "")};
    for (const Json& call : json.at("tool_calls")) {
      out.tools.push_back({call.at("id").get<std::string>(), call.at("name").get<std::string>(),
                           call.at("arguments").get<std::string>()});
    }
    if (kind.kind == MessageKind::kToolResult && out.tools.size() != 1) {
      throw Malformed{"a tool_result message must have one tool call"};
    }
    return out;
  }
  throw Malformed{"unknown message role \"" + role + "\" with kind \"" + name + "\""};
}

// Prompt and response are in the history too; they are written only where that is empty.
Json EncodeTurn(const TurnRecord& turn) {
  Json out = {{"turn_id", turn.id},
              {"status", kStatuses[static_cast<size_t>(turn.status)].second},
              {"created_at", turn.created_at},
              {"announced", turn.announced},
              {"chat_history", Json::array()}};
  if (!turn.error.empty()) out["error"] = turn.error;
  if (turn.deadline_ms != 0) {
    out["deadline_ms"] = turn.deadline_ms;
    out["deadline_at_ms"] = turn.deadline_at_ms;
  }
  if (!turn.idempotency_key.empty()) {
    out["idempotency_key"] = turn.idempotency_key;
    out["after_sequence"] = turn.after_sequence;
  }
  if (turn.used != policy::Budget()) out["used"] = BudgetToJson(turn.used);
  if (turn.token_permille != 0) out["token_permille"] = turn.token_permille;
  if (turn.summary.messages != 0) {
    out["summary"] = {{"messages", turn.summary.messages}, {"text", turn.summary.text}};
  }
  for (const Message& message : turn.history) out["chat_history"].push_back(EncodeMessage(message));
  if (turn.history.empty()) {
    out["prompt"] = turn.prompt;
    if (!turn.response.empty()) out["response"] = turn.response;
  }
  return out;
}

TurnStatus DecodeStatus(const std::string& name) {
  for (const auto& [status, text] : kStatuses) {
    if (name == text) return status;
  }
  throw Malformed{"unknown turn status \"" + name + "\""};
}

TurnRecord DecodeTurn(const Json& json) {
  TurnRecord out;
  out.id = json.at("turn_id").get<std::string>();
  out.status = DecodeStatus(json.at("status").get<std::string>());
  out.created_at = json.at("created_at").get<std::string>();
  out.announced = json.value("announced", false);
  out.error = json.value("error", "");
  out.deadline_ms = json.value("deadline_ms", uint64_t{0});
  out.deadline_at_ms = json.value("deadline_at_ms", int64_t{0});
  out.idempotency_key = json.value("idempotency_key", "");
  out.after_sequence = json.value("after_sequence", uint64_t{0});
  if (json.contains("used")) out.used = BudgetFromJson(json.at("used"));
  out.token_permille = json.value("token_permille", uint32_t{0});
  if (json.contains("summary")) {
    const Json& summary = json.at("summary");
    out.summary = {summary.at("messages").get<uint64_t>(), summary.at("text").get<std::string>()};
  }
  out.prompt = json.value("prompt", "");
  out.response = json.value("response", "");
  for (const Json& message : json.at("chat_history")) out.history.push_back(DecodeMessage(message));
  if (out.history.empty()) return out;
  out.prompt = out.history.front().content;
  const Message& last = out.history.back();
  const bool answered = out.status == TurnStatus::kCompleted;
  out.response = answered && last.kind == MessageKind::kAssistant ? last.content : "";
  return out;
}

}  // namespace

Json BudgetToJson(const policy::Budget& budget) {
  Json out = Json::object();
  for (const policy::BudgetKind& kind : policy::kBudgetKinds) {
    out[std::string(kind.name)] = budget.*kind.count;
  }
  return out;
}

policy::Budget BudgetFromJson(const Json& json) {
  policy::Budget out;
  for (const policy::BudgetKind& kind : policy::kBudgetKinds) {
    out.*kind.count = json.at(std::string(kind.name)).get<uint64_t>();
  }
  return out;
}

Json TurnToJson(const TurnRecord& turn) { return EncodeTurn(turn); }

Result<TurnRecord> TurnFromJson(const Json& json) {
  try {
    return DecodeTurn(json);
  } catch (const Json::exception& error) {
    return Status(Code::kDataLoss, error.what());
  } catch (const Malformed& error) {
    return Status(Code::kDataLoss, error.what);
  }
}

}  // namespace odyssey::session
