#include "agentd/base/utf8.h"

#include <algorithm>

namespace odyssey::agent {
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

// Whether `second` may follow `first`: excludes overlong forms, surrogates and > U+10FFFF.
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

enum class Piece { kValid, kInvalid, kCut };

// What stands at the beginning of `text` (not empty); `length` is the character's if valid.
Piece Classify(std::string_view text, size_t* length) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  *length = LengthOf(at(0));
  if (*length == 0) return Piece::kInvalid;
  for (size_t i = 1; i < *length; ++i) {
    if (i == text.size()) return Piece::kCut;
    const bool valid = i == 1 ? ValidSecond(at(0), at(1)) : (at(i) & 0xC0) == 0x80;
    if (!valid) return Piece::kInvalid;
  }
  return Piece::kValid;
}

}  // namespace

bool IsValidUtf8(std::string_view text) {
  size_t length = 0;
  for (; !text.empty(); text.remove_prefix(length)) {
    if (Classify(text, &length) != Piece::kValid) return false;
  }
  return true;
}

size_t CompleteUtf8Prefix(std::string_view text) {
  size_t length = 0;
  for (size_t back = 1; back <= std::min<size_t>(3, text.size()); ++back) {
    const std::string_view tail = text.substr(text.size() - back);
    if (Classify(tail, &length) == Piece::kCut) return text.size() - back;
  }
  return text.size();
}

std::string SanitizeUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    size_t length = 0;
    const bool valid = Classify(text, &length) == Piece::kValid;
    out += valid ? text.substr(0, length) : kReplacement;
    text.remove_prefix(valid ? length : 1);
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

}  // namespace odyssey::agent
