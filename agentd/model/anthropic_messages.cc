#include "agentd/model/anthropic_messages.h"

#include <map>
#include <utility>

#include "agentd/model/answer.h"

namespace odyssey::model {
namespace {

using Json = nlohmann::json;

constexpr char kProtocol[] = "anthropic";
constexpr long kDefaultMaxTokens = 8192;  // the protocol demands a number

Json ObjectOf(const std::string& text) {
  Json out = Json::parse(text, nullptr, false);
  return out.is_object() ? out : Json::object();
}

Json BlocksOf(const Message& message, const Json& replay) {
  if (message.kind == MessageKind::kToolResult) {
    return Json::array({{{"type", "tool_result"},
                         {"tool_use_id", message.tools.front().id},
                         {"content", message.tools.front().json}}});
  }
  Json out = replay.is_array() ? replay : Json::array();
  if (!message.content.empty()) out.push_back({{"type", "text"}, {"text", message.content}});
  for (const ToolUse& call : message.tools) {
    out.push_back({{"type", "tool_use"},
                   {"id", call.id},
                   {"name", call.name},
                   {"input", ObjectOf(call.json)}});
  }
  return out;
}

Json Encode(const ModelTarget& target, const ModelRequest& request) {
  Json messages = Json::array();
  const size_t turn = LatestTurnStart(request.messages);
  for (size_t i = 0; i < request.messages.size(); ++i) {
    const Message& message = request.messages[i];
    const bool user =
        message.kind == MessageKind::kUser || message.kind == MessageKind::kToolResult;
    const Json blocks = BlocksOf(message, i < turn ? Json() : ReadReplay(kProtocol, message));
    const char* role = user ? "user" : "assistant";
    // Results of parallel calls are blocks of one message.
    if (messages.empty() || messages.back()["role"] != role) {
      messages.push_back({{"role", role}, {"content", Json::array()}});
    }
    Json& content = messages.back()["content"];
    content.insert(content.end(), blocks.begin(), blocks.end());
  }
  const long budget = target.config.Integer("reasoning_budget_tokens", 0);
  Json body = {{"model", target.model},
               {"stream", true},
               {"max_tokens", target.config.Integer("max_tokens", kDefaultMaxTokens + budget)},
               {"messages", std::move(messages)}};
  if (!request.system.empty()) body["system"] = request.system;
  if (budget > 0) body["thinking"] = {{"type", "enabled"}, {"budget_tokens", budget}};
  for (const ToolSpec& tool : request.tools) {
    body["tools"].push_back({{"name", tool.name},
                             {"description", tool.description},
                             {"input_schema", Json::parse(tool.parameters_json, nullptr, false)}});
  }
  if (!request.tools.empty() && target.config.Json("enable_parallel_tool_use") == "false") {
    body["tool_choice"] = {{"type", "auto"}, {"disable_parallel_tool_use", true}};
  }
  CopyConfig(target.config,
             {{"temperature", "temperature"}, {"top_p", "top_p"}, {"top_k", "top_k"}}, &body);
  return body;
}

std::string Path(const ModelTarget&) { return "/messages"; }

class AnthropicDecoder final : public StreamDecoder {
 public:
  Status Push(std::string_view data, const ModelSink& sink) override;
  Status Finish(const ModelSink& sink) override;

 private:
  Status StartBlock(const Json& index, const Json& block, const ModelSink& sink);
  Status PushDelta(const Json& index, const Json& delta, const ModelSink& sink);
  Status PushWhole(const Json& message, const ModelSink& sink);
  void SetUsage(const Json& usage);

  Answer answer_{kProtocol};
  std::map<int64_t, size_t> calls_;  // by the block's index
  std::map<int64_t, Json> thinking_;
};

int64_t IndexOf(const Json& index) { return index.is_number_integer() ? index.get<int64_t>() : 0; }

void AnthropicDecoder::SetUsage(const Json& usage) {
  if (!usage.is_object()) return;
  agent::v1::Usage& out = answer_.usage();
  const uint64_t cached = CountOf(usage, "cache_read_input_tokens");
  const uint64_t input =
      CountOf(usage, "input_tokens") + cached + CountOf(usage, "cache_creation_input_tokens");
  if (input != 0) out.set_input_tokens(input);
  if (cached != 0) out.set_cached_input_tokens(cached);
  out.set_output_tokens(CountOf(usage, "output_tokens"));
}

Status AnthropicDecoder::Push(std::string_view data, const ModelSink& sink) {
  if (data.empty()) return OkStatus();
  const Json event = Json::parse(data, nullptr, false);
  if (!event.is_object()) {
    return Internal("model stream: not a JSON object: " + QuoteForError(data.substr(0, 200)));
  }
  const std::string type = StringOf(event, "type");
  if (!MemberOf(event, "error").is_null()) return ProviderError(MemberOf(event, "error"));
  if (type == "error") return ProviderError(event);
  if (type == "message_start") {
    SetUsage(MemberOf(MemberOf(event, "message"), "usage"));
  } else if (type == "content_block_start") {
    return StartBlock(MemberOf(event, "index"), MemberOf(event, "content_block"), sink);
  } else if (type == "content_block_delta") {
    return PushDelta(MemberOf(event, "index"), MemberOf(event, "delta"), sink);
  } else if (type == "message_delta") {
    SetUsage(MemberOf(event, "usage"));
    answer_.End(StringOf(MemberOf(event, "delta"), "stop_reason"));
  } else if (type == "message_stop") {
    answer_.EndUnnamed();
  } else if (type == "message") {
    return PushWhole(event, sink);
  } else if (type != "content_block_stop" && type != "ping") {
    answer_.SkipUnknown(data);
  }
  return OkStatus();
}

Status AnthropicDecoder::StartBlock(const Json& index, const Json& block, const ModelSink& sink) {
  const std::string type = StringOf(block, "type");
  if (type == "text") return answer_.AddText(StringOf(block, "text"), sink);
  if (type == "thinking" || type == "redacted_thinking") {
    thinking_[IndexOf(index)] = block;
    return answer_.AddReasoning(StringOf(block, "thinking"), sink);
  }
  if (type != "tool_use") return OkStatus();
  const Json& input = MemberOf(block, "input");
  const bool whole = input.is_object() && !input.empty();
  ODY_RETURN_IF_ERROR(answer_
                          .AddCall({StringOf(block, "id"), StringOf(block, "name"),
                                    whole ? input.dump() : std::string()})
                          .status());
  calls_[IndexOf(index)] = answer_.calls().size() - 1;
  return OkStatus();
}

void Append(Json& block, const char* key, const std::string& text) {
  block[key] = StringOf(block, key) + text;
}

Status AnthropicDecoder::PushDelta(const Json& index, const Json& delta, const ModelSink& sink) {
  const std::string type = StringOf(delta, "type");
  if (type == "text_delta") return answer_.AddText(StringOf(delta, "text"), sink);
  if (type == "thinking_delta" || type == "signature_delta") {
    const char* key = type == "thinking_delta" ? "thinking" : "signature";
    const auto block = thinking_.emplace(IndexOf(index), Json{{"type", "thinking"}}).first;
    const std::string text = StringOf(delta, key);
    Append(block->second, key, text);
    return type == "thinking_delta" ? answer_.AddReasoning(text, sink) : OkStatus();
  }
  if (type != "input_json_delta") return OkStatus();
  const auto call = calls_.find(IndexOf(index));
  if (call == calls_.end()) return Internal("model stream: arguments of no tool call");
  ToolUse& use = answer_.calls()[call->second];
  use.json += StringOf(delta, "partial_json");
  return answer_.CheckSize(use);
}

Status AnthropicDecoder::PushWhole(const Json& message, const ModelSink& sink) {
  SetUsage(MemberOf(message, "usage"));
  int64_t index = 0;
  const Json& content = MemberOf(message, "content");
  if (content.is_array()) {
    for (const Json& block : content) ODY_RETURN_IF_ERROR(StartBlock(index++, block, sink));
  }
  answer_.End(StringOf(message, "stop_reason"));
  return OkStatus();
}

Status AnthropicDecoder::Finish(const ModelSink& sink) {
  for (const auto& [index, block] : thinking_) {
    // A block without its signature is refused by the provider.
    const char* proof = StringOf(block, "type") == "thinking" ? "signature" : "data";
    if (!StringOf(block, proof).empty()) answer_.replay().push_back(block);
  }
  return answer_.Finish(sink);
}

std::unique_ptr<StreamDecoder> NewDecoder() { return std::make_unique<AnthropicDecoder>(); }

}  // namespace

const ProtocolCodec kAnthropicCodec = {&Path, &Encode, &NewDecoder};

}  // namespace odyssey::model
