#ifndef ODYSSEY_AGENTD_MODEL_CHAT_COMPLETIONS_H_
#define ODYSSEY_AGENTD_MODEL_CHAT_COMPLETIONS_H_

// The JSON of OpenAI-compatible chat completions: the request's body, and the pieces of a streamed
// answer. Pure.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "agentd/model/model_client.h"

namespace odyssey::model {

// `model.config` of an agent.
struct ChatOptions {
  std::optional<double> temperature;
  std::optional<double> top_p;
  std::optional<uint32_t> max_tokens;
  std::string reasoning_effort;  // "", "low", "medium" or "high"
  uint32_t timeout_seconds = 600;
};

// `config_json` is JSON text ("null": nothing set). INVALID_ARGUMENT names the key, the value and
// what is allowed. Keys and addresses are the operator's, not the bundle's: api_key and base_url
// are refused and the message says where they belong.
Result<ChatOptions> ParseChatOptions(const std::string& config_json);

std::string EncodeChatRequest(const std::string& model, const ChatOptions& options,
                              const ModelRequest& request);

// Reads the `data` of each event of one streamed answer.
class ChatStreamDecoder final {
 public:
  // UNAVAILABLE: the provider reports an error. INTERNAL: it is not a chat completion chunk.
  Status Push(std::string_view data, const ModelSink& sink);

  // The stream has ended: delivers the tool calls, whose arguments are complete only now.
  // UNAVAILABLE if the answer was cut off.
  Status Finish(const ModelSink& sink);

 private:
  bool finished_ = false;
  std::map<int64_t, ToolUse> calls_;  // by the provider's index
};

}  // namespace odyssey::model

#endif  // ODYSSEY_AGENTD_MODEL_CHAT_COMPLETIONS_H_
