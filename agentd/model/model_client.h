#ifndef ODYSSEY_AGENTD_MODEL_MODEL_CLIENT_H_
#define ODYSSEY_AGENTD_MODEL_MODEL_CLIENT_H_

// The seam to language models: one call, answered as a stream of pieces.

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "agentd/model/chat.h"
#include "common/base/status.h"
#include "odyssey/agent/v1/event.pb.h"

namespace odyssey::model {

struct ToolSpec {
  std::string name;
  std::string description;
  std::string parameters_json;  // a JSON schema
  friend bool operator==(const ToolSpec&, const ToolSpec&) = default;
};

struct ModelRequest {
  std::string system;
  // What stands for the messages before `messages`: a summary of them, or their text. Data, whose
  // instructions are not to be followed.
  std::string earlier = {};
  // Ends with the user's message of this turn and what followed it.
  std::vector<Message> messages;
  std::vector<ToolSpec> tools;
  // Of the answer, where the provider can be asked for it; 0: as many as the model may write.
  uint64_t max_answer_tokens = 0;
};

struct TextDelta {
  std::string text;
  friend bool operator==(const TextDelta&, const TextDelta&) = default;
};
struct ReasoningDelta {
  std::string text;
  friend bool operator==(const ReasoningDelta&, const ReasoningDelta&) = default;
};
// How the answer ended. The last event of an answer, where the provider reports it.
struct ModelEnd {
  agent::v1::EndReason reason = agent::v1::END_REASON_STOP;
  std::string words;       // the provider's own, valid UTF-8
  agent::v1::Usage usage;  // without a token: none was reported
  std::string replay;      // Message::replay
  friend bool operator==(const ModelEnd& a, const ModelEnd& b) {
    return a.reason == b.reason && a.words == b.words && a.replay == b.replay &&
           a.usage.SerializeAsString() == b.usage.SerializeAsString();
  }
};
// A ToolUse is complete: its arguments are as the model wrote them, perhaps not JSON.
using ModelEvent = std::variant<TextDelta, ReasoningDelta, ToolUse, ModelEnd>;

// Takes one piece of the answer; an error ends the call with that error.
using ModelSink = std::function<Status(ModelEvent)>;

class ModelClient {
 public:
  virtual ~ModelClient() = default;
  // Blocks until the answer is complete. CANCELLED soon after `stop` is requested. What the sink
  // got before an error stays said. Thread-safe: sessions share a client.
  virtual Status Stream(const ModelRequest& request, const ModelSink& sink,
                        std::stop_token stop) = 0;
  // The most tokens that the calls of one turn may use; 0: no bound.
  virtual uint64_t max_total_tokens() const { return 0; }
};

}  // namespace odyssey::model

#endif  // ODYSSEY_AGENTD_MODEL_MODEL_CLIENT_H_
