// Marks are given by indexes that a cell has written: whatever they are, no crash and no excess
// memory. What is taken has no path out of the tree, as git reads it from the beginning.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/base/status.h"
#include "supervisor/marks/git_index.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using odyssey::marks::IndexStaysInTree;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)IndexStaysInTree(bytes, odyssey::marks::kSha256Bytes);
  if (!IndexStaysInTree(bytes, odyssey::marks::kSha1Bytes)) return 0;

  // An entry of version 2 that begins where the first one does.
  constexpr size_t kName = 12 + 40 + odyssey::marks::kSha1Bytes + 2;
  ODY_CHECK(bytes.substr(0, 4) == "DIRC");
  if (bytes[7] == 2 && bytes.size() > kName &&
      bytes.substr(8, 4) != std::string_view("\0\0\0\0", 4)) {
    const bool extended = (bytes[kName - 2] & 0x40) != 0;
    ODY_CHECK(extended || bytes.substr(kName, 5) != ".git/");
    ODY_CHECK(extended || bytes.substr(kName, 3) != "../");
  }
  return 0;
}
