#ifndef ODYSSEY_AGENTD_MODEL_MODEL_CLIENT_H_
#define ODYSSEY_AGENTD_MODEL_MODEL_CLIENT_H_

// The seam to language models: one call, answered as a stream of pieces.

#include <functional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "agentd/model/chat.h"
#include "common/base/status.h"

namespace odyssey::model {

struct ToolSpec {
  std::string name;
  std::string description;
  std::string parameters_json;  // a JSON schema
  friend bool operator==(const ToolSpec&, const ToolSpec&) = default;
};

struct ModelRequest {
  std::string system;
  // Ends with the user's message of this turn and what followed it.
  std::vector<Message> messages;
  std::vector<ToolSpec> tools;
};

struct TextDelta {
  std::string text;
  friend bool operator==(const TextDelta&, const TextDelta&) = default;
};
struct ReasoningDelta {
  std::string text;
  friend bool operator==(const ReasoningDelta&, const ReasoningDelta&) = default;
};
// A ToolUse is complete: its arguments are as the model wrote them, perhaps not JSON.
using ModelEvent = std::variant<TextDelta, ReasoningDelta, ToolUse>;

// Takes one piece of the answer; an error ends the call with that error.
using ModelSink = std::function<Status(ModelEvent)>;

class ModelClient {
 public:
  virtual ~ModelClient() = default;
  // Blocks until the answer is complete. CANCELLED soon after `stop` is requested. What the sink
  // got before an error stays said. Thread-safe: sessions share a client.
  virtual Status Stream(const ModelRequest& request, const ModelSink& sink,
                        std::stop_token stop) = 0;
};

}  // namespace odyssey::model

#endif  // ODYSSEY_AGENTD_MODEL_MODEL_CLIENT_H_
