#include "agentd/model/answer.h"

#include <array>
#include <utility>

#include "common/base/utf8.h"

namespace odyssey::model {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxQuoteBytes = 2048;

enum class Kind { kStop, kToolCalls, kLength, kFilter, kRefusal, kError };

struct EndWord {
  std::string_view word;  // in lower case
  Kind kind;
};

// What providers call the end of an answer. Other words are END_REASON_UNSPECIFIED.
constexpr std::array<EndWord, 28> kEndWords = {{
    {"stop", Kind::kStop},
    {"end_turn", Kind::kStop},
    {"stop_sequence", Kind::kStop},
    {"eos", Kind::kStop},
    {"completed", Kind::kStop},
    {"tool_calls", Kind::kToolCalls},
    {"tool_use", Kind::kToolCalls},
    {"function_call", Kind::kToolCalls},
    {"length", Kind::kLength},
    {"max_tokens", Kind::kLength},
    {"max_output_tokens", Kind::kLength},
    {"model_length", Kind::kLength},
    {"model_context_window_exceeded", Kind::kLength},
    {"content_filter", Kind::kFilter},
    {"safety", Kind::kFilter},
    {"recitation", Kind::kFilter},
    {"language", Kind::kFilter},
    {"blocklist", Kind::kFilter},
    {"prohibited_content", Kind::kFilter},
    {"spii", Kind::kFilter},
    {"image_safety", Kind::kFilter},
    {"refusal", Kind::kRefusal},
    {"error", Kind::kError},
    {"failed", Kind::kError},
    {"cancelled", Kind::kError},
    {"malformed_function_call", Kind::kError},
    {"unexpected_tool_call", Kind::kError},
    {"insufficient_system_resource", Kind::kError},
}};

agent::v1::EndReason ReasonOf(Kind kind) {
  switch (kind) {
    case Kind::kStop:
      return agent::v1::END_REASON_STOP;
    case Kind::kToolCalls:
      return agent::v1::END_REASON_TOOL_CALLS;
    case Kind::kLength:
      return agent::v1::END_REASON_LENGTH;
    case Kind::kFilter:
      return agent::v1::END_REASON_FILTER;
    case Kind::kRefusal:
      return agent::v1::END_REASON_REFUSAL;
    case Kind::kError:
      break;
  }
  return agent::v1::END_REASON_UNSPECIFIED;
}

std::string Lower(std::string_view word) {
  std::string out(word);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

}  // namespace

std::string QuoteForError(std::string_view bytes) {
  std::string out = SanitizeUtf8(bytes.substr(0, kMaxQuoteBytes));
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return out;
}

const Json& MemberOf(const Json& object, const char* key) {
  static const Json kNull;
  if (!object.is_object()) return kNull;
  const auto it = object.find(key);
  return it == object.end() ? kNull : *it;
}

std::string StringOf(const Json& object, const char* key) {
  const Json& value = MemberOf(object, key);
  return value.is_string() ? value.get<std::string>() : "";
}

uint64_t CountOf(const Json& object, const char* key) {
  const Json& value = MemberOf(object, key);
  return value.is_number_unsigned() ? value.get<uint64_t>() : 0;
}

Status ProviderError(const Json& error) {
  std::string message = error.is_string() ? error.get<std::string>() : StringOf(error, "message");
  if (message.empty()) message = error.dump(-1, ' ', false, Json::error_handler_t::replace);
  return Unavailable("model provider reports: " + QuoteForError(message));
}

std::string WriteReplay(std::string_view protocol, const Json& value) {
  if (value.is_null() || value.empty()) return "";
  return Json{{"protocol", protocol}, {"value", value}}.dump(-1, ' ', false,
                                                             Json::error_handler_t::replace);
}

Json ReadReplay(std::string_view protocol, const Message& message) {
  const Json replay = Json::parse(message.replay, nullptr, false);
  return StringOf(replay, "protocol") == protocol ? MemberOf(replay, "value") : Json();
}

size_t LatestTurnStart(const std::vector<Message>& messages) {
  size_t start = messages.size();
  while (start > 0 && messages[start - 1].kind != MessageKind::kUser) --start;
  return start;
}

Status Answer::AddText(std::string text, const ModelSink& sink) {
  if (text.empty()) return OkStatus();
  has_text_ = true;
  return sink(TextDelta{std::move(text)});
}

Status Answer::AddReasoning(std::string text, const ModelSink& sink) {
  if (text.empty()) return OkStatus();
  has_reasoning_ = true;
  return sink(ReasoningDelta{std::move(text)});
}

Result<ToolUse*> Answer::AddCall(ToolUse call) {
  if (calls_.size() == kMaxCalls) {
    return ResourceExhausted("model stream: more than " + std::to_string(kMaxCalls) +
                             " tool calls");
  }
  ODY_RETURN_IF_ERROR(CheckSize(call));
  return &calls_.emplace_back(std::move(call));
}

Status Answer::CheckSize(const ToolUse& call) const {
  if (call.json.size() <= kMaxArgumentBytes) return OkStatus();
  return ResourceExhausted("model stream: arguments of a tool call are larger than " +
                           std::to_string(kMaxArgumentBytes) + " bytes");
}

void Answer::End(std::string_view word, std::string_view words) {
  if (word.empty()) return;
  ended_ = named_ = true;
  words_ = QuoteForError(words.empty() ? word : words);
  reason_ = agent::v1::END_REASON_UNSPECIFIED;
  for (const EndWord& known : kEndWords) {
    if (known.word != Lower(word)) continue;
    reason_ = ReasonOf(known.kind);
    failed_ = known.kind == Kind::kError;
  }
}

void Answer::SkipUnknown(std::string_view data) {
  if (unknown_.empty()) unknown_ = QuoteForError(data.substr(0, 300));
}

Status Answer::Finish(const ModelSink& sink) {
  if (failed_) return Unavailable("model provider ended its answer with an error: " + words_);
  const bool empty = !has_text_ && !has_reasoning_ && calls_.empty();
  if (empty && !named_) {
    return Unavailable("model provider sent no answer" +
                       (unknown_.empty() ? std::string() : "; it sent: " + unknown_));
  }
  if (!ended_) return Unavailable("model provider ended its answer before it was complete");
  if (refused_) reason_ = agent::v1::END_REASON_REFUSAL;
  for (ToolUse& call : std::exchange(calls_, {})) {
    if (call.json.empty()) call.json = "{}";
    ODY_RETURN_IF_ERROR(sink(std::move(call)));
  }
  const bool plain =
      reason_ == agent::v1::END_REASON_STOP || reason_ == agent::v1::END_REASON_TOOL_CALLS;
  return sink(ModelEnd{reason_, plain ? "" : words_, usage_, WriteReplay(protocol_, replay_)});
}

}  // namespace odyssey::model
