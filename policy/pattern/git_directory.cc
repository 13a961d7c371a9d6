#include "policy/pattern/git_directory.h"

#include <algorithm>

namespace odyssey::pattern {
namespace {

constexpr std::string_view kWorktrees = "worktrees";
constexpr std::string_view kModules = "modules";
constexpr std::string_view kCommonDirectory = "commondir";
constexpr std::string_view kRecords = "rr-cache";
constexpr std::string_view kMeaningful[] = {"objects/info", "rebase-merge", "rebase-apply",
                                            "sequencer"};

// With which git merges by itself; it runs git-merge-NAME for any other.
constexpr std::string_view kBuiltinStrategies[] = {"ort",     "recursive", "octopus",
                                                   "resolve", "ours",      "subtree"};

// With the locks of those that a cell has no reason to replace: who has one open while git on the
// host writes it would have the file itself open afterwards.
constexpr ObeyedName kObeyedNames[] = {
    {"config", "names programs that git runs"},
    {"config.worktree", "the same as config, for one working tree"},
    {"config.worktree.lock", "becomes config.worktree"},
    {kCommonDirectory, "leads git to another configuration and other hooks"},
    {"hooks", "git runs the programs in it"},
    {"remotes", "says where git fetches from, in the old way"},
    {"branches", "the same, in a still older one"},
    {"objects/info/alternates", "says where git takes objects from"},
    {"objects/info/alternates.lock", "becomes objects/info/alternates"},
};

// With everything below.
bool IsObeyed(std::string_view path) {
  return std::any_of(
      std::begin(kObeyedNames), std::end(kObeyedNames), [path](const ObeyedName& obeyed) {
        const size_t size = obeyed.name.size();
        return path.substr(0, size) == obeyed.name && (path.size() == size || path[size] == '/');
      });
}

// Takes the first component off; "" if there is none.
std::string_view TakeFirst(std::string_view* path) {
  const std::string_view first = path->substr(0, path->find('/'));
  path->remove_prefix(std::min(first.size() + 1, path->size()));
  return first;
}

template <typename Names>
bool IsOneOf(std::string_view name, const Names& names) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// NULs end a word, as in git.
bool RunsNoCommands(std::string_view steps) {
  constexpr std::string_view kBlank = " \t";
  constexpr std::string_view kEndsWord(" \t\r\0", 4);
  while (!steps.empty()) {
    std::string_view line = steps.substr(0, steps.find('\n'));
    steps.remove_prefix(std::min(line.size() + 1, steps.size()));
    line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
    const std::string_view word = line.substr(0, line.find_first_of(kEndsWord));
    if (word == "exec" || word == "x") return false;
  }
  return true;
}

// Empty as well: it is made before it is written.
bool IsBuiltinStrategy(std::string_view text) {
  if (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  return text.empty() || IsOneOf(text, kBuiltinStrategies);
}

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// A file in the form of git's configuration: each key "strategy" as git writes it, with the name of
// one of its own. "strategy-option" is an option of those.
bool NamesBuiltinStrategies(std::string_view text) {
  constexpr std::string_view kKey = "strategy";
  constexpr std::string_view kOption = "-option";
  constexpr std::string_view kIs = " = ";
  const auto same = [](char a, char b) { return Lower(a) == b; };
  for (;;) {
    const auto found = std::search(text.begin(), text.end(), kKey.begin(), kKey.end(), same);
    if (found == text.end()) return true;
    text.remove_prefix(static_cast<size_t>(found - text.begin()) + kKey.size());
    if (text.substr(0, kOption.size()) == kOption) continue;
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.substr(0, kIs.size()) != kIs) return false;
    if (!IsOneOf(line.substr(kIs.size()), kBuiltinStrategies)) return false;
  }
}

// The options that git am hands on to git apply, each quoted by itself. There are others by which
// that one writes outside of the working tree.
bool AreOptionsOfApply(std::string_view text) {
  constexpr std::string_view kAllowed[] = {"--whitespace=",
                                           "--ignore-space-change",
                                           "--ignore-whitespace",
                                           "--exclude=",
                                           "--include=",
                                           "--directory=",
                                           "--reject",
                                           "-C",
                                           "-p"};
  if (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  while (!text.empty()) {
    if (text.substr(0, 2) != " '") return false;
    text.remove_prefix(2);
    const std::string_view option = text.substr(0, text.find('\''));
    if (option.size() == text.size()) return false;
    if (std::none_of(std::begin(kAllowed), std::end(kAllowed), [option](std::string_view allowed) {
          return option.substr(0, allowed.size()) == allowed;
        })) {
      return false;
    }
    text.remove_prefix(option.size() + 1);
  }
  return true;
}

// What it names git copies from and to.
bool IsEmpty(std::string_view text) { return text.empty(); }

struct Judged {
  std::string_view path;
  bool (*is_harmless)(std::string_view text);
};
constexpr Judged kStates[] = {
    {"rebase-merge/git-rebase-todo", RunsNoCommands}, {"sequencer/opts", NamesBuiltinStrategies},
    {"rebase-apply/apply-opt", AreOptionsOfApply},    {"rebase-merge/strategy", IsBuiltinStrategy},
    {"rebase-apply/strategy", IsBuiltinStrategy},     {"MERGE_RR", IsEmpty},
};

bool IsState(std::string_view path) {
  return std::any_of(std::begin(kStates), std::end(kStates),
                     [path](const Judged& state) { return state.path == path; });
}

// What a name is to every git directory, be it of a submodule or of one working tree.
GitName NameInAny(std::string_view path) {
  if (path == "index" || path.substr(0, 12) == "sharedindex.") return GitName::kIndex;
  if (path == "index.lock" || path.substr(0, 12) == "sharedindex_") return GitName::kLock;
  if (path == "config") return GitName::kSettings;
  if (path == "config.lock") return GitName::kLock;
  if (path == "sequencer/opts.lock" || path == "MERGE_RR.lock") return GitName::kLock;
  if (IsState(path)) return GitName::kState;
  if (IsObeyed(path)) return GitName::kObeyed;
  if (TakeFirst(&path) != kRecords) return GitName::kData;
  return path.empty() ? GitName::kNeeded : GitName::kHidden;
}

// The git directories of submodules lie below modules, at any depth: their names have slashes.
GitName NameInModules(std::string_view rest) {
  while (!rest.empty()) {
    const GitName name = NameInAny(rest);
    if (name != GitName::kData) return name;
    TakeFirst(&rest);
  }
  return GitName::kData;
}

GitName NameInWorktrees(std::string_view rest) {
  TakeFirst(&rest);
  return rest == kCommonDirectory ? GitName::kLeadsBack : NameInAny(rest);
}

bool IsHex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

}  // namespace

GitName NameInGitDirectory(std::string_view path) {
  if (path == "HEAD") return GitName::kHead;
  if (path == "HEAD.lock") return GitName::kLock;
  if (path.empty() || path == "objects" || path == "refs") return GitName::kNeeded;
  const GitName name = NameInAny(path);
  if (name != GitName::kData) return name;
  const std::string_view first = TakeFirst(&path);
  if (first == kWorktrees) return NameInWorktrees(path);
  if (first == kModules) return NameInModules(path);
  return GitName::kData;
}

bool GivesNamesTheirMeaning(std::string_view directory) {
  if (IsOneOf(directory, kMeaningful)) return true;
  const std::string_view first = TakeFirst(&directory);
  if (first == kModules) return true;
  if (first != kWorktrees) return false;
  TakeFirst(&directory);
  return directory.empty() || IsOneOf(directory, kMeaningful);
}

std::span<const ObeyedName> ObeyedNames() { return kObeyedNames; }

std::vector<std::string_view> FilesKeptByContent() {
  std::vector<std::string_view> out = {"HEAD", "index"};
  for (const Judged& state : kStates) out.push_back(state.path);
  return out;
}

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

bool IsHarmlessState(std::string_view path, std::string_view text) {
  // In whichever git directory it lies.
  const auto is = [path](const Judged& state) {
    const std::string_view name = state.path;
    if (path.size() <= name.size()) return path == name;
    const size_t at = path.size() - name.size();
    return path.substr(at) == name && path[at - 1] == '/';
  };
  const auto state = std::find_if(std::begin(kStates), std::end(kStates), is);
  return state != std::end(kStates) && state->is_harmless(text);
}

}  // namespace odyssey::pattern
