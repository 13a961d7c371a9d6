#ifndef ODYSSEY_CTL_FILE_NAMED_PLACE_H_
#define ODYSSEY_CTL_FILE_NAMED_PLACE_H_

// A file or directory that a person named: in an option, a policy, a bundle. Its path is walked
// once, one component after the other, each from the descriptor of the directory before it; what
// the walk opened is what is used. Here that is the descriptor, and towards the supervisor the name
// with device and inode, which root compares with what it opens. tests/lint/by_name.txt lists the
// files of ctl that open anything by its name, and why they may.

#include <sys/stat.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "policy/model/request.h"

namespace odyssey::ctl {

class PathWalk;

// Only a walk makes one.
class NamedPlace final {
 public:
  // Absolute, without symbolic links.
  const std::string& name() const { return name_; }
  // O_PATH. Borrowed.
  int fd() const { return fd_.get(); }
  mode_t mode() const { return info_.st_mode; }
  bool is_directory() const { return S_ISDIR(info_.st_mode); }
  policy::FileIdentity identity() const { return {info_.st_dev, info_.st_ino}; }

  // The file itself, for reading. INVALID_ARGUMENT if it is no regular file: no FIFO is waited for.
  Result<UniqueFd> OpenFile() const;

 private:
  friend class PathWalk;
  NamedPlace(std::string name, UniqueFd fd, const struct stat& info)
      : name_(std::move(name)), fd_(std::move(fd)), info_(info) {}

  std::string name_;
  UniqueFd fd_;
  struct stat info_;
};

// Which symbolic links are followed. Those in /, /home and /var and in and below /usr and /etc are
// the system's: no cell is given these to write. Any other could have been made by a command in a
// cell, to lead what is named next to a place that the command is not shown.
enum class Links {
  kSystem,     // only the system's
  kBelow,      // and one that leads to something below the directory it is in, on the same file
               // system, all of one owner, which has that directory already; or below
               // /usr, which every cell is shown; and a link of this user's, or root's, in /tmp or
               // /root themselves, which no cell is given to write
  kFileItself  // and the last component, of a file that is only read and named by a person
};

struct Walk {
  Status status;                    // OK: `place` is there
  std::optional<NamedPlace> place;  // what was named
  std::string name;  // the place's; of what is not there, or not followed, as far as it can be told
  bool last_is_link = false;
  std::string followed;      // by kBelow: the first such link
  std::string planted_link;  // FAILED_PRECONDITION: the link that is not followed
  // NOT_FOUND: the directory in which `missing`, a relative path, does not exist.
  std::optional<NamedPlace> above;
  std::string missing;
};

// NOT_FOUND, PERMISSION_DENIED and the like name the path. A relative one begins at the working
// directory, whose own name does not count.
Walk WalkPath(const std::string& path, Links links = Links::kSystem);

// The same, if only the place is of interest.
Result<NamedPlace> OpenNamedPlace(const std::string& path, Links links = Links::kSystem);

// Where a file is or will be: its directory, and its name there. INVALID_ARGUMENT for ".", "..".
struct NamedEntry {
  NamedPlace directory;
  std::string name;
};
Result<NamedEntry> OpenDirectoryOf(const std::string& path);

// Replaces the file, or makes it, whole or not at all; a link in its place is replaced. "replacing
// PATH" in errors.
Status ReplaceNamedFile(const std::string& path, std::string_view bytes, mode_t mode);

// The places that one call of ctl was named. Each path is walked once, and what it leads to is kept
// open, so that its inode number is not given to another file.
class NamedPlaces final {
 public:
  // Valid as long as this object.
  const Walk& Look(const std::string& path, Links links = Links::kSystem);
  // A directory, made with those above it if it is missing; Look finds it from then on.
  Result<const NamedPlace*> Make(const std::string& path, mode_t mode);
  // The whole file, at most `max_bytes`. What this process was given open, as /dev/stdin and
  // /dev/fd/N name it, is read whatever it is.
  Result<std::string> Read(const std::string& path, Links links, size_t max_bytes);

 private:
  const Walk& Keep(const std::string& path, Links links, Walk walk);

  std::map<std::pair<Links, std::string>, std::shared_ptr<const Walk>> walks_;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_FILE_NAMED_PLACE_H_
