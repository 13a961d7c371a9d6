#include "policy/pattern/git_directory.h"

#include <algorithm>

namespace odyssey::pattern {
namespace {

constexpr std::string_view kWorktrees = "worktrees";
constexpr std::string_view kModules = "modules";
constexpr std::string_view kCommonDirectory = "commondir";
constexpr std::string_view kRebase = "rebase-merge";
constexpr std::string_view kSteps = "rebase-merge/git-rebase-todo";

// With the lock of each file that git replaces: who has it open while git on the host writes it
// would have the file itself open afterwards.
constexpr ObeyedName kObeyedNames[] = {
    {"config", "names programs that git runs"},
    {"config.lock", "becomes config"},
    {"config.worktree", "the same as config, for one working tree"},
    {"config.worktree.lock", "becomes config.worktree"},
    {kCommonDirectory, "leads git to another configuration and other hooks"},
    {"hooks", "git runs the programs in it"},
    {"remotes", "says where git fetches from, in the old way"},
    {"branches", "the same, in a still older one"},
};

bool IsObeyed(std::string_view name) {
  return std::any_of(std::begin(kObeyedNames), std::end(kObeyedNames),
                     [name](const ObeyedName& obeyed) { return obeyed.name == name; });
}

// Takes the first component off; "" if there is none.
std::string_view TakeFirst(std::string_view* path) {
  const std::string_view first = path->substr(0, path->find('/'));
  path->remove_prefix(std::min(first.size() + 1, path->size()));
  return first;
}

// The git directories of submodules lie below modules, at any depth: their names have slashes.
GitName NameInModules(std::string_view rest) {
  while (!rest.empty()) {
    if (IsObeyed(TakeFirst(&rest))) return GitName::kObeyed;
    if (rest == kSteps) return GitName::kSteps;
  }
  return GitName::kData;
}

GitName NameInWorktrees(std::string_view rest) {
  TakeFirst(&rest);
  if (rest == kSteps) return GitName::kSteps;
  const std::string_view name = TakeFirst(&rest);
  if (name == kCommonDirectory && rest.empty()) return GitName::kLeadsBack;
  return IsObeyed(name) ? GitName::kObeyed : GitName::kData;
}

bool IsHex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

}  // namespace

GitName NameInGitDirectory(std::string_view path) {
  if (path == "HEAD") return GitName::kHead;
  if (path == "HEAD.lock") return GitName::kHeadLock;
  if (path.empty() || path == "objects" || path == "refs") return GitName::kNeeded;
  if (path == kSteps) return GitName::kSteps;
  const std::string_view first = TakeFirst(&path);
  if (IsObeyed(first)) return GitName::kObeyed;
  if (first == kWorktrees) return NameInWorktrees(path);
  if (first == kModules) return NameInModules(path);
  return GitName::kData;
}

bool GivesNamesTheirMeaning(std::string_view directory) {
  if (directory == kRebase) return true;
  const std::string_view first = TakeFirst(&directory);
  if (first == kModules) return true;
  if (first != kWorktrees) return false;
  TakeFirst(&directory);
  return directory.empty() || directory == kRebase;
}

std::span<const ObeyedName> ObeyedNames() { return kObeyedNames; }

bool IsValidHead(std::string_view text) {
  constexpr std::string_view kReference = "ref: refs/";
  if (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  if (text.size() >= kMaxHeadBytes) return false;
  if (text.substr(0, kReference.size()) == kReference) {
    return text.size() > kReference.size() &&
           std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < ' '; });
  }
  const bool length = text.size() == 40 || text.size() == 64;  // SHA-1, SHA-256
  return length && std::all_of(text.begin(), text.end(), IsHex);
}

bool RunsCommands(std::string_view steps) {
  constexpr std::string_view kBlank = " \t";
  constexpr std::string_view kEndsWord(" \t\r\0", 4);
  while (!steps.empty()) {
    std::string_view line = steps.substr(0, steps.find('\n'));
    steps.remove_prefix(std::min(line.size() + 1, steps.size()));
    line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
    const std::string_view word = line.substr(0, line.find_first_of(kEndsWord));
    if (word == "exec" || word == "x") return true;
  }
  return false;
}

}  // namespace odyssey::pattern
