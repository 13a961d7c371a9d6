#include "supervisor/rpc/review.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "common/base/utf8.h"
#include "policy/compile/protection.h"
#include "policy/plan/plan_check.h"

namespace odyssey::supervisor {
namespace {

using compile::ProtectedName;
using plan::Entry;
using plan::EntryKind;

constexpr std::string_view kInGit = "/.git/";

bool IsWritableTree(const Entry& entry) {
  return entry.kind == EntryKind::kHostTree && entry.access == plan::Access::kReadWrite;
}

// A part that nothing on the host may change through this cell, if it is there.
bool IsKept(const Entry& entry) {
  return entry.kind == EntryKind::kPart && entry.access == plan::Access::kReadOnly;
}

// Which mount shows the path: the innermost that holds it. Null: none of the host's writable trees.
const Entry* WritableTreeOf(const compile::Compiled& compiled, std::string_view path) {
  const Entry* innermost = nullptr;
  for (const Entry& entry : compiled.plan.entries) {
    if (entry.kind == EntryKind::kPart || !plan::IsWithin(path, entry.target)) continue;
    if (innermost == nullptr || entry.target.size() >= innermost->target.size()) innermost = &entry;
  }
  return innermost != nullptr && IsWritableTree(*innermost) ? innermost : nullptr;
}

std::optional<FindingKind> KindOf(std::string_view type) {
  if (type == tool::kFoundName) return FindingKind::kName;
  if (type == tool::kFoundRepository) return FindingKind::kRepository;
  if (type == tool::kFoundBareRepository) return FindingKind::kBareRepository;
  if (type == tool::kFoundRebase) return FindingKind::kRebase;
  if (type == tool::kFoundEndpoint) return FindingKind::kEndpoint;
  if (type == tool::kUnfinished) return FindingKind::kUnfinished;
  return std::nullopt;
}

// True for "…/NAME" and, of a link on the way to a name, for "…/" and what it begins with.
bool Means(std::string_view path, std::string_view name) {
  for (;;) {
    const size_t before = path.size() - std::min(path.size(), name.size());
    if (before > 0 && path[before - 1] == '/' && path.substr(before) == name) return true;
    const size_t slash = name.rfind('/');
    if (slash == std::string_view::npos) return false;
    name = name.substr(0, slash);
  }
}

std::string WhyProtected(std::string_view path) {
  const ProtectedName* longest = nullptr;
  for (const auto names : {compile::ProjectNames(), compile::HomeNames()}) {
    for (const ProtectedName& name : names) {
      if (!Means(path, name.path)) continue;
      if (longest == nullptr || name.path.size() > longest->path.size()) longest = &name;
    }
  }
  return longest != nullptr ? std::string(longest->why) : "the policy protects it";
}

std::string ReasonFor(FindingKind kind, std::string_view path) {
  switch (kind) {
    case FindingKind::kName:
      return "made or changed: " + WhyProtected(path);
    case FindingKind::kRepository:
      return "a repository was made: git runs its hooks and what its configuration names";
    case FindingKind::kBareRepository:
      return "laid out as a repository without a working tree: git that is used in it runs its "
             "hooks and what its configuration names";
    case FindingKind::kRebase:
      return "a rebase is left half done: git rebase --continue runs the commands that it lists";
    case FindingKind::kUnfinished:
      return "not looked at as a whole, it is too large: there may be more in it";
    case FindingKind::kEndpoint:
      return "a named pipe, or a socket at which a command listens: programs of the host that use "
             "it "
             "talk to a command, or wait for one";
  }
  return "";
}

}  // namespace

bool IsReviewable(const compile::Compiled& compiled) {
  const auto& entries = compiled.plan.entries;
  return std::any_of(entries.begin(), entries.end(), IsWritableTree) &&
         (!compiled.confinement.searched.empty() ||
          std::any_of(entries.begin(), entries.end(), IsKept));
}

tool::Request ReviewRequest(const compile::Compiled& compiled) {
  tool::Request request{.op = tool::Op::kReview};
  for (const Entry& entry : compiled.plan.entries) {
    const bool in_git = entry.target.find(kInGit) != std::string::npos;  // judged as a repository
    if (IsKept(entry) && !in_git) request.names.push_back(entry.target);
  }
  return request;
}

std::vector<Finding> JudgeReview(const compile::Compiled& compiled, const tool::Response& review) {
  std::vector<Finding> findings;
  for (const tool::ListEntry& entry : review.entries) {
    const std::optional<FindingKind> kind = KindOf(entry.type);
    const Entry* const tree = WritableTreeOf(compiled, entry.path);
    if (!kind || tree == nullptr || findings.size() == 2 * tool::kMaxFindings) continue;
    const std::string below = entry.path.substr(tree->target.size());
    findings.push_back({.kind = *kind,
                        .path = SanitizeUtf8(entry.path),
                        .host_path = SanitizeUtf8(tree->source + below),
                        .reason = ReasonFor(*kind, entry.path)});
  }
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return a.path < b.path; });
  return findings;
}

std::vector<Finding> TakeNews(const std::vector<Finding>& findings, ToldFindings* told) {
  ToldFindings there;
  std::vector<Finding> news;
  for (const Finding& finding : findings) {
    const auto key = std::make_pair(finding.kind, finding.path);
    if (told->count(key) == 0 && there.count(key) == 0) news.push_back(finding);
    there.insert(key);
  }
  *told = std::move(there);
  return news;
}

}  // namespace odyssey::supervisor
