#ifndef ODYSSEY_POLICY_EXPLAIN_WORDS_H_
#define ODYSSEY_POLICY_EXPLAIN_WORDS_H_

// Words in a text that a command wrote, or was given. Pure.

#include <algorithm>
#include <iterator>
#include <string_view>

namespace odyssey::explain {

inline bool IsWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// `word` in `text`, not as a part of a longer word.
inline bool HasWord(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const bool begins = at == 0 || !IsWordCharacter(text[at - 1]);
    const size_t end = at + word.size();
    if (begins && (end == text.size() || !IsWordCharacter(text[end]))) return true;
  }
  return false;
}

// By its name, without a directory.
inline bool IsShell(std::string_view program) {
  constexpr std::string_view kShells[] = {"sh", "bash", "dash", "ash", "zsh", "ksh"};
  return std::find(std::begin(kShells), std::end(kShells), program) != std::end(kShells);
}

}  // namespace odyssey::explain

#endif  // ODYSSEY_POLICY_EXPLAIN_WORDS_H_
