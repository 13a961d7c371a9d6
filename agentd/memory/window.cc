#include "agentd/memory/window.h"

namespace odyssey::memory {

std::vector<model::Message> Window(const std::vector<model::Message>& history,
                                   size_t max_messages) {
  if (max_messages == 0) return {};
  size_t begin = history.size();
  for (size_t i = history.size(); i-- > 0;) {
    if (history[i].kind != model::MessageKind::kUser) continue;
    if (begin < history.size() && history.size() - i > max_messages) break;
    begin = i;
  }
  return {history.begin() + static_cast<ptrdiff_t>(begin), history.end()};
}

}  // namespace odyssey::memory
