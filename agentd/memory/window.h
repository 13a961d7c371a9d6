#ifndef ODYSSEY_AGENTD_MEMORY_WINDOW_H_
#define ODYSSEY_AGENTD_MEMORY_WINDOW_H_

// The sliding window: the latest exchanges of a session. An exchange is a user's message and
// everything up to the next one. Pure.

#include <cstddef>
#include <vector>

#include "agentd/model/chat.h"

namespace odyssey::memory {

// As many whole exchanges from the end of `history` as have at most `max_messages` messages
// together. The latest exchange is kept even if it alone has more: half of it would make no sense
// to a model. `max_messages` 0: nothing.
std::vector<model::Message> Window(const std::vector<model::Message>& history, size_t max_messages);

}  // namespace odyssey::memory

#endif  // ODYSSEY_AGENTD_MEMORY_WINDOW_H_
