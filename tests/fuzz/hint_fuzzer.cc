// stderr of a command is whatever the command wants it to be: no crash, bounded results.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "policy/explain/hint.h"

namespace explain = odyssey::explain;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  odyssey::policy::SandboxRequest request;
  request.executables_mode = odyssey::policy::ExecutablesMode::kExplicit;
  odyssey::compile::Compiled compiled;
  compiled.plan.entries = {
      {.kind = odyssey::plan::EntryKind::kSymlink, .target = "/bin", .source = "usr/bin"},
      {.kind = odyssey::plan::EntryKind::kHostTree, .target = "/usr", .source = "/usr"}};
  const explain::Command command{
      {"sh"}, "/workspace", [](const std::string& name) { return "/usr/bin/" + name; }};
  const auto hints = explain::FindHints({request, compiled}, command, data[0], text);
  ODY_CHECK(hints.size() <= explain::kMaxHints);
  for (const auto& denial : hints) {
    ODY_CHECK(denial.resource.size() <= explain::kMaxResource);
    ODY_CHECK(denial.hint);
    (void)explain::DescribeDenial(denial);
  }
  return 0;
}
