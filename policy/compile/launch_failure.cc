#include "policy/compile/launch_failure.h"

#include <errno.h>

#include <string>

#include "common/base/refusal.h"
#include "policy/plan/plan_check.h"

namespace odyssey::compile {
namespace {

using plan::Entry;
using plan::EntryKind;

// The entry of the host whose tree a part is in; the entry itself if there is none.
const Entry& TreeAround(const plan::Plan& plan, const Entry& part) {
  const Entry* around = &part;
  for (const Entry& entry : plan.entries) {
    const bool holds =
        entry.kind == EntryKind::kHostTree && plan::IsWithin(part.target, entry.target);
    if (holds && (around == &part || entry.target.size() > around->target.size())) around = &entry;
  }
  return *around;
}

// What of the request asked for the entry; "": nothing of it did.
std::string FieldOf(const policy::SandboxRequest& request, const plan::Plan& plan,
                    const Entry& entry) {
  for (size_t i = 0; i < request.executables.size(); ++i) {
    if (request.executables[i] == entry.target) return "executables[" + std::to_string(i) + "]";
  }
  for (size_t i = 0; i < request.mounts.size(); ++i) {
    const bool part = entry.kind == EntryKind::kPart;  // a mount inside a writable directory
    if (part && request.mounts[i].target == entry.target) {
      return "mounts[" + std::to_string(i) + "].source";
    }
  }
  const Entry& tree = entry.kind == EntryKind::kPart ? TreeAround(plan, entry) : entry;
  if (tree.kind != EntryKind::kHostTree) return "";
  if (tree.source == request.workspace) return "workspace";
  for (size_t i = 0; i < request.mounts.size(); ++i) {
    const policy::Mount& mount = request.mounts[i];
    if (mount.source == tree.source && mount.target == tree.target) {
      return "mounts[" + std::to_string(i) + "].source";
    }
  }
  return "";
}

}  // namespace

Status NameField(const policy::SandboxRequest& request, const plan::Plan& plan, uint32_t owner,
                 const Status& failure) {
  if (failure.detail().item == plan::kDiskItem) {
    const std::string value = std::to_string(plan.disk_bytes);
    return OfField("limits.disk_bytes", WithMessage(value + ": " + failure.message(), failure),
                   value);
  }
  const std::string& named = failure.detail().field;  // by cell-init, which does not know its value
  if (named == "workspace") {
    return AboutField(
        named, WithMessage(named + ": " + request.workspace + ": " + failure.message(), failure));
  }
  const size_t item = static_cast<size_t>(failure.detail().item);
  if (failure.ok() || item >= plan.entries.size()) return failure;
  const std::string field = FieldOf(request, plan, plan.entries[item]);
  if (field.empty()) return failure;
  const bool closed = owner != 0 && failure.detail().error == EACCES;
  const std::string whom =
      closed ? " to uid " + std::to_string(owner) +
                   "; what he reaches himself is allowed, and what a grant of the operator's names "
                   "to him (policy/ceiling.md)"
             : "";
  return OfField(field, WithMessage(failure.message() + whom, failure));
}

}  // namespace odyssey::compile
