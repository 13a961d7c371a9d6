#ifndef ODYSSEY_COMMON_BASE_JOIN_H_
#define ODYSSEY_COMMON_BASE_JOIN_H_

// Words as one text, with something between them.

#include <string>
#include <string_view>
#include <vector>

namespace odyssey {

inline std::string Join(const std::vector<std::string>& words, std::string_view between) {
  std::string out;
  for (const std::string& word : words) {
    if (&word != &words.front()) out += between;
    out += word;
  }
  return out;
}

}  // namespace odyssey

#endif  // ODYSSEY_COMMON_BASE_JOIN_H_
