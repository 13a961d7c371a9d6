#include "common/base/utf8.h"

#include <algorithm>

namespace odyssey {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// Bytes that a character with this first byte has; 0: not a first byte.
size_t LengthOf(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return 2;
  if (first >= 0xE0 && first <= 0xEF) return 3;
  if (first >= 0xF0 && first <= 0xF4) return 4;
  return 0;
}

// The range of the second byte: narrower after some first bytes (Unicode 15, table 3-7).
bool ValidSecond(unsigned char first, unsigned char second) {
  switch (first) {
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

}  // namespace

Utf8First DecodeUtf8(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const size_t length = LengthOf(at(0));
  if (length == 0) return {};
  uint32_t code = length == 1 ? at(0) : at(0) & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if (i == text.size()) return {Utf8Kind::kCut, i, 0};
    if (i == 1 ? !ValidSecond(at(0), at(1)) : (at(i) & 0xC0) != 0x80) return {};
    code = code << 6 | (at(i) & 0x3Fu);
  }
  return {Utf8Kind::kCharacter, length, code};
}

bool IsValidUtf8(std::string_view text) {
  while (!text.empty()) {
    const Utf8First first = DecodeUtf8(text);
    if (first.kind != Utf8Kind::kCharacter) return false;
    text.remove_prefix(first.length);
  }
  return true;
}

size_t CompleteUtf8Prefix(std::string_view text) {
  for (size_t back = 1; back <= std::min<size_t>(3, text.size()); ++back) {
    const std::string_view tail = text.substr(text.size() - back);
    if (DecodeUtf8(tail).kind == Utf8Kind::kCut) return text.size() - back;
  }
  return text.size();
}

std::string SanitizeUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8First first = DecodeUtf8(text);
    const bool valid = first.kind == Utf8Kind::kCharacter;
    out += valid ? text.substr(0, first.length) : kReplacement;
    text.remove_prefix(valid ? first.length : 1);
  }
  return out;
}

std::string Utf8Stream::Push(std::string_view bytes) {
  held_ += bytes;
  const size_t complete = CompleteUtf8Prefix(held_);
  std::string out = SanitizeUtf8(std::string_view(held_).substr(0, complete));
  held_.erase(0, complete);
  return out;
}

}  // namespace odyssey
