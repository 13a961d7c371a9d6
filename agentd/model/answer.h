#ifndef ODYSSEY_AGENTD_MODEL_ANSWER_H_
#define ODYSSEY_AGENTD_MODEL_ANSWER_H_

// One answer of a provider while it is read, whatever its protocol. Pure.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "agentd/model/model_client.h"

namespace odyssey::model {

inline constexpr size_t kMaxCalls = 128;                       // tool calls of one answer
inline constexpr size_t kMaxArgumentBytes = 16 * 1024 * 1024;  // of one call

// The beginning of what a provider sent, for an error: valid UTF-8 on one line, at most 2 KiB.
std::string QuoteForError(std::string_view bytes);

// The member of that name; "" if it is none or no string.
std::string StringOf(const nlohmann::json& object, const char* key);
// The member of that name; null if there is none, or `object` is no object.
const nlohmann::json& MemberOf(const nlohmann::json& object, const char* key);
uint64_t CountOf(const nlohmann::json& object, const char* key);

// UNAVAILABLE with the provider's words: `error` is its error object or text.
Status ProviderError(const nlohmann::json& error);

// Message::replay of `value`, and back: null if `message` has none of that protocol.
std::string WriteReplay(std::string_view protocol, const nlohmann::json& value);
nlohmann::json ReadReplay(std::string_view protocol, const Message& message);

// The index of the first message of the latest turn: replays of earlier turns are not sent.
size_t LatestTurnStart(const std::vector<Message>& messages);

class Answer final {
 public:
  explicit Answer(std::string_view protocol) : protocol_(protocol) {}

  // Empty text is none.
  Status AddText(std::string text, const ModelSink& sink);
  Status AddReasoning(std::string text, const ModelSink& sink);
  // RESOURCE_EXHAUSTED: too many, or too large. The reference is valid until the next call of it.
  Result<ToolUse*> AddCall(ToolUse call);
  Status CheckSize(const ToolUse& call) const;

  // `word` is the provider's, such as "max_tokens"; `words` explain it, or are empty.
  void End(std::string_view word, std::string_view words = "");
  // The stream's mark of its end, without a reason.
  void EndUnnamed() { ended_ = true; }
  void Refuse() { refused_ = true; }
  // An event that the protocol does not know: skipped, and quoted if nothing else arrives.
  void SkipUnknown(std::string_view data);

  agent::v1::Usage& usage() { return usage_; }
  nlohmann::json& replay() { return replay_; }
  std::vector<ToolUse>& calls() { return calls_; }
  bool has_text() const { return has_text_; }

  // Delivers the calls, whose arguments are complete only now, and the end. UNAVAILABLE: the answer
  // was cut off, holds nothing, or ended in an error.
  Status Finish(const ModelSink& sink);

 private:
  const std::string_view protocol_;
  std::vector<ToolUse> calls_;
  agent::v1::Usage usage_;
  nlohmann::json replay_;
  bool ended_ = false, failed_ = false, refused_ = false, has_text_ = false, has_reasoning_ = false;
  bool named_ = false;  // the provider gave a reason
  agent::v1::EndReason reason_ = agent::v1::END_REASON_STOP;
  std::string words_;
  std::string unknown_;
};

}  // namespace odyssey::model

#endif  // ODYSSEY_AGENTD_MODEL_ANSWER_H_
