#include "policy/answer/path_answer.h"

#include <optional>

#include "policy/plan/plan_check.h"

namespace odyssey::answer {
namespace {

using explain::Access;
using explain::Answer;
using explain::ExplainPath;

// Where the cell has a path of the host: of several places the one that may be written, then the
// one whose directory is nearest.
std::optional<std::string> PlaceOf(const explain::Cell& cell, const std::string& path) {
  std::optional<std::string> best;
  bool best_writable = false;
  size_t best_source = 0;
  for (const plan::Entry& entry : cell.compiled.plan.entries) {
    if (entry.kind != plan::EntryKind::kHostTree || !plan::IsWithin(path, entry.source)) continue;
    const std::string at = entry.target + path.substr(entry.source.size());
    const bool writable = ExplainPath(cell, at, Access::kWrite).allowed;
    const bool better = !best || (writable && !best_writable) ||
                        (writable == best_writable && entry.source.size() > best_source);
    if (!better) continue;
    best = at;
    best_writable = writable;
    best_source = entry.source.size();
  }
  return best;
}

// Of a place in the cell that a tree of the host has.
PathAnswer Shown(const explain::Cell& cell, const std::string& at, const std::string& host) {
  const Answer read = ExplainPath(cell, at, Access::kRead);
  if (!read.allowed) {
    return {.allowed = false,
            .rule = read.rule,
            .reason = "it is " + at + ", which cannot be opened",
            .grant = read.grant,
            .host = host};
  }
  const Answer write = ExplainPath(cell, at, Access::kWrite);
  const Answer execute = ExplainPath(cell, at, Access::kExecute);
  return {.rule = write.rule,
          .reason = std::string(write.allowed ? "read and write" : "read-only") +
                    (execute.allowed ? ", may be executed" : "") + ", as " + at,
          .grant = write.grant,
          .host = host};
}

// Of a place in the cell that no tree of the host has.
PathAnswer NotShown(const explain::Cell& cell, const std::string& at) {
  const Answer read = ExplainPath(cell, at, Access::kRead);
  return {.allowed = false,
          .reason = std::string("nothing of the policy shows this path of the host; ") +
                    (read.allowed ? "the cell has its own there" : "it does not exist in the cell"),
          .grant = read.grant};
}

// What its links lead to in the cell decides about a path that is `at` this place of it.
PathAnswer Followed(const explain::Cell& cell, const std::string& at,
                    const explain::ReadLink& read_link) {
  const std::optional<std::string> led = FollowInCell(cell, at, read_link);
  if (!led) {
    return {.allowed = false, .reason = "it is " + at + ", whose symbolic links go in a circle"};
  }
  const std::string host = HostPathOf(cell, *led);
  PathAnswer answer = host.empty() ? NotShown(cell, *led) : Shown(cell, *led, host);
  answer.through_link = *led != at;
  if (answer.through_link) {
    answer.reason =
        "through a symbolic link " + at + " is " + *led + " in the cell: " + answer.reason;
  }
  return answer;
}

}  // namespace

PathAnswer DecidePath(const explain::Cell& cell, const explain::ReadLink& read_link,
                      const std::string& path) {
  if (cell.compiled.unconfined) {
    return {.rule = "mode danger_full_access",
            .reason = "the host's own path: whatever its user may do there",
            .host = path};
  }
  std::optional<std::string> at = PlaceOf(cell, path);
  // /bin and its like are links in the cell where they are on the host.
  if (!at) at = PlaceOf(cell, explain::ResolveInCell(cell, "/", path));
  if (!at) return NotShown(cell, path);
  // A name that nothing may open is no way to what its link leads to.
  if (!ExplainPath(cell, *at, Access::kRead).allowed) return Shown(cell, *at, path);
  return Followed(cell, *at, read_link);
}

}  // namespace odyssey::answer
