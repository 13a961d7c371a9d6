#include "policy/compile/guards.h"

#include <string>
#include <utility>

#include "policy/pattern/path_pattern.h"
#include "policy/plan/plan_check.h"

namespace odyssey::compile {

namespace {

bool IsClients(const plan::Entry& entry) {
  return entry.kind == plan::EntryKind::kHostTree && entry.ownership == plan::Ownership::kMapped;
}

// One guard for a tree, whatever is guarded in it.
void AddDenied(const std::vector<std::string>& deny, const std::string& all, Compiled* out) {
  const std::vector<cell::Guard> repositories = std::move(out->confinement.guards);
  out->confinement.guards.clear();
  for (const plan::Entry& entry : out->plan.entries) {
    if (!IsClients(entry)) continue;
    cell::Guard guard = {
        .path = entry.target, .read_only = entry.access == plan::Access::kReadOnly, .deny = deny};
    for (const cell::Guard& repository : repositories) {
      if (!plan::IsWithin(repository.path, entry.target)) continue;
      const std::string below = repository.path.substr(entry.target.size());
      guard.git.push_back(below.empty() ? "" : below.substr(1));
    }
    out->confinement.guards.push_back(std::move(guard));
    out->explanation.push_back(entry.target + ": guarded: names that match " + all +
                               " cannot be opened, whenever they were made");
  }
}

void ExplainGit(const std::string& path, Compiled* out) {
  out->explanation.push_back(path + ": guarded, if it is a repository: what git obeys in it is " +
                             "read-only, whenever it is made, and it stays a repository");
}

}  // namespace

Status AddGuards(const policy::SandboxRequest& request, Compiled* out) {
  if (request.deny.size() > cell::kMaxDenyPatterns) {
    return InvalidArgument("deny: " + std::to_string(request.deny.size()) + " patterns; at most " +
                           std::to_string(cell::kMaxDenyPatterns) + " are allowed");
  }
  std::string all;
  for (size_t i = 0; i < request.deny.size(); ++i) {
    const auto pattern = pattern::PathPattern::Parse(request.deny[i]);
    if (!pattern.ok()) {
      return InvalidArgument("deny[" + std::to_string(i) + "]: " + pattern.status().message());
    }
    all += (i == 0 ? "" : ", ") + request.deny[i];
  }
  if (!request.deny.empty()) AddDenied(request.deny, all, out);
  for (const cell::Guard& guard : out->confinement.guards) {
    for (const std::string& git : guard.git) {
      ExplainGit(guard.path + (git.empty() ? "" : "/" + git), out);
    }
  }
  out->plan.fuse_device = !out->confinement.guards.empty();
  return OkStatus();
}

}  // namespace odyssey::compile
