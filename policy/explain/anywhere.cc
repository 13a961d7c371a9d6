#include "policy/explain/anywhere.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "policy/pattern/path_pattern.h"
#include "policy/plan/plan.h"

namespace odyssey::explain {
namespace {

using plan::Entry;
using plan::EntryKind;

constexpr char kProtection[] = "policy protection";

// "a/b" of "../../a/./c/../b": what is left of a relative name when it is put below a directory
// that nobody knows.
std::string Below(const std::string& name) {
  return name.find('\0') == name.npos ? Normalize("/" + name).substr(1) : "";
}

// A pattern that covers the name at any depth.
std::optional<Answer> DeniedByName(const Cell& cell, const std::string& below) {
  // No pattern names them.
  constexpr std::string_view kAnyDirectory = "\x01/\x01/\x01/";
  constexpr std::string_view kDepths[] = {"", "\x01/", kAnyDirectory};
  for (const cell::Guard& guard : cell.compiled.confinement.guards) {
    for (const std::string& text : guard.deny) {
      const auto pattern = pattern::PathPattern::Parse(text);
      if (!pattern.ok()) continue;
      const bool covers = std::all_of(
          std::begin(kDepths), std::end(kDepths),
          [&](std::string_view depth) { return pattern->Covers(std::string(depth) + below); });
      if (!covers) continue;
      const std::string example = guard.path + "/" + std::string(kAnyDirectory) + below;
      const Answer answer = ExplainPath(cell, example, Access::kRead);
      if (!answer.allowed) return answer;
    }
  }
  return std::nullopt;
}

// Where the cell keeps names from being written, absolute.
std::vector<std::string> KeptPlaces(const Cell& cell) {
  std::vector<std::string> out;
  for (const Entry& entry : cell.compiled.plan.entries) {
    if (entry.kind == EntryKind::kPart) out.push_back(entry.target);
  }
  return out;
}

// The file that `below` is if it begins with how `place` ends: ".git/hooks/x" in ".git/hooks" of
// some project. A single plain word ("config") says too little. "" if it does not.
std::string FileIn(const std::string& place, const std::string& below) {
  for (size_t slash = place.find('/'); slash != place.npos; slash = place.find('/', slash + 1)) {
    const std::string tail = place.substr(slash + 1);
    const bool telling = tail.find('/') != tail.npos || tail[0] == '.';
    if (telling && plan::IsWithin(below, tail)) return place.substr(0, slash + 1) + below;
  }
  return "";
}

std::optional<Found> KeptByName(const Cell& cell, const std::string& name,
                                const std::string& below) {
  std::set<std::string> files;
  std::optional<Found> found;
  for (const std::string& place : KeptPlaces(cell)) {
    const std::string file = FileIn(place, below);
    if (file.empty()) continue;
    const Answer answer = ExplainPath(cell, file, Access::kWrite);
    if (answer.allowed || answer.rule.rfind(kProtection, 0) != 0) continue;
    if (files.insert(file).second && files.size() > 1) {
      const bool same = found->answer.grant == answer.grant;
      return Found{name, {false, kProtection, same ? answer.grant : Grant()}};
    }
    found = Found{file, answer};
  }
  return found;
}

bool IsTree(const Entry& entry) {
  return entry.kind == EntryKind::kHostTree || entry.kind == EntryKind::kCellTree ||
         entry.kind == EntryKind::kTmpfs;
}

// What the trees say that commands work in; those of the system only refuse, whatever is asked.
std::optional<Found> ByTrees(const Cell& cell, const std::string& name, const std::string& below,
                             Access access) {
  bool refused = false, allowed = false, read_only = false;
  std::set<std::string> rules;
  std::set<Grant> grants;
  for (const Entry& entry : cell.compiled.plan.entries) {
    if (!IsTree(entry)) continue;
    read_only |= entry.access == plan::Access::kReadOnly;
    if (IsSystemTree(entry)) continue;
    const Answer answer = ExplainPath(cell, entry.target + "/" + below, access);
    (answer.allowed ? allowed : refused) = true;
    if (answer.allowed) continue;
    rules.insert(answer.rule);
    grants.insert(answer.grant);
  }
  const bool writes = access == Access::kWrite;
  if (writes ? !read_only : !refused) return std::nullopt;
  // Only a rule that no directory changes is told as a whole.
  Answer answer{false, writes ? "mount read_only" : "mount noexec", ""};
  if (!allowed && rules.size() == 1) answer.rule = *rules.begin();
  if (!allowed && grants.size() == 1) answer.grant = *grants.begin();
  return Found{name, answer};
}

}  // namespace

std::optional<Found> ExplainAnywhere(const Cell& cell, const std::string& name, Access access,
                                     bool by_mount) {
  const std::string below = Below(name);
  if (below.empty() || IsOnHost(cell)) return std::nullopt;
  if (const auto denied = DeniedByName(cell, below)) return Found{name, *denied};
  if (access == Access::kWrite) {
    if (auto kept = KeptByName(cell, name, below)) return kept;
  }
  return by_mount ? ByTrees(cell, name, below, access) : std::nullopt;
}

}  // namespace odyssey::explain
