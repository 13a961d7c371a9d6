#include "agentd/model/chat_completions.h"

#include <map>
#include <optional>
#include <utility>

#include "agentd/model/answer.h"

namespace odyssey::model {
namespace {

using Json = nlohmann::json;

constexpr char kProtocol[] = "chat";

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

Json Encode(const ModelTarget& target, const ModelRequest& request) {
  Json messages = Json::array();
  if (!request.system.empty()) {
    messages.push_back({{"role", "system"}, {"content", request.system}});
  }
  const size_t turn = LatestTurnStart(request.messages);
  for (size_t i = 0; i < request.messages.size(); ++i) {
    Json message = ToChatMessage(request.messages[i]);
    const Json replay = i < turn ? Json() : ReadReplay(kProtocol, request.messages[i]);
    if (replay.is_object()) message.update(replay);
    messages.push_back(std::move(message));
  }
  Json body = {{"model", target.model},
               {"stream", true},
               {"stream_options", {{"include_usage", true}}},
               {"messages", std::move(messages)}};
  for (const ToolSpec& tool : request.tools) {
    body["tools"].push_back(
        {{"type", "function"},
         {"function",
          {{"name", tool.name},
           {"description", tool.description},
           {"parameters", Json::parse(tool.parameters_json, nullptr, false)}}}});
  }
  CopyConfig(target.config,
             {{"temperature", "temperature"},
              {"top_p", "top_p"},
              {"max_tokens", target.provider->max_tokens_field},
              {"reasoning_effort", "reasoning_effort"}},
             &body);
  if (!request.tools.empty()) {
    CopyConfig(target.config, {{"enable_parallel_tool_use", "parallel_tool_calls"}}, &body);
  }
  return body;
}

std::string Path(const ModelTarget& target) {
  if (!target.provider->azure) return "/chat/completions";
  const std::string deployment = target.config.Text("deployment_id");
  const std::string version = target.config.Text("api_version");
  return "/openai/deployments/" + EscapeSegment(deployment.empty() ? target.model : deployment) +
         "/chat/completions?api-version=" + (version.empty() ? "2024-10-21" : version);
}

// Text of `content`: a string, or an array of parts.
std::string TextOf(const Json& content) {
  if (content.is_string()) return content.get<std::string>();
  std::string out;
  if (!content.is_array()) return out;
  for (const Json& part : content) {
    out += part.is_string() ? part.get<std::string>() : StringOf(part, "text");
  }
  return out;
}

std::string ReasoningOf(const Json& delta) {
  for (const char* key : {"reasoning_content", "reasoning"}) {
    std::string text = StringOf(delta, key);
    if (!text.empty()) return text;
  }
  std::string out;
  const Json& content = MemberOf(delta, "content");
  if (!content.is_array()) return out;
  for (const Json& part : content) out += TextOf(MemberOf(part, "thinking"));
  return out;
}

bool IsWholeObject(std::string_view text) {
  return !text.empty() && text.front() == '{' && text.back() == '}' && Json::accept(text);
}

// Adds a piece of the arguments to what has arrived. Some servers send them whole once more.
void AddArguments(const Json& piece, std::string* out) {
  if (piece.is_object()) {
    *out = piece.dump(-1, ' ', false, Json::error_handler_t::replace);
    return;
  }
  if (!piece.is_string()) return;
  const auto text = piece.get<std::string>();
  const bool again = IsWholeObject(*out) && (IsWholeObject(text) || *out == "{}");
  if (again && !text.empty()) out->clear();
  *out += text;
}

// What a provider reports instead of choices; null: nothing.
Json ErrorOf(const Json& chunk) {
  if (const Json& error = MemberOf(chunk, "error"); !error.is_null()) return error;
  if (const Json& choices = MemberOf(chunk, "choices"); choices.is_array() && !choices.empty()) {
    return {};
  }
  const Json& status = MemberOf(chunk, "base_resp");
  const Json& code = MemberOf(status, "status_code");
  if (code.is_number() && code != 0) return StringOf(status, "status_msg");
  for (const char* key : {"error_message", "error_msg", "detail"}) {
    std::string text = StringOf(chunk, key);
    if (!text.empty()) return text;
  }
  return {};
}

class ChatDecoder final : public StreamDecoder {
 public:
  Status Push(std::string_view data, const ModelSink& sink) override;
  Status Finish(const ModelSink& sink) override {
    if (!reasoning_content_.empty()) answer_.replay()["reasoning_content"] = reasoning_content_;
    if (!details_.empty()) answer_.replay()["reasoning_details"] = details_;
    return answer_.Finish(sink);
  }

 private:
  Status PushDelta(const Json& delta, const ModelSink& sink);
  Status PushCall(const Json& piece);
  Result<size_t> FindCall(const std::string& id, const std::string& name, const Json& index);
  void SetUsage(const Json& usage);

  Answer answer_{kProtocol};
  std::map<int64_t, size_t> by_index_;  // the latest call that has the provider's index
  std::string reasoning_content_;
  Json details_ = Json::array();
};

void ChatDecoder::SetUsage(const Json& usage) {
  if (!usage.is_object()) return;
  agent::v1::Usage& out = answer_.usage();
  out.set_input_tokens(CountOf(usage, "prompt_tokens"));
  out.set_output_tokens(CountOf(usage, "completion_tokens"));
  out.set_cached_input_tokens(CountOf(MemberOf(usage, "prompt_tokens_details"), "cached_tokens"));
  out.set_reasoning_tokens(
      CountOf(MemberOf(usage, "completion_tokens_details"), "reasoning_tokens"));
}

Status ChatDecoder::Push(std::string_view data, const ModelSink& sink) {
  if (data.empty()) return OkStatus();
  if (data == "[DONE]") {
    answer_.EndUnnamed();
    return OkStatus();
  }
  const Json chunk = Json::parse(data, nullptr, false);
  if (!chunk.is_object()) {
    return Internal("model stream: not a JSON object: " + QuoteForError(data.substr(0, 200)));
  }
  if (const Json error = ErrorOf(chunk); !error.is_null()) return ProviderError(error);
  SetUsage(MemberOf(chunk, "usage"));
  const Json& choices = MemberOf(chunk, "choices");
  if (!choices.is_array() || choices.empty()) {
    if (!MemberOf(chunk, "usage").is_object()) answer_.SkipUnknown(data);
    return OkStatus();
  }
  const Json& choice = choices.front();
  if (!choice.is_object()) return Internal("model stream: a choice is not an object");
  // A whole completion has "message" where a chunk has "delta".
  for (const char* key : {"delta", "message"}) {
    const Json& delta = MemberOf(choice, key);
    if (delta.is_object()) ODY_RETURN_IF_ERROR(PushDelta(delta, sink));
  }
  const std::string finish = StringOf(choice, "finish_reason");
  answer_.End(finish, StringOf(MemberOf(choice, "error"), "message"));
  if (finish == "error") answer_.SkipUnknown(data);
  return OkStatus();
}

Status ChatDecoder::PushDelta(const Json& delta, const ModelSink& sink) {
  reasoning_content_ += StringOf(delta, "reasoning_content");
  const Json& details = MemberOf(delta, "reasoning_details");
  if (details.is_array()) details_.insert(details_.end(), details.begin(), details.end());
  ODY_RETURN_IF_ERROR(answer_.AddReasoning(ReasoningOf(delta), sink));
  ODY_RETURN_IF_ERROR(answer_.AddText(TextOf(MemberOf(delta, "content")), sink));
  if (std::string refusal = StringOf(delta, "refusal"); !refusal.empty()) {
    answer_.Refuse();
    ODY_RETURN_IF_ERROR(answer_.AddText(std::move(refusal), sink));
  }
  const Json& calls = MemberOf(delta, "tool_calls");
  if (!calls.is_array()) return OkStatus();
  for (const Json& piece : calls) ODY_RETURN_IF_ERROR(PushCall(piece));
  return OkStatus();
}

// The call that a piece belongs to; a new one if it begins one. An id decides, then the index; two
// calls may have one index, and pieces may have neither.
Result<size_t> ChatDecoder::FindCall(const std::string& id, const std::string& name,
                                     const Json& index) {
  std::vector<ToolUse>& calls = answer_.calls();
  for (size_t i = 0; !id.empty() && i < calls.size(); ++i) {
    if (calls[i].id == id) return i;
  }
  std::optional<size_t> found;
  if (index.is_number_integer()) {
    const auto it = by_index_.find(index.get<int64_t>());
    if (it != by_index_.end()) found = it->second;
  } else if (!calls.empty()) {
    const ToolUse& last = calls.back();
    const bool goes_on = name.empty() || (name == last.name && !IsWholeObject(last.json));
    if (goes_on) found = calls.size() - 1;
  }
  if (found && (id.empty() || calls[*found].id.empty())) return *found;
  ODY_RETURN_IF_ERROR(answer_.AddCall({id, "", ""}).status());
  if (index.is_number_integer()) by_index_[index.get<int64_t>()] = calls.size() - 1;
  return calls.size() - 1;
}

Status ChatDecoder::PushCall(const Json& piece) {
  if (!piece.is_object()) return Internal("model stream: a tool call is not an object");
  const Json& function = MemberOf(piece, "function");
  const std::string name = StringOf(function, "name");
  ODY_ASSIGN_OR_RETURN(const size_t position,
                       FindCall(StringOf(piece, "id"), name, MemberOf(piece, "index")));
  ToolUse& call = answer_.calls()[position];
  if (call.id.empty()) call.id = StringOf(piece, "id");
  if (name != call.name) call.name += name;  // some servers repeat the whole name
  AddArguments(MemberOf(function, "arguments"), &call.json);
  return answer_.CheckSize(call);
}

std::unique_ptr<StreamDecoder> NewDecoder() { return std::make_unique<ChatDecoder>(); }

}  // namespace

const ProtocolCodec kChatCodec = {&Path, &Encode, &NewDecoder};

}  // namespace odyssey::model
