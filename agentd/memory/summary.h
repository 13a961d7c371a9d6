#ifndef ODYSSEY_AGENTD_MEMORY_SUMMARY_H_
#define ODYSSEY_AGENTD_MEMORY_SUMMARY_H_

// A summary in the place of the messages before the window. Pure.

#include <cstdint>
#include <string>
#include <vector>

#include "agentd/memory/tokens.h"
#include "agentd/memory/window.h"
#include "agentd/model/chat.h"
#include "agentd/model/model_client.h"

namespace odyssey::memory {

// Of the first `messages` messages of a history. It was written by a model that had read results of
// tools: as little to be obeyed as these. Empty text: there is none.
struct Summary {
  uint64_t messages = 0;
  std::string text;
  friend bool operator==(const Summary&, const Summary&) = default;
};

// Most tokens of the text that a summary is made of, where the window has no bound of its own.
inline constexpr uint64_t kMostSummarised = 60'000;

// What is to be done before a turn: `begin` is where the window begins. Where `summarise_to` is
// behind the summary, the messages up to it are to be summarised, and the window begins there if
// that succeeds.
struct WindowPlan {
  size_t begin = 0;
  size_t summarise_to = 0;  // 0: nothing
};

// When the messages behind the summary no longer fit the window, all but half a window of them is
// summarised, so that the next turns fit without another call.
WindowPlan PlanWindow(const std::vector<model::Message>& history, const Summary& summary,
                      const WindowBounds& bounds);

// Asks a model for the summary of the messages [summary.messages, end), which go on after
// `summary`. Long contents are shortened, and the oldest are left out beyond the bound on tokens.
model::ModelRequest SummaryRequest(const std::vector<model::Message>& history, size_t end,
                                   const Summary& summary, uint64_t summary_tokens,
                                   const WindowBounds& bounds);

// The beginning of the text that has at most so many tokens.
std::string CutToTokens(const std::string& text, uint64_t tokens, const TokenScale& scale);

}  // namespace odyssey::memory

#endif  // ODYSSEY_AGENTD_MEMORY_SUMMARY_H_
