#include "supervisor/cell_tools/text.h"

#include <string.h>

#include <algorithm>

namespace odyssey::cell_tools {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

enum class Character { kValid, kInvalid, kIncomplete };

struct Decoded {
  Character kind = Character::kInvalid;
  size_t length = 1;
};

// The range of the second byte: narrower after some lead bytes, so that overlong forms, surrogates
// and what is above U+10FFFF are invalid (Unicode 15, table 3-7).
bool SecondByteFits(unsigned char lead, unsigned char second) {
  switch (lead) {
    case 0xE0:
      return second >= 0xA0 && second <= 0xBF;
    case 0xED:
      return second >= 0x80 && second <= 0x9F;
    case 0xF0:
      return second >= 0x90 && second <= 0xBF;
    case 0xF4:
      return second >= 0x80 && second <= 0x8F;
    default:
      return second >= 0x80 && second <= 0xBF;
  }
}

// The character at the start of `bytes`, which is not empty.
Decoded DecodeFirst(std::string_view bytes) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char lead = at(0);
  if (lead < 0x80) return {Character::kValid, 1};
  if (lead < 0xC2 || lead > 0xF4) return {};
  const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  for (size_t i = 1; i < length; ++i) {
    if (i == bytes.size()) return {Character::kIncomplete, i};
    if (i == 1 ? !SecondByteFits(lead, at(1)) : (at(i) & 0xC0) != 0x80) return {};
  }
  return {Character::kValid, length};
}

// Offset of the first `needle` at or after `from`; npos if there is none. memmem, because
// string_view::find takes quadratic time on inputs made for it.
size_t Find(std::string_view text, std::string_view needle, size_t from) {
  const void* hit = memmem(text.data() + from, text.size() - from, needle.data(), needle.size());
  if (hit == nullptr) return std::string_view::npos;
  return static_cast<size_t>(static_cast<const char*>(hit) - text.data());
}

}  // namespace

size_t LengthAtCharacterBoundary(std::string_view bytes) {
  for (size_t i = 0; i < bytes.size();) {
    const Decoded character = DecodeFirst(bytes.substr(i));
    if (character.kind == Character::kInvalid || bytes[i] == '\0') return bytes.size();
    if (character.kind == Character::kIncomplete) return i > 0 ? i : bytes.size();
    i += character.length;
  }
  return bytes.size();
}

std::string ReplaceInvalidUtf8(std::string_view bytes) {
  std::string out;
  for (size_t i = 0; i < bytes.size();) {
    const Decoded character = DecodeFirst(bytes.substr(i));
    if (character.kind == Character::kValid) {
      out += bytes.substr(i, character.length);
      i += character.length;
    } else {
      out += kReplacement;
      ++i;
    }
  }
  return out;
}

uint32_t CountOccurrences(std::string_view text, std::string_view needle) {
  uint32_t count = 0;
  size_t first = std::string_view::npos;
  for (size_t at = Find(text, needle, 0); at != std::string_view::npos;
       at = Find(text, needle, at + needle.size())) {
    if (count++ == 0) first = at;
  }
  if (count == 1 && Find(text, needle, first + 1) != std::string_view::npos) return 2;
  return count;
}

std::string ReplaceAll(std::string_view text, std::string_view needle,
                       std::string_view replacement) {
  std::string out;
  size_t from = 0;
  for (size_t at = Find(text, needle, 0); at != std::string_view::npos;
       at = Find(text, needle, from)) {
    out += text.substr(from, at - from);
    out += replacement;
    from = at + needle.size();
  }
  out += text.substr(from);
  return out;
}

}  // namespace odyssey::cell_tools
