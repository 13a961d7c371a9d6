#include "agentd/memory/window.h"

#include <algorithm>
#include <string>

#include "agentd/base/json_text.h"
#include "common/base/utf8.h"

namespace odyssey::memory {
namespace {

using model::Message;
using model::MessageKind;

// A result of at most about `most` bytes.
std::string Shortened(const std::string& result, size_t most) {
  const size_t kept = CompleteUtf8Prefix(std::string_view(result).substr(0, most));
  return R"({"beginning":)" + agent::JsonString(result.substr(0, kept)) + R"(,"note":")" +
         std::to_string(result.size() - kept) + " of " + std::to_string(result.size()) +
         R"( bytes are left out: the result is of an earlier turn, and too long"})";
}

std::vector<Message> WithShortResults(std::vector<Message> messages, size_t most) {
  for (Message& message : messages) {
    if (message.kind != MessageKind::kToolResult) continue;
    for (model::ToolUse& result : message.tools) {
      if (result.json.size() > most) result.json = Shortened(result.json, most);
    }
  }
  return messages;
}

size_t LongestResult(const std::vector<Message>& messages) {
  size_t longest = 0;
  for (const Message& message : messages) {
    if (message.kind != MessageKind::kToolResult) continue;
    for (const model::ToolUse& result : message.tools) {
      longest = std::max(longest, result.json.size());
    }
  }
  return longest;
}

}  // namespace

size_t WindowBegin(const std::vector<Message>& history, const WindowBounds& bounds) {
  size_t begin = history.size();
  if (bounds.messages == 0) return begin;
  uint64_t tokens = 0;
  for (size_t i = history.size(); i-- > 0;) {
    if (bounds.tokens != 0) tokens += EstimateTokens(history[i]);
    if (history[i].kind != MessageKind::kUser) continue;
    const bool fits = history.size() - i <= bounds.messages &&
                      (bounds.tokens == 0 || bounds.scale.Correct(tokens) <= bounds.tokens);
    if (begin < history.size() && !fits) break;
    begin = i;
  }
  return begin;
}

std::vector<Message> WindowFrom(const std::vector<Message>& history, size_t begin,
                                const WindowBounds& bounds) {
  const std::vector<Message> whole(history.begin() + static_cast<ptrdiff_t>(begin), history.end());
  const auto fits = [&](const std::vector<Message>& messages) {
    return bounds.tokens == 0 || bounds.scale.Correct(EstimateTokens(messages)) <= bounds.tokens;
  };
  std::vector<Message> out = whole;
  for (size_t most = LongestResult(whole); !fits(out) && most > kShortestResultBytes;) {
    most = std::max(most / 2, kShortestResultBytes);
    out = WithShortResults(whole, most);
  }
  return out;
}

std::vector<Message> Window(const std::vector<Message>& history, const WindowBounds& bounds) {
  return WindowFrom(history, WindowBegin(history, bounds), bounds);
}

}  // namespace odyssey::memory
