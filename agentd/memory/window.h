#ifndef ODYSSEY_AGENTD_MEMORY_WINDOW_H_
#define ODYSSEY_AGENTD_MEMORY_WINDOW_H_

// The sliding window: the latest exchanges of a session. An exchange is a user's message and
// everything up to the next one. Pure.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "agentd/memory/tokens.h"
#include "agentd/model/chat.h"

namespace odyssey::memory {

struct WindowBounds {
  size_t messages = 0;  // 0: nothing is in the window
  uint64_t tokens = 0;  // 0: no bound
  TokenScale scale;
};

// Of a result that was shortened.
inline constexpr size_t kShortestResultBytes = 256;

// Where the window begins in `history`: as many whole exchanges from the end as keep both bounds
// together. The latest exchange is in it even if it alone exceeds them: half of it would make no
// sense to a model.
size_t WindowBegin(const std::vector<model::Message>& history, const WindowBounds& bounds);

// The messages from `begin` on, an exchange's first. Where these have more tokens than allowed, the
// largest results of tools are shortened, each to kShortestResultBytes at the least, with a note of
// what is left out. Messages, calls and their order stay.
std::vector<model::Message> WindowFrom(const std::vector<model::Message>& history, size_t begin,
                                       const WindowBounds& bounds);

// Both.
std::vector<model::Message> Window(const std::vector<model::Message>& history,
                                   const WindowBounds& bounds);

}  // namespace odyssey::memory

#endif  // ODYSSEY_AGENTD_MEMORY_WINDOW_H_
