#include "agentd/session/session_record.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

namespace odyssey::session {
namespace {

using Json = nlohmann::json;
using model::Message;
using model::MessageKind;

constexpr int kSchemaVersion = 1;

struct KindName {
  MessageKind kind;
  const char* role;
  const char* name;
};
constexpr std::array<KindName, 4> kKinds = {{{MessageKind::kUser, "user", "text"},
                                             {MessageKind::kAssistant, "assistant", "text"},
                                             {MessageKind::kToolUse, "assistant", "tool_use"},
                                             {MessageKind::kToolResult, "tool", "tool_result"}}};

constexpr std::array<std::pair<TurnStatus, const char*>, 6> kStatuses = {
    {{TurnStatus::kQueued, "queued"},
     {TurnStatus::kRunning, "running"},
     {TurnStatus::kCompleted, "completed"},
     {TurnStatus::kFailed, "failed"},
     {TurnStatus::kCancelled, "cancelled"},
     {TurnStatus::kInterrupted, "interrupted"}}};

// Thrown by the decoders, with nlohmann's own exceptions, and caught in DecodeSession.
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
  const KindName& kind = kKinds[static_cast<size_t>(message.kind)];
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
  for (const KindName& kind : kKinds) {
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

Json EncodeParent(const Parent& parent) {
  return {{"session_id", parent.session_id},
          {"turn_id", parent.turn_id},
          {"callers", parent.callers},
          {"tool_calls", parent.budget.tool_calls}};
}

Parent DecodeParent(const Json& json) {
  return {json.at("session_id").get<std::string>(),
          json.at("turn_id").get<std::string>(),
          json.at("callers").get<std::vector<std::string>>(),
          {json.at("tool_calls").get<uint64_t>()}};
}

SessionRecord Decode(const Json& json) {
  if (const int version = json.at("schema_version").get<int>(); version != kSchemaVersion) {
    throw Malformed{"schema_version " + std::to_string(version) + "; this version reads " +
                    std::to_string(kSchemaVersion)};
  }
  SessionRecord out;
  out.id = json.at("id").get<std::string>();
  const Json& bundle = json.at("bundle");
  out.bundle = {bundle.at("id").get<std::string>(), bundle.at("version").get<std::string>(),
                bundle.at("digest").get<std::string>(),
                bundle.value("namespace", package::kLocalNamespace)};
  out.agent_id = json.at("agent_id").get<std::string>();
  out.model_provider = json.at("model_provider").get<std::string>();
  out.model_id = json.at("model_id").get<std::string>();
  out.created_at = json.at("created_at").get<std::string>();
  out.cwd = json.at("cwd").get<std::string>();
  out.owner_uid = json.value("owner_uid", kNobody);
  out.allow_danger = json.value("allow_danger", false);
  out.review = json.value("review", false);
  out.reviews = json.value("reviews", out.review);
  out.forked_from = json.value("forked_from", "");
  if (json.contains("parent")) out.parent = DecodeParent(json.at("parent"));
  out.env = json.at("env").get<std::map<std::string, std::string>>();
  for (const auto& [source, value] : out.env) out.env_sources.insert(source);  // of an older file
  out.env_sources = json.value("env_sources", out.env_sources);
  out.cell_used = json.at("cell_used").get<bool>();
  out.staged = json.at("staged").get<bool>();
  for (const Json& turn : json.at("turns")) out.turns.push_back(DecodeTurn(turn));
  return out;
}

}  // namespace

bool IsOpen(TurnStatus status) {
  return status == TurnStatus::kQueued || status == TurnStatus::kRunning;
}

const TurnRecord* FindTurn(const SessionRecord& record, const std::string& turn_id) {
  for (const TurnRecord& turn : record.turns) {
    if (turn.id == turn_id) return &turn;
  }
  return nullptr;
}

TurnRecord* FindTurn(SessionRecord& record, const std::string& turn_id) {
  return const_cast<TurnRecord*>(FindTurn(std::as_const(record), turn_id));
}

std::vector<Message> HistoryOf(const SessionRecord& record) {
  std::vector<Message> out;
  for (const TurnRecord& turn : record.turns) {
    out.insert(out.end(), turn.history.begin(), turn.history.end());
  }
  return out;
}

std::string EncodeSession(const SessionRecord& record) {
  Json turns = Json::array();
  for (const TurnRecord& turn : record.turns) turns.push_back(EncodeTurn(turn));
  Json out = {{"schema_version", kSchemaVersion},
              {"id", record.id},
              {"bundle_ref", bundle::RefOf(record.bundle)},
              {"bundle",
               {{"namespace", record.bundle.ns},
                {"id", record.bundle.id},
                {"version", record.bundle.version},
                {"digest", record.bundle.digest}}},
              {"agent_id", record.agent_id},
              {"model_provider", record.model_provider},
              {"model_id", record.model_id},
              {"created_at", record.created_at},
              {"cwd", record.cwd},
              {"owner_uid", record.owner_uid},
              {"allow_danger", record.allow_danger},
              {"review", record.review},
              {"reviews", record.reviews},
              {"forked_from", record.forked_from},
              {"env_sources", record.env_sources},
              {"env", record.env},
              {"cell_used", record.cell_used},
              {"staged", record.staged},
              {"turns", std::move(turns)}};
  if (!record.parent.session_id.empty()) out["parent"] = EncodeParent(record.parent);
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<SessionRecord> DecodeSession(std::string_view text) {
  try {
    return Decode(Json::parse(text));
  } catch (const Json::exception& error) {
    return Status(Code::kDataLoss, error.what());
  } catch (const Malformed& error) {
    return Status(Code::kDataLoss, error.what);
  }
}

}  // namespace odyssey::session
