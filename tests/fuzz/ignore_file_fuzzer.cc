// A .gitignore is a cell's: any text is read, and any path judged by it. The last part of the input
// is the path.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "agentd/ignore/ignore_file.h"
#include "common/base/status.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using odyssey::ignore::IgnoreFile;
  using odyssey::ignore::Match;
  using odyssey::ignore::NodeKind;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const size_t text = bytes.rfind('\0') == std::string_view::npos ? 0 : bytes.rfind('\0');
  const std::string_view path = bytes.substr(text == 0 ? 0 : text + 1);
  const IgnoreFile file = IgnoreFile::Parse(bytes.substr(0, text));
  const Match directory = file.Of(path, NodeKind::kDirectory);
  const Match other = file.Of(path, NodeKind::kOther);
  // What says something of files says something of directories.
  ODY_CHECK(other == Match::kNone || directory != Match::kNone);
  ODY_CHECK(IgnoreFile::Parse("").Of(path, NodeKind::kOther) == Match::kNone);
  return 0;
}
