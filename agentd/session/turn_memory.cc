#include "agentd/session/turn_memory.h"

#include <utility>

namespace odyssey::session {
namespace {

using model::Message;

bool IsBlank(const std::string& text) {
  return text.find_first_not_of(" \t\r\n") == std::string::npos;
}

std::string Describe(const TurnMemory& memory, size_t messages, const memory::TokenScale& scale) {
  std::string out = std::to_string(memory.window.size()) + " of " + std::to_string(messages) +
                    " messages, about " +
                    std::to_string(scale.Correct(memory::EstimateTokens(memory.window))) +
                    " tokens";
  if (!memory.summary.text.empty()) {
    out += std::string(memory.summarised ? ", a new" : ", a") + " summary of " +
           std::to_string(memory.summary.messages) + " messages";
  }
  return out;
}

}  // namespace

TurnMemory BuildMemory(const SessionRecord& record, const dialect::MemorySpec& spec,
                       const AskModel& ask) {
  const memory::TokenScale scale = LatestScale(record);
  const memory::WindowBounds bounds = {spec.max_window, spec.max_tokens, scale};
  const std::vector<Message> history = HistoryOf(record);
  TurnMemory out;
  if (spec.kind == dialect::MemoryKind::kSlidingWindow) {
    out.window = memory::Window(history, bounds);
    out.detail = Describe(out, history.size(), scale);
    return out;
  }
  out.summary = LatestSummary(record);
  memory::WindowPlan plan = memory::PlanWindow(history, out.summary, bounds);
  std::string failure;
  if (plan.summarise_to != 0) {
    const Result<std::string> text = ask(memory::SummaryRequest(
        history, plan.summarise_to, out.summary, spec.summary_tokens, bounds));
    if (text.ok() && !IsBlank(*text)) {
      out.summary = {plan.summarise_to, memory::CutToTokens(*text, spec.summary_tokens, scale)};
      out.summarised = true;
      plan.begin = plan.summarise_to;
    } else {
      failure =
          "; summary failed: " + (text.ok() ? "the model wrote none" : text.status().message());
    }
  }
  out.window = memory::WindowFrom(history, plan.begin, bounds);
  out.detail = Describe(out, history.size(), scale) + failure;
  return out;
}

memory::Summary LatestSummary(const SessionRecord& record) {
  for (auto turn = record.turns.rbegin(); turn != record.turns.rend(); ++turn) {
    if (turn->summary.messages != 0) return turn->summary;
  }
  return {};
}

memory::TokenScale LatestScale(const SessionRecord& record) {
  for (auto turn = record.turns.rbegin(); turn != record.turns.rend(); ++turn) {
    if (turn->token_permille != 0) return memory::TokenScale(turn->token_permille);
  }
  return {};
}

}  // namespace odyssey::session
