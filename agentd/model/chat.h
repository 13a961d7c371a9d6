#ifndef ODYSSEY_AGENTD_MODEL_CHAT_H_
#define ODYSSEY_AGENTD_MODEL_CHAT_H_

// A conversation, as sessions keep it and models read it. Values.

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace odyssey::model {

// One tool call, or the result of one under the same id.
struct ToolUse {
  std::string id;
  std::string name;
  std::string json;  // the arguments, or the result
  friend bool operator==(const ToolUse&, const ToolUse&) = default;
};

enum class MessageKind {
  kUser,        // `content`
  kAssistant,   // `content`
  kToolUse,     // the assistant calls tools: `tools`, and what it said with them in `content`
  kToolResult,  // one element in `tools`
};

// How records, clients and session files write a kind.
struct MessageKindName {
  MessageKind kind;
  const char* role;
  const char* name;
};
inline constexpr std::array<MessageKindName, 4> kMessageKinds = {
    {{MessageKind::kUser, "user", "text"},
     {MessageKind::kAssistant, "assistant", "text"},
     {MessageKind::kToolUse, "assistant", "tool_use"},
     {MessageKind::kToolResult, "tool", "tool_result"}}};
static_assert(kMessageKinds[3].kind == MessageKind::kToolResult, "a kind is its index");
constexpr const MessageKindName& NameOf(MessageKind kind) {
  return kMessageKinds[static_cast<size_t>(kind)];
}

struct Message {
  MessageKind kind = MessageKind::kUser;
  std::string content;
  std::vector<ToolUse> tools;
  // Of the assistant's: what the provider wants back with the turn's next request, such as signed
  // reasoning. JSON of the protocol that wrote it (answer.h); empty: nothing.
  std::string replay = {};
  friend bool operator==(const Message&, const Message&) = default;
};

}  // namespace odyssey::model

#endif  // ODYSSEY_AGENTD_MODEL_CHAT_H_
