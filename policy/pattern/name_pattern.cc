#include "policy/pattern/name_pattern.h"

#include "common/base/utf8.h"

namespace odyssey::pattern {

// Goes back to the last star only: an earlier one could take no more than it has.
bool NameMatches(std::string_view name, std::string_view pattern) {
  size_t p = 0;
  size_t n = 0;
  size_t star = std::string_view::npos;
  size_t resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size() && pattern[p] == '?') {
      ++p;
      n += DecodeUtf8(name.substr(n)).length;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace odyssey::pattern
