#include "ctl/base/sanitize.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iterator>

#include "common/base/utf8.h"
#include "ctl/base/hidden_ranges.h"

namespace odyssey::ctl {
namespace {

// Characters that change how others are shown, or show as nothing.
bool IsHidden(uint32_t code) {
  const auto* const after =
      std::upper_bound(std::begin(kHiddenRanges), std::end(kHiddenRanges), code,
                       [](uint32_t value, const CodeRange& range) { return value < range.first; });
  return after != std::begin(kHiddenRanges) && code <= (after - 1)->last;
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
  } else if (IsHidden(code)) {
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
    const Utf8First character = DecodeUtf8(text);
    if (character.kind != Utf8Kind::kCharacter) {
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
    const Utf8First character = DecodeUtf8(text.substr(at));
    at += character.kind == Utf8Kind::kCharacter ? character.length : 1;
  }
  return std::string(text);
}

}  // namespace odyssey::ctl
