#ifndef ODYSSEY_COMMON_BASE_UTF8_H_
#define ODYSSEY_COMMON_BASE_UTF8_H_

// UTF-8 in bytes that may be cut anywhere or be no text at all: output of commands, contents and
// names of files, words of models. What protocols call a string must be valid. Pure.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace odyssey {

enum class Utf8Kind {
  kCharacter,
  kInvalid,  // the first byte belongs to no character
  kCut,      // the beginning of a character that goes on past the end
};

struct Utf8First {
  Utf8Kind kind = Utf8Kind::kInvalid;
  size_t length = 1;  // of the character, or of what there is of it
  uint32_t code = 0;  // with kCharacter
};

// What stands at the beginning of `text`, which is not empty. Overlong forms, surrogates and what
// is above U+10FFFF are invalid.
Utf8First DecodeUtf8(std::string_view text);

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

}  // namespace odyssey

#endif  // ODYSSEY_COMMON_BASE_UTF8_H_
