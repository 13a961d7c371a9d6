// Reads any bytes as a bundle reference: what passes names one component each.

#include <cstddef>
#include <cstdint>
#include <string>

#include "agentd/package/reference.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace package = odyssey::package;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto parsed = package::ParseReference(text);
  if (!parsed.ok()) return 0;
  for (const std::string& part : {parsed->ns, parsed->id, parsed->version, parsed->digest}) {
    ODY_CHECK(part.find('/') == std::string::npos && part != "." && part != "..");
  }
  const std::string half = text.substr(size / 2);
  ODY_CHECK(!package::VersionLess(text, half) || !package::VersionLess(half, text));
  return 0;
}
