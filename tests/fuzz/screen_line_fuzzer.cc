// Lays any bytes out on a screen, sanitised and not: no row is wider than the screen or has a
// character that a terminal acts on. As a typed line they are a command, an error, or neither.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "common/base/utf8.h"
#include "ctl/base/sanitize.h"
#include "ctl/tui/slash_command.h"
#include "ctl/tui/styled_line.h"

namespace odyssey::ctl {
namespace {

bool Acts(const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const Utf8First first = DecodeUtf8(std::string_view(text).substr(at));
    if (first.kind != Utf8Kind::kCharacter) return true;
    if (first.code < 0x20 || (first.code >= 0x7F && first.code < 0xA0)) return true;
    at += first.length;
  }
  return false;
}

void CheckRow(const StyledLine& row, size_t columns) {
  const std::string text = PlainText(row);
  if (Acts(text) || WidthOf(text) > columns) abort();
}

void LayOut(std::string_view text, size_t columns) {
  const StyledLine line = ParsePainted(text);
  for (const StyledLine& row : Wrap(line, columns)) CheckRow(row, columns);
  CheckRow(Fit(line, columns), columns);
  if (WidthOf(PlainText(Fill(line, columns))) != columns) abort();
}

void Try(const uint8_t* data, size_t size) {
  const size_t columns = size_t{8} + data[0];
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  LayOut(bytes, columns);
  LayOut(Sanitize(bytes), columns);
  const auto slash = ParseSlash(bytes);
  if (slash && slash->command.has_value() == !slash->error.empty()) abort();
  (void)PaletteOf(bytes);
}

}  // namespace
}  // namespace odyssey::ctl

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  odyssey::ctl::UseUtf8Characters();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 0) odyssey::ctl::Try(data, size);
  return 0;
}
