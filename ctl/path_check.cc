#include "ctl/path_check.h"

#include <optional>

#include "ctl/grant_words.h"
#include "policy/dialect/path_text.h"
#include "policy/plan/plan_check.h"

namespace odyssey::ctl {
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

std::string ToAllow(const PathView& view, const Answer& answer, const char* what) {
  const std::string grant = GrantIn(view.dialect, answer.grant);
  return grant.empty() ? "" : std::string("; ") + what + ": " + grant;
}

rules::Decision Shown(const PathView& view, const std::string& at) {
  const explain::Cell& cell = view.cell;
  const Answer read = ExplainPath(cell, at, Access::kRead);
  if (!read.allowed) {
    return {.verdict = rules::Verdict::kDeny,
            .rule = read.rule,
            .reason = "it is " + at + ", which cannot be opened" + ToAllow(view, read, "to allow")};
  }
  const Answer write = ExplainPath(cell, at, Access::kWrite);
  const Answer execute = ExplainPath(cell, at, Access::kExecute);
  rules::Decision decision;
  decision.rule = write.rule;
  decision.reason = std::string(write.allowed ? "read and write" : "read-only") +
                    (execute.allowed ? ", may be executed" : "") + ", as " + at;
  if (!write.allowed) decision.reason += ToAllow(view, write, "to write");
  return decision;
}

// Of a place in the cell that no tree of the host has, with a hint if there is one.
rules::Decision NotShown(const PathView& view, const std::string& at, const std::string& hint) {
  const bool own = ExplainPath(view.cell, at, Access::kRead).allowed;
  return {.verdict = rules::Verdict::kDeny,
          .reason = std::string("nothing of the policy shows this path of the host; ") +
                    (own ? "the cell has its own there" : "it does not exist in the cell") + hint};
}

std::string ToShow(const PathView& view, const std::string& at) {
  return ToAllow(view, ExplainPath(view.cell, at, Access::kRead), "to allow");
}

// What its links lead to in the cell decides about a path that is `at` this place of it.
PathAnswer Followed(const PathView& view, const std::string& at) {
  const std::optional<std::string> led = FollowInCell(view.cell, at, view.read_link);
  if (!led) {
    return {{.verdict = rules::Verdict::kDeny,
             .reason = "it is " + at + ", whose symbolic links go in a circle"},
            ""};
  }
  const std::string host = HostPathOf(view.cell, *led);
  // OpenShell alone shows a path under its own name, where the link would find it.
  const bool found = view.dialect == dialect::Dialect::kOpenShell;
  const std::string hint = found ? ToShow(view, *led) : "";
  PathAnswer answer = {host.empty() ? NotShown(view, *led, hint) : Shown(view, *led), host};
  if (*led != at) {
    answer.decision.reason =
        "through a symbolic link " + at + " is " + *led + " in the cell: " + answer.decision.reason;
  }
  return answer;
}

}  // namespace

Status CheckAskedPath(const std::string& asked) {
  const bool good =
      plan::IsNormalizedAbsolute(dialect::CleanPath(asked)) && !dialect::HasParent(asked);
  if (good) return OkStatus();
  return InvalidArgument("--path \"" + asked +
                         "\": expected an absolute path of this host, without . or ..");
}

Result<PathAnswer> DecidePath(const PathView& view, const std::string& asked) {
  const explain::Cell& cell = view.cell;
  const std::string path = dialect::CleanPath(asked);
  ODY_RETURN_IF_ERROR(CheckAskedPath(asked));
  if (cell.compiled.unconfined) {
    return PathAnswer{{.rule = "mode danger_full_access",
                       .reason = "the host's own path: whatever its user may do there"},
                      path};
  }
  std::optional<std::string> at = PlaceOf(cell, path);
  // /bin and its like are links in the cell where they are on the host.
  if (!at) at = PlaceOf(cell, explain::ResolveInCell(cell, "/", path));
  if (!at) return PathAnswer{NotShown(view, path, ToShow(view, path)), ""};
  // A name that nothing may open is no way to what its link leads to.
  if (!ExplainPath(cell, *at, Access::kRead).allowed) return PathAnswer{Shown(view, *at), path};
  return Followed(view, *at);
}

}  // namespace odyssey::ctl
