#include "supervisor/cell_tools/text.h"

#include <string.h>

#include "common/base/utf8.h"

namespace odyssey::cell_tools {
namespace {

// Offset of the first `needle` at or after `from`; npos if there is none. memmem, because
// string_view::find takes quadratic time on inputs made for it.
size_t Find(std::string_view text, std::string_view needle, size_t from) {
  const void* hit = memmem(text.data() + from, text.size() - from, needle.data(), needle.size());
  if (hit == nullptr) return std::string_view::npos;
  return static_cast<size_t>(static_cast<const char*>(hit) - text.data());
}

}  // namespace

size_t LengthAtCharacterBoundary(std::string_view bytes) {
  const size_t whole = CompleteUtf8Prefix(bytes);
  const std::string_view text = bytes.substr(0, whole);
  const bool is_text = IsValidUtf8(text) && text.find('\0') == std::string_view::npos;
  return is_text && whole > 0 ? whole : bytes.size();
}

uint32_t CountOccurrences(std::string_view text, std::string_view needle, Overlaps overlaps) {
  uint32_t count = 0;
  const size_t first = Find(text, needle, 0);
  for (size_t at = first; at != text.npos; at = Find(text, needle, at + needle.size())) ++count;
  if (overlaps == Overlaps::kLeaveOut || count != 1) return count;
  return Find(text, needle, first + 1) == text.npos ? 1 : 2;
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
