#include "agentd/sandbox/finding_proto.h"

#include <iterator>
#include <string_view>

namespace odyssey::sandbox {
namespace {

// By the number of FindingKind.
constexpr std::string_view kKinds[] = {"unspecified", "name",       "repository", "bare_repository",
                                       "rebase",      "unfinished", "endpoint"};
static_assert(std::size(kKinds) == supervisor::v1::FindingKind_ARRAYSIZE);

}  // namespace

agent::Finding FindingFromProto(const supervisor::v1::Finding& finding) {
  const bool known = supervisor::v1::FindingKind_IsValid(finding.kind());
  return {std::string(kKinds[known ? finding.kind() : 0]), finding.path(), finding.host_path(),
          finding.reason()};
}

void ToProto(const agent::Finding& finding, supervisor::v1::Finding* out) {
  for (int i = 0; i < supervisor::v1::FindingKind_ARRAYSIZE; ++i) {
    if (kKinds[i] == finding.kind) out->set_kind(static_cast<supervisor::v1::FindingKind>(i));
  }
  out->set_path(finding.path);
  out->set_host_path(finding.host_path);
  out->set_reason(finding.reason);
}

}  // namespace odyssey::sandbox
