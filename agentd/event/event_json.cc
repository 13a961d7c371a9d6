#include "agentd/event/event_json.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "agentd/base/denial_json.h"

namespace odyssey::event {
namespace {

using Json = nlohmann::json;

// The fields of each payload, named once for both directions.
template <typename V>
void Fields(TurnStarted& e, V& v) {
  v("turn_id", e.turn_id), v("prompt", e.prompt), v("sandbox_mode", e.sandbox_mode);
}
template <typename V>
void Fields(TurnCompleted& e, V& v) {
  v("turn_id", e.turn_id), v("message", e.message);
}
template <typename V>
void Fields(TurnFailed& e, V& v) {
  v("turn_id", e.turn_id), v("message", e.message), v("interrupted", e.interrupted);
}
template <typename V>
void Fields(TurnCancelled& e, V& v) {
  v("turn_id", e.turn_id);
}
template <typename V>
void Fields(AgentMessageDelta& e, V& v) {
  v("turn_id", e.turn_id), v("delta", e.delta);
}
template <typename V>
void Fields(ReasoningDelta& e, V& v) {
  v("turn_id", e.turn_id), v("delta", e.delta);
}
template <typename V>
void Fields(ReasoningSectionBreak& e, V& v) {
  v("turn_id", e.turn_id);
}
template <typename V>
void Fields(ToolCallStarted& e, V& v) {
  v("turn_id", e.turn_id), v("tool_call_id", e.tool_call_id), v("tool_name", e.tool_name);
  v.Value("arguments", e.arguments_json);
}
template <typename V>
void Fields(ToolCallFinished& e, V& v) {
  v("turn_id", e.turn_id), v("tool_call_id", e.tool_call_id), v("tool_name", e.tool_name);
  v.Value("result", e.result_json), v("success", e.success);
}
template <typename V>
void Fields(ExecCommandBegin& e, V& v) {
  v("turn_id", e.turn_id), v("exec_id", e.exec_id), v("command", e.command), v("cwd", e.cwd);
}
template <typename V>
void Fields(ExecCommandOutputDelta& e, V& v) {
  v("turn_id", e.turn_id), v("exec_id", e.exec_id), v("stream", e.stream), v("delta", e.delta);
}
template <typename V>
void Fields(ExecCommandEnd& e, V& v) {
  v("turn_id", e.turn_id), v("exec_id", e.exec_id);
  v("exit_code", e.exit_code), v("outcome", e.outcome);
}
template <typename V>
void Fields(AccessDenied& e, V& v) {
  v("turn_id", e.turn_id), v("tool_call_id", e.tool_call_id), v("denial", e.denial);
}
template <typename V>
void Fields(WorkspaceChanged& e, V& v) {
  agent::ChangeCounts& counts = e.counts;
  v("turn_id", e.turn_id), v("added", counts.added), v("modified", counts.modified);
  v("deleted", counts.deleted), v("renamed", counts.renamed), v("other", counts.other);
  v("marked", counts.marked), v("conflicts", counts.conflicts);
}
template <typename V>
void Fields(SessionForked& e, V& v) {
  v("from_session_id", e.from_session_id), v("at_sequence", e.at_sequence), v("turns", e.turns);
}
template <typename V>
void Fields(PermissionRequested& e, V& v) {
  v("turn_id", e.turn_id), v("request_id", e.request_id), v("tool_name", e.tool_name);
  v("rule", e.rule), v.Value("arguments", e.arguments_json), v("cwd", e.cwd);
  v("scope", e.scope), v.Optional("diff", e.diff);
}
template <typename V>
void Fields(ApprovalResolved& e, V& v) {
  v("turn_id", e.turn_id), v("request_id", e.request_id);
  v("decision", e.decision), v("by_uid", e.by_uid);
}
template <typename V>
void Fields(Error& e, V& v) {
  v("turn_id", e.turn_id), v("message", e.message);
}

// In the order of Payload's alternatives.
constexpr std::array<std::string_view, std::variant_size_v<Payload>> kTypes = {
    "turn_started",
    "turn_completed",
    "turn_failed",
    "turn_cancelled",
    "agent_message_delta",
    "reasoning_delta",
    "reasoning_section_break",
    "tool_call_started",
    "tool_call_finished",
    "exec_command_begin",
    "exec_command_output_delta",
    "exec_command_end",
    "permission_requested",
    "approval_resolved",
    "error",
    "access_denied",
    "workspace_changed",
    "session_forked"};

struct Encoder {
  template <typename T>
  void operator()(const char* name, const T& value) {
    out[name] = value;
  }
  void Optional(const char* name, const std::string& value) {
    if (!value.empty()) out[name] = value;
  }
  void Value(const char* name, const std::string& text) {
    Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    out[name] = value.is_discarded() ? Json(text) : std::move(value);
  }
  Json out = Json::object();
};

// Exceptions of nlohmann::json end in DecodeEvent.
struct Decoder {
  template <typename T>
  void operator()(const char* name, T& value) {
    value = in.at(name).get<T>();
  }
  // Lines that were written before the field was there lack it.
  void Optional(const char* name, std::string& value) { value = in.value(name, std::string()); }
  void Value(const char* name, std::string& text) { text = in.at(name).dump(); }
  const Json& in;
};

template <size_t... I>
Payload EmptyPayload(size_t index, std::index_sequence<I...>) {
  Payload out;
  ((index == I ? void(out.emplace<I>()) : void()), ...);
  return out;
}

Result<Payload> DecodePayload(const Json& typed) {
  const std::string type = typed.at("type").get<std::string>();
  for (size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i] != type) continue;
    Payload out = EmptyPayload(i, std::make_index_sequence<std::variant_size_v<Payload>>());
    Decoder decoder{typed.at("payload")};
    std::visit([&](auto& e) { Fields(e, decoder); }, out);
    return out;
  }
  // In journals from before ADR 0037, whose sequence has no gaps. To be removed with the last of
  // them.
  if (type == "workspace_review") {
    return Payload(ReasoningSectionBreak{typed.at("payload").at("turn_id").get<std::string>()});
  }
  return Status(Code::kDataLoss, "event: unknown type \"" + type + "\"");
}

}  // namespace

std::string_view TypeName(const Payload& payload) { return kTypes[payload.index()]; }

std::string EncodeEvent(const Event& event) {
  Encoder encoder;
  Payload payload = event.payload;
  std::visit([&](auto& e) { Fields(e, encoder); }, payload);
  const Json line = {{"id", event.id},
                     {"session_id", event.session_id},
                     {"sequence", event.sequence},
                     {"created_at", event.created_at},
                     {"payload", {{"type", TypeName(payload)}, {"payload", encoder.out}}}};
  return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Event> DecodeEvent(std::string_view line) {
  try {
    const Json json = Json::parse(line);
    Event out;
    out.id = json.at("id").get<std::string>();
    out.session_id = json.at("session_id").get<std::string>();
    out.sequence = json.at("sequence").get<uint64_t>();
    out.created_at = json.at("created_at").get<std::string>();
    ODY_ASSIGN_OR_RETURN(out.payload, DecodePayload(json.at("payload")));
    return out;
  } catch (const Json::exception& error) {
    return Status(Code::kDataLoss, std::string("event: ") + error.what());
  }
}

}  // namespace odyssey::event
