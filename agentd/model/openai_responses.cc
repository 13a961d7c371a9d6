#include "agentd/model/openai_responses.h"

#include <set>
#include <utility>

#include "agentd/model/answer.h"

namespace odyssey::model {
namespace {

using Json = nlohmann::json;

constexpr char kProtocol[] = "responses";

// The input items of one message.
void AddItems(const Message& message, const Json& replay, Json* input) {
  if (replay.is_array()) input->insert(input->end(), replay.begin(), replay.end());
  if (message.kind == MessageKind::kToolResult) {
    input->push_back({{"type", "function_call_output"},
                      {"call_id", message.tools.front().id},
                      {"output", message.tools.front().json}});
    return;
  }
  if (!message.content.empty()) {
    input->push_back({{"role", message.kind == MessageKind::kUser ? "user" : "assistant"},
                      {"content", message.content}});
  }
  for (const ToolUse& call : message.tools) {
    input->push_back({{"type", "function_call"},
                      {"call_id", call.id},
                      {"name", call.name},
                      {"arguments", call.json}});
  }
}

Json Encode(const ModelTarget& target, const ModelRequest& request) {
  Json input = Json::array();
  const size_t turn = LatestTurnStart(request.messages);
  for (size_t i = 0; i < request.messages.size(); ++i) {
    const Json replay = i < turn ? Json() : ReadReplay(kProtocol, request.messages[i]);
    AddItems(request.messages[i], replay, &input);
  }
  Json body = {
      {"model", target.model}, {"stream", true}, {"store", false}, {"input", std::move(input)}};
  if (!request.system.empty()) body["instructions"] = request.system;
  for (const ToolSpec& tool : request.tools) {
    body["tools"].push_back({{"type", "function"},
                             {"name", tool.name},
                             {"description", tool.description},
                             {"strict", false},
                             {"parameters", Json::parse(tool.parameters_json, nullptr, false)}});
  }
  CopyConfig(target.config,
             {{"temperature", "temperature"},
              {"top_p", "top_p"},
              {"max_tokens", "max_output_tokens"},
              {"enable_parallel_tool_use", "parallel_tool_calls"}},
             &body);
  // Only reasoning models take these two.
  if (target.config.Has("reasoning_effort")) {
    body["reasoning"] = {{"effort", target.config.Text("reasoning_effort")}, {"summary", "auto"}};
    body["include"] = Json::array({"reasoning.encrypted_content"});
  }
  return body;
}

std::string Path(const ModelTarget&) { return "/responses"; }

class ResponsesDecoder final : public StreamDecoder {
 public:
  Status Push(std::string_view data, const ModelSink& sink) override;
  Status Finish(const ModelSink& sink) override { return answer_.Finish(sink); }

 private:
  Status PushItem(const Json& item, const ModelSink& sink);
  Status PushContent(const Json& content, const ModelSink& sink);
  Status EndWith(const Json& response, const ModelSink& sink);

  Answer answer_{kProtocol};
  std::set<std::string> items_;  // ids of the calls and reasoning items that have arrived
};

Status ResponsesDecoder::Push(std::string_view data, const ModelSink& sink) {
  if (data.empty() || data == "[DONE]") return OkStatus();
  const Json event = Json::parse(data, nullptr, false);
  if (!event.is_object()) {
    return Internal("model stream: not a JSON object: " + QuoteForError(data.substr(0, 200)));
  }
  const std::string type = StringOf(event, "type");
  if (type == "error" || !MemberOf(event, "error").is_null()) {
    const Json& error = MemberOf(event, "error");
    return ProviderError(error.is_null() ? event : error);
  }
  if (StringOf(event, "object") == "response") return EndWith(event, sink);
  if (type == "response.output_text.delta") return answer_.AddText(StringOf(event, "delta"), sink);
  if (type == "response.refusal.delta") {
    answer_.Refuse();
    return answer_.AddText(StringOf(event, "delta"), sink);
  }
  if (type == "response.reasoning_summary_text.delta" || type == "response.reasoning_text.delta") {
    return answer_.AddReasoning(StringOf(event, "delta"), sink);
  }
  if (type == "response.output_item.done") return PushItem(MemberOf(event, "item"), sink);
  if (type == "response.completed" || type == "response.incomplete" || type == "response.failed") {
    return EndWith(MemberOf(event, "response"), sink);
  }
  answer_.SkipUnknown(data);
  return OkStatus();
}

// An item that is complete. Text has arrived in pieces before, unless the answer was not streamed.
Status ResponsesDecoder::PushItem(const Json& item, const ModelSink& sink) {
  const std::string type = StringOf(item, "type");
  if (type == "message") {
    return answer_.has_text() ? OkStatus() : PushContent(MemberOf(item, "content"), sink);
  }
  const bool call = type == "function_call";
  if (!call && type != "reasoning") return OkStatus();
  std::string id = StringOf(item, call ? "call_id" : "id");
  if (id.empty()) id = StringOf(item, "id");
  if (!id.empty() && !items_.insert(id).second) return OkStatus();
  if (call) {
    const Json& arguments = MemberOf(item, "arguments");
    return answer_
        .AddCall({id, StringOf(item, "name"),
                  arguments.is_string() ? arguments.get<std::string>() : arguments.dump()})
        .status();
  }
  // Without its encrypted content an item that was not stored means nothing to the provider.
  if (StringOf(item, "encrypted_content").empty()) return OkStatus();
  Json kept = item;
  kept.erase("status");
  answer_.replay().push_back(std::move(kept));
  return OkStatus();
}

Status ResponsesDecoder::PushContent(const Json& content, const ModelSink& sink) {
  if (!content.is_array()) return OkStatus();
  for (const Json& part : content) {
    ODY_RETURN_IF_ERROR(answer_.AddText(StringOf(part, "text"), sink));
    const std::string refusal = StringOf(part, "refusal");
    if (!refusal.empty()) answer_.Refuse();
    ODY_RETURN_IF_ERROR(answer_.AddText(refusal, sink));
  }
  return OkStatus();
}

Status ResponsesDecoder::EndWith(const Json& response, const ModelSink& sink) {
  const Json& error = MemberOf(response, "error");
  if (!error.is_null()) return ProviderError(error);
  const Json& output = MemberOf(response, "output");
  if (output.is_array()) {
    for (const Json& item : output) ODY_RETURN_IF_ERROR(PushItem(item, sink));
  }
  const Json& usage = MemberOf(response, "usage");
  answer_.usage().set_input_tokens(CountOf(usage, "input_tokens"));
  answer_.usage().set_output_tokens(CountOf(usage, "output_tokens"));
  answer_.usage().set_cached_input_tokens(
      CountOf(MemberOf(usage, "input_tokens_details"), "cached_tokens"));
  answer_.usage().set_reasoning_tokens(
      CountOf(MemberOf(usage, "output_tokens_details"), "reasoning_tokens"));
  const std::string why = StringOf(MemberOf(response, "incomplete_details"), "reason");
  const std::string status = StringOf(response, "status");
  answer_.End(why.empty() ? status : why);
  return OkStatus();
}

std::unique_ptr<StreamDecoder> NewDecoder() { return std::make_unique<ResponsesDecoder>(); }

}  // namespace

const ProtocolCodec kResponsesCodec = {&Path, &Encode, &NewDecoder};

}  // namespace odyssey::model
