#include "policy/compile/guards.h"

#include <string>

#include "common/base/refusal.h"
#include "policy/pattern/path_pattern.h"
#include "policy/plan/plan_check.h"

namespace odyssey::compile {

namespace {

bool IsClients(const plan::Entry& entry) {
  return entry.kind == plan::EntryKind::kHostTree && entry.ownership == plan::Ownership::kMapped;
}

void AddDenied(const std::vector<std::string>& deny, const std::string& all, Compiled* out) {
  for (const plan::Entry& entry : out->plan.entries) {
    if (!IsClients(entry)) continue;
    out->confinement.guards.push_back(
        {.path = entry.target, .read_only = entry.access == plan::Access::kReadOnly, .deny = deny});
    out->explanation.push_back(entry.target + ": guarded: names that match " + all +
                               " cannot be opened, whenever they were made");
  }
}

}  // namespace

Status AddGuards(const policy::SandboxRequest& request, Compiled* out) {
  if (request.deny.size() > cell::kMaxDenyPatterns) {
    return Refused(Code::kInvalidArgument, "deny", "",
                   std::to_string(request.deny.size()) + " patterns; at most " +
                       std::to_string(cell::kMaxDenyPatterns) + " are allowed");
  }
  std::string all;
  for (size_t i = 0; i < request.deny.size(); ++i) {
    const auto pattern = pattern::PathPattern::Parse(request.deny[i]);
    if (!pattern.ok()) {
      return Refused(Code::kInvalidArgument, "deny[" + std::to_string(i) + "]", "",
                     pattern.status().message());
    }
    all += (i == 0 ? "" : ", ") + request.deny[i];
  }
  if (!request.deny.empty()) AddDenied(request.deny, all, out);
  out->plan.fuse_device = !out->confinement.guards.empty();
  return OkStatus();
}

}  // namespace odyssey::compile
