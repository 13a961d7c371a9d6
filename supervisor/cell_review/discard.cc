#include "supervisor/cell_review/discard.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisor/cell_review/host_writer.h"

namespace odyssey::cell_review {
namespace {

// Everything at and below a path of the upper layer.
Status RemoveTree(Layer* upper, const std::string& path, size_t depth = 0) {
  ODY_ASSIGN_OR_RETURN(const Node node, upper->Look(path));
  if (node.kind == Kind::kNone) return OkStatus();
  std::string name;
  if (node.kind == Kind::kDirectory) {
    ODY_ASSIGN_OR_RETURN(const int above, upper->Parent(path, &name));
    // The cell may have closed it to its owner.
    if (fchmodat(above, name.c_str(), 0700, 0) != 0) {
      return ErrnoStatus(errno, "open " + Shown(path) + " to discard it");
    }
    if (depth > kMaxDepth) return InvalidArgument(Shown(path) + ": too many directories deep");
    ODY_ASSIGN_OR_RETURN(const std::vector<std::string> names, upper->Names(path));
    for (const std::string& below : names) {
      ODY_RETURN_IF_ERROR(RemoveTree(upper, Join(path, below), depth + 1));
    }
  }
  ODY_ASSIGN_OR_RETURN(const int parent, upper->Parent(path, &name));
  const int flags = node.kind == Kind::kDirectory ? AT_REMOVEDIR : 0;
  if (unlinkat(parent, name.c_str(), flags) != 0) {
    return ErrnoStatus(errno, "discard " + Shown(path));
  }
  if (flags != 0) upper->Forget();
  return OkStatus();
}

// Below an opaque directory the host's does not show through: it is put there.
bool IsHidden(Reviewed* reviewed, const std::string& path) {
  for (std::string at = ParentOf(path); !at.empty(); at = ParentOf(at)) {
    if (reviewed->upper.IsOpaque(at)) return true;
  }
  return false;
}

Status ShowAgain(Reviewed* reviewed, const Found& found) {
  if (found.host.kind == Kind::kNone || !IsHidden(reviewed, found.path)) return OkStatus();
  Step step = {.path = found.path,
               .from = {},
               .to = found.host,
               .modified = found.host_node.modified,
               .temporary = ".odyssey-discard",
               .open = [&]() -> Result<Source> {
                 Source source;
                 ODY_ASSIGN_OR_RETURN(source.file, reviewed->host.OpenFile(found.path));
                 return source;
               },
               .seen = std::nullopt};
  std::vector<Step> steps;
  steps.push_back(std::move(step));
  const Written written = WriteToHost(&reviewed->upper, std::move(steps), Mode::kForward);
  return written.refused.empty() ? OkStatus() : written.refused.front().why;
}

// Before what is in it is put there again.
Status DiscardOne(Reviewed* reviewed, const Found& found) {
  if (found.upper.kind == Kind::kDirectory && found.host.kind == Kind::kDirectory) {
    std::string name;
    ODY_ASSIGN_OR_RETURN(const int parent, reviewed->upper.Parent(found.path, &name));
    const int set = fchmodat(parent, name.c_str(), found.host.mode, 0);
    return set == 0 ? OkStatus() : ErrnoStatus(errno, "discard the mode of " + Shown(found.path));
  }
  ODY_RETURN_IF_ERROR(RemoveTree(&reviewed->upper, found.path));
  return ShowAgain(reviewed, found);
}

}  // namespace

Result<Outcome> DiscardChanges(Reviewed* reviewed, const ChangeList& list,
                               const std::vector<review::Selection>& selections) {
  Outcome outcome;
  outcome.done = static_cast<uint32_t>(list.changes.size());
  if (selections.empty()) {
    ODY_ASSIGN_OR_RETURN(const std::vector<std::string> names, reviewed->upper.Names(""));
    for (const std::string& name : names) ODY_RETURN_IF_ERROR(RemoveTree(&reviewed->upper, name));
    return outcome;
  }
  // A directory comes before what is in it.
  for (const Listed& listed : list.changes) {
    Status status = DiscardOne(reviewed, listed.found);
    if (status.ok() && listed.from) status = DiscardOne(reviewed, *listed.from);
    if (status.ok()) continue;
    --outcome.done;
    outcome.refused.push_back({listed.change.path, status.message(), ""});
  }
  return outcome;
}

Status Settle(Reviewed* reviewed, size_t max_changes) {
  ODY_ASSIGN_OR_RETURN(const Scan scan, ScanChanges(reviewed, max_changes));
  for (const std::string& path : scan.stale) {
    if (IsHidden(reviewed, path)) continue;
    ODY_RETURN_IF_ERROR(RemoveTree(&reviewed->upper, path));
  }
  return OkStatus();
}

}  // namespace odyssey::cell_review
