#ifndef ODYSSEY_POLICY_PATTERN_GIT_DIRECTORY_H_
#define ODYSSEY_POLICY_PATTERN_GIT_DIRECTORY_H_

// What the names in a git directory (".git", or a repository without a working tree) are to the git
// that reads it later: which of them it obeys, and what it takes the directory for a repository by.
// Pure.

#include <span>
#include <string_view>
#include <vector>

namespace odyssey::pattern {

enum class GitName {
  kData,       // anything else
  kObeyed,     // git runs it or takes settings from it; with everything below
  kSettings,   // the same; git writes it anew also where that changes nothing
  kNeeded,     // a directory that stays where it is: without most git takes this for no repository
  kHead,       // the same, but replaced with each checkout
  kIndex,      // replaced as a whole; git trusts the paths in it (git_index.h)
  kLock,       // becomes one of these, by a rename of whoever made it
  kLeadsBack,  // of a linked working tree: where its repository is
  kState,      // of an operation that goes on later: git runs what some of it names
  kHidden      // git reads files of the working tree, and of wherever its links lead, into it
};

// `path` is relative to the git directory, "" the git directory itself.
GitName NameInGitDirectory(std::string_view path);

// True for a directory below which names are obeyed because of its own name and place: another
// directory may not come there, nor it go elsewhere.
bool GivesNamesTheirMeaning(std::string_view directory);

// Names that git obeys wherever they lie in a git directory that it uses: at the top, in
// worktrees/*, and in those of submodules.
struct ObeyedName {
  std::string_view name;
  std::string_view why;
};
std::span<const ObeyedName> ObeyedNames();

// kHead, kIndex and kState at the top of a git directory.
std::vector<std::string_view> FilesKeptByContent();

// What git writes there when it makes a linked working tree, and all that may be there.
inline constexpr std::string_view kLeadsBack = "../..\n";

// True if git takes `text` for the content of HEAD: the name of a reference, or of a commit.
inline constexpr size_t kMaxHeadBytes = 1024;
bool IsValidHead(std::string_view text);

// True if git runs nothing, and writes nothing outside of the working tree, because of a file
// kState at `path` with this content. NULs end a word, as in git.
inline constexpr size_t kMaxStateBytes = 1024 * 1024;
bool IsHarmlessState(std::string_view path, std::string_view text);

}  // namespace odyssey::pattern

#endif  // ODYSSEY_POLICY_PATTERN_GIT_DIRECTORY_H_
