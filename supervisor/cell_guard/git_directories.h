#ifndef ODYSSEY_SUPERVISOR_CELL_GUARD_GIT_DIRECTORIES_H_
#define ODYSSEY_SUPERVISOR_CELL_GUARD_GIT_DIRECTORIES_H_

// The repositories of a guarded tree, and which changes in their git directories are refused, so
// that the host's git runs nothing of the cell's and goes on taking them for what they are. Names
// are judged by policy/pattern/git_directory.h.

#include <sys/stat.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/pattern/git_directory.h"
#include "supervisor/cell_guard/change_lock.h"
#include "supervisor/cell_guard/tree_walk.h"

namespace odyssey::cell_guard {

enum class Change {
  kMake,  // a regular file, by opening it
  kMakeNode,
  kMakeDirectory,
  kMakeLink,  // a symbolic one
  kRemove,
  kContent,
  kLayout,  // content that moves in the file, or goes
  kMode,
  kTimes
};

class GitDirectories final {
 public:
  // Those of `paths` that are repositories now, by their HEAD. Paths are relative to `tree`, which
  // is borrowed; "" is the tree itself.
  GitDirectories(int tree, const std::vector<std::string>& paths);

  bool empty() const { return directories_.empty(); }

  // To be held while a change is judged and made. Two guards, each right by itself, could else make
  // together what neither of them would: one renames what the other has changed after it was
  // judged.
  ChangeLock Lock() const { return ChangeLock(opened_); }
  // True if that is a lock of the tree itself, too.
  bool LocksTree() const;

  // Each 0, or the errno to answer. Paths are relative to the tree.
  int Refusal(std::string_view path, Change change) const;
  int RenameRefusal(std::string_view from, const Place& from_place, std::string_view to,
                    const Place& to_place, unsigned flags) const;
  int LinkRefusal(std::string_view from, const Place& from_place, std::string_view to) const;
  // Of writing these bytes into an open file that lies at `path` now.
  int WriteRefusal(std::string_view path, int fd, std::string_view bytes, off_t offset) const;

  // True if a file with several names has one that it may not be changed by, or that cannot be
  // known. Names below modules and worktrees are not looked at.
  bool HasKeptName(const struct stat& file) const;

  // True for what git changes while it works, the host's or another cell's: references, the index,
  // locks. Objects are what they are from the first moment.
  bool ChangesUnderneath(std::string_view path) const;

  // True for what is not shown at all.
  bool Hides(std::string_view path) const;

  // HEAD.lock and the like: whoever makes it holds the lock, and his rename makes it HEAD. So it is
  // made only where there is none, and changed, removed or renamed only by the cell if it is this
  // very file that the cell made. Else the host's own rename could make HEAD of what a cell has
  // written.
  bool IsLock(std::string_view path) const;
  // `fd` has just been made there, by nobody else.
  void HoldLock(int fd);

  // True for what is replaced only by what it holds already (RenameRefusal), and so stays.
  bool IsSettings(std::string_view path) const;

  // A name that may be made with pattern::kLeadsBack in it, and only so.
  bool LeadsBack(std::string_view path) const;

 private:
  // Of what `path` is in; kData outside of every git directory.
  pattern::GitName NameOf(std::string_view path) const;
  bool GivesMeaning(std::string_view path) const;
  bool Holds(std::string_view path) const;
  // A name by which git, in a repository that it takes for none for a moment, would find another
  // one in its place or on the way up.
  bool WouldBeFoundInstead(std::string_view path) const;

  bool IsOwnLock(std::string_view path) const;
  // Whether the file `name` at `path` may have this content.
  bool MayHold(pattern::GitName name, std::string_view path, std::string_view text) const;
  // Whether the file at `place` may become it.
  bool MayBecome(pattern::GitName name, std::string_view path, const Place& place) const;
  // Of a repository's configuration, which no cell changes; "" if there is none. nullopt if it
  // cannot be read.
  std::optional<std::string> ReadConfig(const std::string& path) const;
  // Of an object's name in the index at `path`, bytes. nullopt if the configuration, which says it,
  // cannot be read.
  std::optional<size_t> ObjectNameBytes(std::string_view path) const;

  int tree_;
  // Of the locks that the cell made, the latest: open, so that no other file gets their numbers.
  std::vector<UniqueFd> locks_;
  std::vector<std::string> directories_;
  std::vector<UniqueFd> opened_;  // the same, to be locked
};

}  // namespace odyssey::cell_guard

#endif  // ODYSSEY_SUPERVISOR_CELL_GUARD_GIT_DIRECTORIES_H_
