#ifndef ODYSSEY_AGENTD_BASE_UTF8_H_
#define ODYSSEY_AGENTD_BASE_UTF8_H_

// UTF-8 from commands and files, which may be cut anywhere or not be UTF-8 at all. Events and
// protocol strings must be valid.

#include <string>
#include <string_view>

namespace odyssey::agent {

bool IsValidUtf8(std::string_view text);

// Bytes of `text` without a character that is cut off at its end (at most 3 bytes less).
size_t CompleteUtf8Prefix(std::string_view text);

// Every byte that is not part of valid UTF-8 becomes U+FFFD.
std::string SanitizeUtf8(std::string_view text);

// Makes valid text of a byte stream: a character that two pieces share is delivered whole with the
// second one.
class Utf8Stream final {
 public:
  // Valid UTF-8; possibly empty.
  std::string Push(std::string_view bytes);
  // Whether a character is cut off at the end of what was pushed.
  bool incomplete() const { return !held_.empty(); }

 private:
  std::string held_;  // the beginning of a character, at most 3 bytes
};

}  // namespace odyssey::agent

#endif  // ODYSSEY_AGENTD_BASE_UTF8_H_
