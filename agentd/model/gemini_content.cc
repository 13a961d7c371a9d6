#include "agentd/model/gemini_content.h"

#include <utility>

#include "agentd/model/answer.h"

namespace odyssey::model {
namespace {

using Json = nlohmann::json;

constexpr char kProtocol[] = "gemini";

Json ObjectOf(const std::string& text) {
  Json out = Json::parse(text, nullptr, false);
  return out.is_object() ? out : Json{{"output", text}};
}

Json PartsOf(const Message& message, const Json& replay) {
  if (message.kind == MessageKind::kToolResult) {
    const ToolUse& result = message.tools.front();
    return Json::array(
        {{{"functionResponse", {{"name", result.name}, {"response", ObjectOf(result.json)}}}}});
  }
  Json out = Json::array();
  if (!message.content.empty()) {
    out.push_back({{"text", message.content}});
    const std::string signature = StringOf(replay, "text");
    if (!signature.empty()) out.back()["thoughtSignature"] = signature;
  }
  const Json& signatures = MemberOf(replay, "calls");
  for (size_t i = 0; i < message.tools.size(); ++i) {
    const ToolUse& call = message.tools[i];
    out.push_back({{"functionCall", {{"name", call.name}, {"args", ObjectOf(call.json)}}}});
    if (signatures.is_array() && i < signatures.size() && signatures[i] != "") {
      out.back()["thoughtSignature"] = signatures[i];
    }
  }
  return out;
}

Json Encode(const ModelTarget& target, const ModelRequest& request) {
  Json contents = Json::array();
  const size_t turn = LatestTurnStart(request.messages);
  for (size_t i = 0; i < request.messages.size(); ++i) {
    const Message& message = request.messages[i];
    const bool user =
        message.kind == MessageKind::kUser || message.kind == MessageKind::kToolResult;
    const char* role = user ? "user" : "model";
    const Json parts = PartsOf(message, i < turn ? Json() : ReadReplay(kProtocol, message));
    // Results of parallel calls are parts of one content.
    if (contents.empty() || contents.back()["role"] != role) {
      contents.push_back({{"role", role}, {"parts", Json::array()}});
    }
    Json& all = contents.back()["parts"];
    all.insert(all.end(), parts.begin(), parts.end());
  }
  Json body = {{"contents", std::move(contents)}};
  if (!request.system.empty()) body["systemInstruction"]["parts"] = {{{"text", request.system}}};
  Json functions = Json::array();
  for (const ToolSpec& tool : request.tools) {
    functions.push_back(
        {{"name", tool.name},
         {"description", tool.description},
         {"parametersJsonSchema", Json::parse(tool.parameters_json, nullptr, false)}});
  }
  if (!functions.empty()) body["tools"].push_back({{"functionDeclarations", functions}});
  Json generation = Json::object();
  CopyConfig(target.config,
             {{"temperature", "temperature"},
              {"top_p", "topP"},
              {"top_k", "topK"},
              {"max_tokens", "maxOutputTokens"}},
             &generation);
  if (target.config.Has("reasoning_budget_tokens")) {
    const long budget = target.config.Integer("reasoning_budget_tokens", 0);
    generation["thinkingConfig"] = {{"thinkingBudget", budget}, {"includeThoughts", budget > 0}};
  }
  if (!generation.empty()) body["generationConfig"] = std::move(generation);
  return body;
}

std::string Path(const ModelTarget& target) {
  return "/models/" + EscapeSegment(target.model) + ":streamGenerateContent?alt=sse";
}

class GeminiDecoder final : public StreamDecoder {
 public:
  Status Push(std::string_view data, const ModelSink& sink) override;
  Status Finish(const ModelSink& sink) override;

 private:
  Status PushPart(const Json& part, const ModelSink& sink);
  void SetUsage(const Json& usage);

  Answer answer_{kProtocol};
  std::string text_signature_;
  Json call_signatures_ = Json::array();
  bool signed_ = false;
};

void GeminiDecoder::SetUsage(const Json& usage) {
  if (!usage.is_object()) return;
  agent::v1::Usage& out = answer_.usage();
  const uint64_t thoughts = CountOf(usage, "thoughtsTokenCount");
  out.set_input_tokens(CountOf(usage, "promptTokenCount"));
  out.set_output_tokens(CountOf(usage, "candidatesTokenCount") + thoughts);
  out.set_cached_input_tokens(CountOf(usage, "cachedContentTokenCount"));
  out.set_reasoning_tokens(thoughts);
}

Status GeminiDecoder::Push(std::string_view data, const ModelSink& sink) {
  if (data.empty()) return OkStatus();
  const Json chunk = Json::parse(data, nullptr, false);
  if (!chunk.is_object()) {
    return Internal("model stream: not a JSON object: " + QuoteForError(data.substr(0, 200)));
  }
  if (!MemberOf(chunk, "error").is_null()) return ProviderError(MemberOf(chunk, "error"));
  SetUsage(MemberOf(chunk, "usageMetadata"));
  const Json& feedback = MemberOf(chunk, "promptFeedback");
  if (const std::string block = StringOf(feedback, "blockReason"); !block.empty()) {
    const std::string words = StringOf(feedback, "blockReasonMessage");
    answer_.End("content_filter", words.empty() ? block : words);
  }
  const Json& candidates = MemberOf(chunk, "candidates");
  if (!candidates.is_array() || candidates.empty()) {
    if (feedback.is_null() && MemberOf(chunk, "usageMetadata").is_null()) answer_.SkipUnknown(data);
    return OkStatus();
  }
  const Json& candidate = candidates.front();
  const Json& parts = MemberOf(MemberOf(candidate, "content"), "parts");
  if (parts.is_array()) {
    for (const Json& part : parts) ODY_RETURN_IF_ERROR(PushPart(part, sink));
  }
  answer_.End(StringOf(candidate, "finishReason"), StringOf(candidate, "finishMessage"));
  return OkStatus();
}

Status GeminiDecoder::PushPart(const Json& part, const ModelSink& sink) {
  const std::string signature = StringOf(part, "thoughtSignature");
  const Json& call = MemberOf(part, "functionCall");
  if (!signature.empty()) signed_ = true;
  if (call.is_object()) {
    const Json& args = MemberOf(call, "args");
    call_signatures_.push_back(signature);
    return answer_
        .AddCall(
            {StringOf(call, "id"), StringOf(call, "name"),
             args.is_null() ? "{}" : args.dump(-1, ' ', false, Json::error_handler_t::replace)})
        .status();
  }
  if (MemberOf(part, "thought") == true) return answer_.AddReasoning(StringOf(part, "text"), sink);
  if (!signature.empty()) text_signature_ = signature;
  return answer_.AddText(StringOf(part, "text"), sink);
}

Status GeminiDecoder::Finish(const ModelSink& sink) {
  if (signed_) answer_.replay() = {{"text", text_signature_}, {"calls", call_signatures_}};
  return answer_.Finish(sink);
}

std::unique_ptr<StreamDecoder> NewDecoder() { return std::make_unique<GeminiDecoder>(); }

}  // namespace

const ProtocolCodec kGeminiCodec = {&Path, &Encode, &NewDecoder};

}  // namespace odyssey::model
