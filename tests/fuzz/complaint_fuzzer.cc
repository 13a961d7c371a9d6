// stderr of a command is whatever the command wants it to be: no crash, bounded results.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "policy/explain/denial.h"

namespace explain = odyssey::explain;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto complaints = explain::ParseComplaints(text);
  ODY_CHECK(complaints.size() <= explain::kMaxComplaints);
  odyssey::policy::SandboxRequest request;
  request.executables_mode = odyssey::policy::ExecutablesMode::kExplicit;
  odyssey::compile::Compiled compiled;
  compiled.plan.entries = {
      {.kind = odyssey::plan::EntryKind::kSymlink, .target = "/bin", .source = "usr/bin"},
      {.kind = odyssey::plan::EntryKind::kHostTree, .target = "/usr", .source = "/usr"}};
  // Its arguments are as hostile as its words.
  const explain::Command command{{"sh", "-c", std::string(text.substr(0, text.find('\n')))},
                                 "/workspace",
                                 [](const std::string& name) { return "/usr/bin/" + name; }};
  for (const auto& denial : explain::JudgeComplaints({request, compiled}, command, complaints)) {
    ODY_CHECK(denial.resource.size() <= explain::kMaxResource);
    ODY_CHECK(denial.source == explain::kFromCommand);
    (void)explain::DescribeDenial(denial);
  }
  return 0;
}
