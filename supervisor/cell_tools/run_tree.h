#ifndef ODYSSEY_SUPERVISOR_CELL_TOOLS_RUN_TREE_H_
#define ODYSSEY_SUPERVISOR_CELL_TOOLS_RUN_TREE_H_

// The directories of runs, <runs>/<run>/{inbox,outbox,work,tmp}, and other places of the cell. The
// caller runs in the cell with the rights of its commands, and they may rearrange what is there at
// any moment: a path is walked a component at a time, and no symbolic link is followed, wherever it
// leads.

#include <cstdint>
#include <string>

#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "supervisor/cell_tools/path_resolver.h"

namespace odyssey::cell_tools {

class RunTree final {
 public:
  // `path` is absolute; it need not exist before it is used.
  explicit RunTree(std::string path) : path_(std::move(path)) {}

  // Makes the directories of `run`; those that are there stay.
  Status Make(const std::string& run) const;
  // Gives the directories `spare` the name `run`. ALREADY_EXISTS if there is one.
  Status Rename(const std::string& spare, const std::string& run) const;
  // How many entries there are, counted up to `most`.
  uint32_t Count(uint32_t most) const;

  // Where `path`, absolute or relative to the runs, leads: its directory, and a last name that may
  // be anything or nothing. kCreate makes missing directories and adds their number to `*made`.
  // PERMISSION_DENIED "…: a symbolic link is in the way".
  Result<Location> Locate(const std::string& path, MissingParents missing = MissingParents::kError,
                          uint32_t* made = nullptr) const;
  // The directory that `path` names; the runs themselves for "".
  Result<UniqueFd> OpenDirectory(const std::string& path) const;

 private:
  std::string Absolute(const std::string& path) const {
    return path[0] == '/' ? path : path_ + "/" + path;
  }

  std::string path_;
};

}  // namespace odyssey::cell_tools

#endif  // ODYSSEY_SUPERVISOR_CELL_TOOLS_RUN_TREE_H_
