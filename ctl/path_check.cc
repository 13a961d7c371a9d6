#include "ctl/path_check.h"

#include "policy/plan/plan_check.h"

namespace odyssey::ctl {
namespace {

// The part of `path` below `source`, with its slash; "" for the source itself.
std::string Below(const std::string& path, const std::string& source) {
  return path.substr(source.size());
}

}  // namespace

Result<rules::Decision> DecidePath(const policy::SandboxRequest& request, const std::string& path) {
  if (!plan::IsNormalizedAbsolute(path)) {
    return InvalidArgument("--path \"" + path +
                           "\": expected an absolute path of this host, without . or ..");
  }
  rules::Decision decision;
  // Both lists of mounts may hold the same directory: the writable view is the stronger answer.
  const policy::Mount* best = nullptr;
  for (const policy::Mount& mount : request.mounts) {
    if (!plan::IsWithin(path, mount.source)) continue;
    const bool stronger =
        best == nullptr || mount.source.size() > best->source.size() ||
        (mount.source.size() == best->source.size() && mount.access == policy::Access::kReadWrite);
    if (stronger) best = &mount;
  }
  if (best != nullptr) {
    const bool writable = best->access == policy::Access::kReadWrite;
    decision.rule = std::string("mounts.") + (writable ? "write " : "read ") + best->source;
    decision.reason = std::string(writable ? "read and write" : "read-only") + ", as " +
                      best->target + Below(path, best->source);
    return decision;
  }
  for (const std::string& tree : plan::SystemTrees()) {
    if (!plan::IsWithin(path, tree)) continue;
    decision.rule = "system tree " + tree;
    decision.reason = "read-only, under the same name";
    return decision;
  }
  decision.verdict = rules::Verdict::kDeny;
  decision.reason = "nothing of the policy shows this path; it does not exist in the cell";
  return decision;
}

}  // namespace odyssey::ctl
