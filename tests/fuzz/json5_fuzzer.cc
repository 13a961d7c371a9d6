// A manifest is written by whoever wrote the bundle: every JSON5 text is a document or a list of
// problems, and a document means the same when it is written as JSON and read again.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "policy/dialect/node.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using odyssey::dialect::Format;
  using odyssey::dialect::ParseDocument;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  odyssey::dialect::Problems problems;
  const auto document = ParseDocument(Format::kJson5, "fuzz.json5", text, &problems);
  ODY_CHECK(document.has_value() || !problems.empty());
  if (!problems.empty()) return 0;

  const std::string json = ToJson(*document);
  const auto again = ParseDocument(Format::kJson5, "fuzz.json5", json, &problems);
  ODY_CHECK(again.has_value());
  ODY_CHECK(ToJson(*again) == json);
  return 0;
}
