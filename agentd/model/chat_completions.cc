#include "agentd/model/chat_completions.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "common/base/refusal.h"

namespace odyssey::model {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxCalls = 128;                       // tool calls of one answer
constexpr size_t kMaxArgumentBytes = 16 * 1024 * 1024;  // of one call

Status BadOption(const std::string& key, const Json& value, const std::string& allowed) {
  return Refused(Code::kInvalidArgument, "model.config." + key, "",
                 value.dump() + "; allowed: " + allowed, allowed);
}

Status SetNumber(const std::string& key, const Json& value, double low, double high,
                 std::optional<double>* out) {
  const bool in_range =
      value.is_number() && value.get<double>() >= low && value.get<double>() <= high;
  if (!in_range) {
    return BadOption(key, value, "a number from " + Json(low).dump() + " to " + Json(high).dump());
  }
  *out = value.get<double>();
  return OkStatus();
}

Result<uint32_t> Integer(const std::string& key, const Json& value, uint32_t low, uint32_t high) {
  if (!value.is_number_integer() || value < Json(low) || value > Json(high)) {
    return BadOption(key, value,
                     "an integer from " + std::to_string(low) + " to " + std::to_string(high));
  }
  return value.get<uint32_t>();
}

Status SetOption(const std::string& key, const Json& value, ChatOptions* out) {
  if (key == "temperature") return SetNumber(key, value, 0, 2, &out->temperature);
  if (key == "top_p") return SetNumber(key, value, 0, 1, &out->top_p);
  if (key == "max_tokens") {
    ODY_ASSIGN_OR_RETURN(out->max_tokens, Integer(key, value, 1, 10'000'000));
    return OkStatus();
  }
  if (key == "timeout_seconds") {
    ODY_ASSIGN_OR_RETURN(out->timeout_seconds, Integer(key, value, 1, 3600));
    return OkStatus();
  }
  if (key == "reasoning_effort") {
    if (value != "low" && value != "medium" && value != "high") {
      return BadOption(key, value, "low, medium, high");
    }
    out->reasoning_effort = value.get<std::string>();
    return OkStatus();
  }
  if (key == "api_key" || key == "base_url") {
    return Refused(Code::kInvalidArgument, "model.config." + key, "",
                   "not a bundle's to set; the operator gives odyssey-agentd --model-key-file and "
                   "--model-base-url");
  }
  return Refused(Code::kInvalidArgument, "model.config", "",
                 "unknown key \"" + key +
                     "\"; allowed: max_tokens, reasoning_effort, temperature, timeout_seconds, "
                     "top_p");
}

Json ToolCalls(const std::vector<ToolUse>& tools) {
  Json out = Json::array();
  for (const ToolUse& tool : tools) {
    out.push_back({{"id", tool.id},
                   {"type", "function"},
                   {"function", {{"name", tool.name}, {"arguments", tool.json}}}});
  }
  return out;
}

Json ToChatMessage(const Message& message) {
  switch (message.kind) {
    case MessageKind::kUser:
      return {{"role", "user"}, {"content", message.content}};
    case MessageKind::kAssistant:
      return {{"role", "assistant"}, {"content", message.content}};
    case MessageKind::kToolUse:
      return {{"role", "assistant"},
              {"content", message.content.empty() ? Json(nullptr) : Json(message.content)},
              {"tool_calls", ToolCalls(message.tools)}};
    case MessageKind::kToolResult:
      return {{"role", "tool"},
              {"tool_call_id", message.tools.front().id},
              {"content", message.tools.front().json}};
  }
  return {};
}

std::string StringOf(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

Status AddCallPiece(const Json& piece, std::map<int64_t, ToolUse>* calls) {
  if (!piece.is_object()) return Internal("model stream: a tool call is not an object");
  const auto index = piece.find("index");
  const bool numbered = index != piece.end() && index->is_number_integer();
  // Providers that send each call whole leave the index out.
  ToolUse& call = (*calls)[numbered ? index->get<int64_t>() : static_cast<int64_t>(calls->size())];
  if (calls->size() > kMaxCalls) {
    return ResourceExhausted("model stream: more than " + std::to_string(kMaxCalls) +
                             " tool calls");
  }
  if (call.id.empty()) call.id = StringOf(piece, "id");
  const auto function = piece.find("function");
  if (function == piece.end() || !function->is_object()) return OkStatus();
  call.name += StringOf(*function, "name");
  call.json += StringOf(*function, "arguments");
  if (call.json.size() > kMaxArgumentBytes) {
    return ResourceExhausted("model stream: arguments of a tool call are larger than " +
                             std::to_string(kMaxArgumentBytes) + " bytes");
  }
  return OkStatus();
}

Status ProviderError(const Json& error) {
  const std::string message = error.is_object() ? StringOf(error, "message") : error.dump();
  return Unavailable("model provider reports: " + (message.empty() ? error.dump() : message));
}

}  // namespace

Result<ChatOptions> ParseChatOptions(const std::string& config_json) {
  ChatOptions out;
  const Json config = Json::parse(config_json, nullptr, false);
  if (config.is_null()) return out;
  if (!config.is_object()) {
    return Refused(Code::kInvalidArgument, "model.config", "",
                   config_json + "; allowed: a mapping");
  }
  for (const auto& [key, value] : config.items()) ODY_RETURN_IF_ERROR(SetOption(key, value, &out));
  return out;
}

std::string EncodeChatRequest(const std::string& model, const ChatOptions& options,
                              const ModelRequest& request) {
  Json messages = Json::array();
  if (!request.system.empty())
    messages.push_back({{"role", "system"}, {"content", request.system}});
  for (const Message& message : request.messages) messages.push_back(ToChatMessage(message));

  Json body = {{"model", model}, {"stream", true}, {"messages", std::move(messages)}};
  for (const ToolSpec& tool : request.tools) {
    body["tools"].push_back(
        {{"type", "function"},
         {"function",
          {{"name", tool.name},
           {"description", tool.description},
           {"parameters", Json::parse(tool.parameters_json, nullptr, false)}}}});
  }
  if (options.temperature) body["temperature"] = *options.temperature;
  if (options.top_p) body["top_p"] = *options.top_p;
  if (options.max_tokens) body["max_tokens"] = *options.max_tokens;
  if (!options.reasoning_effort.empty()) body["reasoning_effort"] = options.reasoning_effort;
  return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Status ChatStreamDecoder::Push(std::string_view data, const ModelSink& sink) {
  if (data == "[DONE]") {
    finished_ = true;
    return OkStatus();
  }
  const Json chunk = Json::parse(data, nullptr, false);
  if (!chunk.is_object()) {
    return Internal("model stream: not a JSON object: " + std::string(data.substr(0, 200)));
  }
  if (const auto error = chunk.find("error"); error != chunk.end() && !error->is_null()) {
    return ProviderError(*error);
  }
  const auto choices = chunk.find("choices");
  // A chunk without choices reports usage.
  if (choices == chunk.end() || !choices->is_array() || choices->empty()) return OkStatus();
  const Json& choice = choices->front();
  if (!choice.is_object()) return Internal("model stream: a choice is not an object");
  if (!StringOf(choice, "finish_reason").empty()) finished_ = true;
  const auto delta = choice.find("delta");
  if (delta == choice.end() || !delta->is_object()) return OkStatus();

  for (const char* key : {"reasoning_content", "reasoning"}) {
    std::string text = StringOf(*delta, key);
    if (!text.empty()) ODY_RETURN_IF_ERROR(sink(ReasoningDelta{std::move(text)}));
  }
  std::string text = StringOf(*delta, "content");
  if (!text.empty()) ODY_RETURN_IF_ERROR(sink(TextDelta{std::move(text)}));
  const auto calls = delta->find("tool_calls");
  if (calls == delta->end() || !calls->is_array()) return OkStatus();
  for (const Json& piece : *calls) ODY_RETURN_IF_ERROR(AddCallPiece(piece, &calls_));
  return OkStatus();
}

Status ChatStreamDecoder::Finish(const ModelSink& sink) {
  if (!finished_) return Unavailable("model provider ended its answer before it was complete");
  for (auto& [index, call] : std::exchange(calls_, {})) {
    ODY_RETURN_IF_ERROR(sink(std::move(call)));
  }
  return OkStatus();
}

}  // namespace odyssey::model
