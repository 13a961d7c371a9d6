// Agents, policies and scenarios are YAML of whoever wrote the bundle: every text is a document or
// a list of problems, no exception of yaml-cpp gets out, and what was read can be written as JSON.

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
  const auto document = ParseDocument(Format::kYaml, "fuzz.yaml", text, &problems);
  ODY_CHECK(document.has_value() || !problems.empty());
  if (!problems.empty()) return 0;

  const std::string json = ToJson(*document);
  ODY_CHECK(ParseDocument(Format::kJson5, "fuzz.json5", json, &problems).has_value());
  return 0;
}
