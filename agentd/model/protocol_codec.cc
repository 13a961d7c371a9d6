#include "agentd/model/protocol_codec.h"

#include <algorithm>

#include "agentd/model/anthropic_messages.h"
#include "agentd/model/chat_completions.h"
#include "agentd/model/gemini_content.h"
#include "agentd/model/openai_responses.h"

namespace odyssey::model {

using Json = nlohmann::json;

const ProtocolCodec& CodecOf(provider::Protocol protocol) {
  switch (protocol) {
    case provider::kResponses:
      return kResponsesCodec;
    case provider::kAnthropic:
      return kAnthropicCodec;
    case provider::kGemini:
      return kGeminiCodec;
    default:
      return kChatCodec;
  }
}

namespace {

ModelTarget WithAnswerBound(ModelTarget target, uint64_t most) {
  const long reasoning = target.config.Integer("reasoning_budget_tokens", 0);
  const long own = target.config.Integer("max_tokens", kEveryModelWrites + reasoning);
  if (most == 0 || most >= static_cast<uint64_t>(own)) return target;
  const long bound = std::max(static_cast<long>(most), reasoning + 1);
  target.config.values["max_tokens"] = std::to_string(bound);
  return target;
}

}  // namespace

std::string EncodeBody(const ProtocolCodec& codec, const ModelTarget& target,
                       const ModelRequest& request) {
  Json body = codec.encode(WithAnswerBound(target, request.max_answer_tokens), request);
  const Json extra = Json::parse(target.config.Json("extra_body"));
  if (extra.is_object()) body.update(extra);
  return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string EscapeSegment(std::string_view text) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~";
  constexpr char kHex[] = "0123456789ABCDEF";
  if (text == "." || text == "..") return text == "." ? "%2E" : "%2E%2E";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (kPlain.find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

void CopyConfig(const provider::ModelConfig& config,
                std::initializer_list<std::pair<const char*, std::string_view>> fields,
                Json* body) {
  for (const auto& [key, field] : fields) {
    if (config.Has(key)) (*body)[std::string(field)] = Json::parse(config.Json(key));
  }
}

}  // namespace odyssey::model
