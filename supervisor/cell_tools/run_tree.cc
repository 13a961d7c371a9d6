#include "supervisor/cell_tools/run_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "supervisor/cell_tools/directory_stream.h"

namespace odyssey::cell_tools {
namespace {

constexpr const char* kRunDirectories[] = {"inbox", "outbox", "work", "tmp"};
constexpr mode_t kDirectoryMode = 0755;
constexpr int kDirectoryFlags = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

// Why the directory `name` could not be entered.
Status EnterError(int error, int parent, const std::string& name, const std::string& absolute) {
  struct stat info;
  if (fstatat(parent, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(info.st_mode)) {
    return PermissionDenied(absolute + ": a symbolic link is in the way");
  }
  return ErrnoStatus(error, "open " + absolute);
}

}  // namespace

Result<UniqueFd> RunTree::OpenDirectory(const std::string& path) const {
  if (path.empty()) {
    UniqueFd runs(open(path_.c_str(), O_RDONLY | kDirectoryFlags));
    if (!runs) return ErrnoStatus(errno, "open " + path_);
    return runs;
  }
  ODY_ASSIGN_OR_RETURN(const Location at, Locate(path));
  UniqueFd fd(openat(at.directory.get(), at.name.c_str(), O_RDONLY | kDirectoryFlags));
  if (!fd) return EnterError(errno, at.directory.get(), at.name, at.absolute);
  return fd;
}

Result<Location> RunTree::Locate(const std::string& path, MissingParents missing,
                                 uint32_t* made) const {
  Location at;
  const bool from_root = path[0] == '/';
  at.directory.reset(open(from_root ? "/" : path_.c_str(), O_PATH | kDirectoryFlags));
  if (!at.directory) return ErrnoStatus(errno, "open " + path_);
  for (size_t begin = from_root ? 1 : 0;;) {
    const size_t end = std::min(path.find('/', begin), path.size());
    at.name = path.substr(begin, end - begin);
    at.absolute = Absolute(path.substr(0, end));
    if (at.name.empty() || at.name == "." || at.name == "..") {
      return InvalidArgument("path \"" + path + "\": names without \".\" and \"..\"");
    }
    if (end == path.size()) return at;
    const int parent = at.directory.get();
    if (missing == MissingParents::kCreate && mkdirat(parent, at.name.c_str(), kDirectoryMode) == 0)
      ++*made;
    UniqueFd next(openat(parent, at.name.c_str(), O_PATH | kDirectoryFlags));
    if (!next) return EnterError(errno, parent, at.name, at.absolute);
    at.directory = std::move(next);
    begin = end + 1;
  }
}

Status RunTree::Make(const std::string& run) const {
  uint32_t made = 0;
  const std::string any = run + "/" + kRunDirectories[0];
  ODY_ASSIGN_OR_RETURN(const Location at, Locate(any, MissingParents::kCreate, &made));
  for (const char* directory : kRunDirectories) {
    if (mkdirat(at.directory.get(), directory, kDirectoryMode) != 0 && errno != EEXIST) {
      return ErrnoStatus(errno, "create " + Absolute(run) + "/" + directory);
    }
  }
  return OkStatus();
}

Status RunTree::Rename(const std::string& spare, const std::string& run) const {
  ODY_ASSIGN_OR_RETURN(const UniqueFd runs, OpenDirectory(""));
  if (renameat2(runs.get(), spare.c_str(), runs.get(), run.c_str(), RENAME_NOREPLACE) == 0) {
    return OkStatus();
  }
  if (errno == EEXIST) return AlreadyExists(Absolute(run) + ": is there already");
  return ErrnoStatus(errno, "create " + Absolute(run));
}

uint32_t RunTree::Count(uint32_t most) const {
  Result<UniqueFd> runs = OpenDirectory("");
  if (!runs.ok()) return 0;
  DirectoryStream stream(std::move(runs).value());
  uint32_t count = 0;
  while (stream.ok() && count < most && stream.Next() != nullptr) ++count;
  return count;
}

}  // namespace odyssey::cell_tools
