#include "agentd/memory/summary.h"

#include <algorithm>
#include <deque>

#include "common/base/utf8.h"

namespace odyssey::memory {
namespace {

using model::Message;
using model::MessageKind;

constexpr size_t kMostTextBytes = 8 * 1024;    // of a message
constexpr size_t kMostResultBytes = 2 * 1024;  // of a tool's result
constexpr size_t kMostArgumentBytes = 1024;    // of a call
constexpr uint64_t kRoomForReasoning = 4096;   // tokens of an answer beside its text

constexpr char kPrompt[] =
    "Summarise the earlier messages, so that the conversation can go on without them. Keep what "
    "the user wants and has decided, what was done and found, the names of files and the values "
    "that are needed later, and what is open. Write the summary alone, in at most ";

std::string Beginning(const std::string& text, size_t most) {
  if (text.size() <= most) return text;
  const size_t kept = CompleteUtf8Prefix(std::string_view(text).substr(0, most));
  return text.substr(0, kept) + " … (" + std::to_string(text.size() - kept) + " bytes more)";
}

std::string TextOf(const Message& message) {
  const char* who = message.kind == MessageKind::kUser ? "user: " : "assistant: ";
  std::string out;
  if (!message.content.empty()) out += who + Beginning(message.content, kMostTextBytes) + "\n";
  for (const model::ToolUse& tool : message.tools) {
    const bool result = message.kind == MessageKind::kToolResult;
    out += (result ? "result of " : "call of ") + tool.name + ": " +
           Beginning(tool.json, result ? kMostResultBytes : kMostArgumentBytes) + "\n";
  }
  return out;
}

// The latest of the messages, as many as have at most `most` tokens.
std::string Transcript(const std::vector<Message>& history, size_t begin, size_t end,
                       uint64_t most) {
  std::deque<std::string> lines;
  uint64_t tokens = 0;
  for (; end > begin; --end) {
    std::string line = TextOf(history[end - 1]);
    tokens += EstimateTokens(line);
    if (tokens > most && !lines.empty()) break;
    lines.push_front(std::move(line));
  }
  std::string out;
  if (end > begin) out = "(" + std::to_string(end - begin) + " older messages are left out)\n";
  for (const std::string& line : lines) out += line;
  return out;
}

}  // namespace

WindowPlan PlanWindow(const std::vector<Message>& history, const Summary& summary,
                      const WindowBounds& bounds) {
  const size_t covered = std::min<size_t>(summary.messages, history.size());
  const size_t begin = WindowBegin(history, bounds);
  if (begin <= covered) return {covered, 0};
  WindowBounds half = bounds;
  half.messages = std::max<size_t>(bounds.messages / 2, 1);
  if (bounds.tokens != 0) half.tokens = std::max<uint64_t>(bounds.tokens / 2, 1);
  return {begin, WindowBegin(history, half)};
}

model::ModelRequest SummaryRequest(const std::vector<Message>& history, size_t end,
                                   const Summary& summary, uint64_t summary_tokens,
                                   const WindowBounds& bounds) {
  model::ModelRequest out;
  out.system = "You summarise conversations between a user and an agent that uses tools.";
  if (!summary.text.empty()) out.earlier = "summary of what was before:\n" + summary.text + "\n\n";
  const size_t begin = std::min<size_t>(summary.messages, end);
  out.earlier +=
      Transcript(history, begin, end, bounds.tokens != 0 ? bounds.tokens : kMostSummarised);
  // A word of prose has 1.3 to 1.7 tokens.
  const std::string words = std::to_string(std::max<uint64_t>(summary_tokens * 3 / 5, 20));
  out.messages.push_back({MessageKind::kUser, kPrompt + words + " words.", {}});
  out.max_answer_tokens = summary_tokens + kRoomForReasoning;
  return out;
}

std::string CutToTokens(const std::string& text, uint64_t tokens, const TokenScale& scale) {
  std::string out = text;
  while (!out.empty() && scale.Correct(EstimateTokens(out)) > tokens) {
    out.resize(CompleteUtf8Prefix(std::string_view(out).substr(0, out.size() * 9 / 10)));
  }
  return out;
}

}  // namespace odyssey::memory
