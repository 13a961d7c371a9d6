#ifndef ODYSSEY_COMMON_BASE_CONTROL_H_
#define ODYSSEY_COMMON_BASE_CONTROL_H_

#include <algorithm>
#include <string>
#include <string_view>

namespace odyssey {

// Holds a control character of ASCII.
inline bool HasControl(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

// Takes line ends off the end.
inline void StripLineEnd(std::string* text) {
  while (!text->empty() && (text->back() == '\n' || text->back() == '\r')) text->pop_back();
}

}  // namespace odyssey

#endif  // ODYSSEY_COMMON_BASE_CONTROL_H_
