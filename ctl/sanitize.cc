#include "ctl/sanitize.h"

#include <cstdint>
#include <cstdio>

namespace odyssey::ctl {
namespace {

struct Character {
  uint32_t code = 0;
  size_t length = 0;  // 0: not UTF-8
};

// One character at the start of `text` (not empty). Overlong forms, surrogates and values past
// U+10FFFF are not UTF-8: a terminal may decode them as something else.
Character Decode(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return {};
  uint32_t code = first & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3F);
  }
  static constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[length] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return {};
  return {code, length};
}

// Characters that change how others are shown, or show as nothing.
bool IsDeceptive(uint32_t code) {
  struct Range {
    uint32_t first, last;
  };
  static constexpr Range kRanges[] = {
      {0x00AD, 0x00AD},    // soft hyphen
      {0x061C, 0x061C},    // Arabic letter mark
      {0x115F, 0x1160},    // Hangul fillers
      {0x180E, 0x180E},    // Mongolian vowel separator
      {0x200B, 0x200F},    // zero width, directional marks
      {0x2028, 0x202E},    // line and paragraph separators, embeddings and overrides
      {0x2060, 0x206F},    // word joiner, isolates, deprecated format characters
      {0x3164, 0x3164},    // Hangul filler
      {0xFEFF, 0xFEFF},    // byte order mark
      {0xFFF9, 0xFFFB},    // interlinear annotation
      {0xE0000, 0xE007F},  // tags
  };
  for (const Range& range : kRanges) {
    if (code >= range.first && code <= range.last) return true;
  }
  return false;
}

void AppendControl(uint32_t code, std::string* out) {
  switch (code) {
    case '\n':
      *out += "\\n";
      return;
    case '\r':
      *out += "\\r";
      return;
    case '\t':
      *out += "\\t";
      return;
    case 0x1B:
      *out += "\\e";
      return;
    default:
      break;
  }
  char buffer[8];
  snprintf(buffer, sizeof(buffer), "\\x%02x", static_cast<unsigned>(code));
  *out += buffer;
}

void AppendCharacter(std::string_view bytes, uint32_t code, Lines lines, std::string* out) {
  if (lines == Lines::kMany && (code == '\n' || code == '\t')) {
    *out += static_cast<char>(code);
  } else if (code < 0x20 || (code >= 0x7F && code < 0xA0)) {
    AppendControl(code, out);
  } else if (IsDeceptive(code)) {
    char buffer[16];
    snprintf(buffer, sizeof(buffer), "\\u{%04x}", static_cast<unsigned>(code));
    *out += buffer;
  } else {
    *out += bytes;
  }
}

}  // namespace

std::string Sanitize(std::string_view text, Lines lines) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    if (lines == Lines::kMany && text.substr(0, 2) == "\r\n") {
      text.remove_prefix(1);
    }
    const Character character = Decode(text);
    if (character.length == 0) {
      AppendControl(static_cast<uint8_t>(text[0]), &out);
      text.remove_prefix(1);
      continue;
    }
    AppendCharacter(text.substr(0, character.length), character.code, lines, &out);
    text.remove_prefix(character.length);
  }
  return out;
}

std::string Shorten(std::string_view text, size_t max) {
  size_t at = 0;
  for (size_t count = 0; at < text.size(); ++count) {
    if (count == max) return std::string(text.substr(0, at)) + "…";
    const size_t length = Decode(text.substr(at)).length;
    at += length == 0 ? 1 : length;
  }
  return std::string(text);
}

}  // namespace odyssey::ctl
