// Both texts of a diff may be a cell's: all hunks make the new one, none the old one.

#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>

#include "common/base/status.h"
#include "common/diff/diff.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const size_t middle = std::min(bytes.find('\0'), bytes.size());
  const std::string_view old_text = bytes.substr(0, middle);
  const std::string_view new_text = bytes.substr(std::min(middle + 1, bytes.size()));
  const auto hunks = odyssey::diff::Compare(old_text, new_text);
  std::set<uint32_t> all;
  for (uint32_t i = 1; i <= hunks.size(); ++i) all.insert(i);
  ODY_CHECK(odyssey::diff::Apply(old_text, hunks, all) == new_text);
  ODY_CHECK(odyssey::diff::Apply(old_text, hunks, {}) == old_text);
  for (const auto& hunk : hunks) ODY_CHECK(!odyssey::diff::Format(hunk).empty());
  return 0;
}
