// Paths and contents of changes are a cell's.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/base/status.h"
#include "supervisor/marks/marks.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const size_t middle = std::min(bytes.find('\n'), bytes.size());
  const std::string_view path = bytes.substr(0, middle), rest = bytes.substr(middle);
  constexpr uint32_t kFile = 0100644, kLink = 0120777;
  const std::string mark = odyssey::marks::MarkOf({.path = path, .mode = kFile});
  (void)odyssey::marks::MarkOf({.path = path, .mode = kLink, .link_target = rest});
  (void)odyssey::marks::MarkByContent(path, "", rest);
  // What is marked is marked below another directory too.
  if (!mark.empty() && !path.empty() && path[0] != '/') {
    const std::string below = "x/" + std::string(path);
    ODY_CHECK(!odyssey::marks::MarkOf({.path = below, .mode = kFile}).empty());
  }
  return 0;
}
