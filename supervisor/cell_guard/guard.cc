#include "supervisor/cell_guard/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "supervisor/cell_guard/directory.h"
#include "supervisor/cell_guard/open_file.h"
#include "supervisor/cell_guard/open_operations.h"
#include "supervisor/cell_guard/operation.h"
#include "supervisor/cell_guard/session.h"

namespace odyssey::cell_guard {
namespace {

constexpr double kCachedSeconds = 1;

bool IsDirectory(const Place& place) {
  struct stat info;
  return fstatat(place.directory.get(), place.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISDIR(info.st_mode);
}

// The answer to an open.
int Give(UniqueFd fd, fuse_file_info* info) {
  MutableTree().open_nodes.Opened(fd.get());
  info->fh = static_cast<uint64_t>(fd.release());
  return 0;
}

// `act(directory, name)` at the place of `path`.
template <typename Act>
int At(const char* path, Act act) {
  Place place;
  if (const int error = Tree().Enter(path, &place); error != 0) return -error;
  return Done(act(place.directory.get(), place.name.c_str()));
}

// What the kernel asks about a file: by what is open if it says so, else by its path, whatever is
// there now, and if there is nothing, by what is open all the same (open_nodes.h).
template <typename ByPath, typename ByHandle>
int ByPathOrHandle(const char* path, const fuse_file_info* info, ByPath by_path,
                   ByHandle by_handle) {
  if (info != nullptr && (info->fh & kIfPathFails) == 0) return by_handle();
  const int result = path == nullptr ? -ENOENT : by_path();
  return result == -ENOENT && info != nullptr ? by_handle() : result;
}

// What is there itself, whatever has its name a moment later.
UniqueFd Pin(const Place& place) {
  return UniqueFd(
      openat(place.directory.get(), place.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
}

std::string LinkTo(const UniqueFd& fd) { return "/proc/self/fd/" + std::to_string(fd.get()); }

// Calls that follow links and have no other form: through the descriptor of what is there itself.
template <typename Act>
int ThroughDescriptor(const char* path, Act act) {
  Place place;
  if (const int error = Tree().Enter(path, &place); error != 0) return -error;
  const UniqueFd fd = Pin(place);
  if (!fd) return -errno;
  if (const int error = OpenFile(Tree(), fd.get()).Refusal(); error != 0) return -error;
  return Done(act(LinkTo(fd).c_str()));
}

// Of a repository, but for its objects, which are what they are from the first moment.
bool IsGits(std::string_view path) {
  constexpr std::string_view kGit = "/.git/", kObjects = "objects/";
  const size_t at = path.find(kGit);
  return at != path.npos && path.substr(at + kGit.size(), kObjects.size()) != kObjects;
}

// How long the kernel may go by an answer. Not by one about git's own files: a process that writes
// a reference has read it under its lock, and so the one that is there, not that of a second ago.
// Nor by a name beside a file that commands lock: a database's journal is there or not.
void DecideCaching(const char* path) {
  const bool changes = path == nullptr || IsGits(path);
  const bool may_go = changes || Tree().locked_in.HasParentOf(path);
  Tree().caching->attr_timeout = changes ? 0 : kCachedSeconds;
  Tree().caching->entry_timeout = may_go ? 0 : kCachedSeconds;
}

int LookAt(const char* path, struct stat* out, fuse_file_info* info) {
  const auto by_path = [=] {
    return At(path, [out](int directory, const char* name) {
      return fstatat(directory, name, out, AT_SYMLINK_NOFOLLOW);
    });
  };
  return ByPathOrHandle(path, info, by_path, [=] {
    const int error = OpenFile(Tree(), Handle(info)).Refusal();
    return error != 0 ? -error : Done(fstat(Handle(info), out));
  });
}

int GetAttributes(const char* path, struct stat* out, fuse_file_info* info) {
  DecideCaching(path);
  const int result = LookAt(path, out, info);
  // The kernel knows each name of a file for itself: one would tell what another changed too late.
  if (result == 0 && out->st_nlink > 1 && !S_ISDIR(out->st_mode)) Tree().caching->attr_timeout = 0;
  // A group that has no number here would make the owner's own file unusable to him.
  if (result == 0 && out->st_uid == geteuid()) out->st_gid = getegid();
  return result;
}

int ReadLink(const char* path, char* buffer, size_t size) {
  return At(path, [&](int directory, const char* name) {
    const ssize_t n = readlinkat(directory, name, buffer, size - 1);
    if (n >= 0) buffer[n] = '\0';
    return n < 0 ? -1 : 0;
  });
}

int MakeNode(const char* path, mode_t mode, dev_t) {
  if (!S_ISFIFO(mode) && !S_ISSOCK(mode)) return -EPERM;  // libfuse makes files with Create
  return At(path,
            [mode](int directory, const char* name) { return mknodat(directory, name, mode, 0); });
}

int MakeDirectory(const char* path, mode_t mode) {
  return At(path,
            [mode](int directory, const char* name) { return mkdirat(directory, name, mode); });
}

int Unlink(const char* path) {
  return At(path, [](int directory, const char* name) { return unlinkat(directory, name, 0); });
}

int RemoveDirectory(const char* path) {
  return At(path, [](int directory, const char* name) {
    return unlinkat(directory, name, AT_REMOVEDIR);
  });
}

int MakeSymlink(const char* target, const char* path) {
  return At(path, [target](int directory, const char* name) {
    return symlinkat(target, directory, name);
  });
}

// A directory takes what is below it along: it goes nowhere where more or less of that is covered.
// The cell has no other way to this tree, its calls come one at a time, and those of another cell
// wait where they could make one of a file: what is a directory here is one below.
int Rename(const char* from, const char* to, unsigned flags) {
  Place target;
  Place source;
  if (const int error = Tree().Enter(to, &target); error != 0) return -error;
  if (const int error = Tree().Enter(from, &source); error != 0) return -error;
  const ChangeLock lock = Tree().LockToRename();
  if (lock.error() != 0) return -lock.error();
  const bool directory = IsDirectory(source) || IsDirectory(target);
  if (directory && Tree().CoversOtherwise(from, to)) return -EACCES;
  return Done(renameat2(source.directory.get(), source.name.c_str(), target.directory.get(),
                        target.name.c_str(), flags));
}

int Link(const char* from, const char* to) {
  Place target;
  Place source;
  if (const int error = Tree().Enter(to, &target); error != 0) return -error;
  if (const int error = Tree().Enter(from, &source); error != 0) return -error;
  const UniqueFd fd = Pin(source);  // another cell may exchange what is looked at
  if (!fd) return -errno;
  return Done(linkat(AT_FDCWD, LinkTo(fd).c_str(), target.directory.get(), target.name.c_str(),
                     AT_SYMLINK_FOLLOW));
}

int ChangeMode(const char* path, mode_t mode, fuse_file_info* info) {
  const auto by_path = [=] {
    return ThroughDescriptor(path, [mode](const char* link) { return chmod(link, mode); });
  };
  return ByPathOrHandle(path, info, by_path, [=] {
    return ChangeOpen(info, [mode](int fd) { return fchmod(fd, mode); });
  });
}

int ChangeOwner(const char* path, uid_t uid, gid_t gid, fuse_file_info* info) {
  const auto by_path = [=] {
    return At(path, [=](int directory, const char* name) {
      return fchownat(directory, name, uid, gid, AT_SYMLINK_NOFOLLOW);
    });
  };
  return ByPathOrHandle(path, info, by_path, [=] {
    return ChangeOpen(info, [=](int fd) { return fchown(fd, uid, gid); });
  });
}

int Truncate(const char* path, off_t size, fuse_file_info* info) {
  // Of the calls that set something only ftruncate(2) comes with a descriptor.
  const auto change = [size](int fd) { return ftruncate(fd, size); };
  if (info != nullptr) return ChangeOpen(info, change);
  return ThroughDescriptor(path, [size](const char* link) { return truncate(link, size); });
}

int SetTimes(const char* path, const timespec times[2], fuse_file_info* info) {
  const auto by_path = [=] {
    return At(path, [times](int directory, const char* name) {
      return utimensat(directory, name, times, AT_SYMLINK_NOFOLLOW);
    });
  };
  return ByPathOrHandle(path, info, by_path, [=] {
    return ChangeOpen(info, [times](int fd) { return futimens(fd, times); });
  });
}

// Judged by what was opened, before it is truncated. Each write says whether it appends: a command
// can change that of what it has open, and what the kernel has cached goes where it belongs.
int OpenAt(const Place& place, int flags, mode_t mode, fuse_file_info* info) {
  const bool truncate = (flags & O_TRUNC) != 0;
  flags = (flags & ~(O_TRUNC | O_APPEND)) | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
  if (truncate && (flags & O_ACCMODE) == O_RDONLY) flags |= O_RDWR;  // what ftruncate needs
  UniqueFd fd(openat(place.directory.get(), place.name.c_str(), flags, mode));
  if (!fd) return -errno;
  if ((flags & O_ACCMODE) != O_RDONLY) {
    const int error = OpenFile(Tree(), fd.get()).Refusal();
    if (error != 0) return -error;
  }
  if (truncate && ftruncate(fd.get(), 0) != 0) return -errno;
  return Give(std::move(fd), info);
}

int Open(const char* path, fuse_file_info* info) {
  Place place;
  if (const int error = Tree().Enter(path, &place); error != 0) return -error;
  if (!Tree().IsRoomToOpen()) return -EMFILE;
  if (IsGits(path)) MutableTree().open_nodes.ReadAnew();
  // A close then sends no FLUSH: what was only read has nothing to write back, and no locks to
  // give back where there are none. (A first one is given back with its open file.)
  const bool only_read = (info->flags & O_ACCMODE) == O_RDONLY;
  info->noflush = only_read && !Tree().locked_in.HasParentOf(path) ? 1 : 0;
  return OpenAt(place, info->flags, 0, info);
}

int Create(const char* path, mode_t mode, fuse_file_info* info) {
  Place place;
  if (const int error = Tree().Enter(path, &place); error != 0) return -error;
  if (!Tree().IsRoomToOpen()) return -EMFILE;
  return OpenAt(place, info->flags | O_CREAT, mode, info);
}

int Statistics(const char*, struct statvfs* out) { return Done(fstatvfs(Tree().root.get(), out)); }

int Access(const char* path, int mode) {
  if (std::string* asked = Tree().asked_path; asked != nullptr) {
    *asked = path;
    return 0;
  }
  return At(path, [mode](int directory, const char* name) {
    return faccessat(directory, name, mode, AT_SYMLINK_NOFOLLOW);
  });
}

int OpenDirectory(const char* path, fuse_file_info* info) {
  Place place;
  if (const int error = Tree().Enter(path, &place); error != 0) return -error;
  if (!Tree().IsRoomToOpen()) return -EMFILE;
  Directory* opened = Directory::Open(place.directory.get(), place.name.c_str());
  if (opened == nullptr) return -errno;
  info->fh = reinterpret_cast<uint64_t>(opened);
  MutableTree().open_nodes.Opened(opened->fd());
  return 0;
}

void* Begin(fuse_conn_info* connection, fuse_config* config) {
  config->use_ino = 1;
  // Unlinked files are reached by their handle; without this libfuse would hide them under a name.
  config->hard_remove = 1;
  // What the host changes is seen within a second, and see DecideCaching. A refusal is never
  // remembered.
  config->entry_timeout = config->attr_timeout = kCachedSeconds;
  config->negative_timeout = 0;
  config->auto_cache = 1;
  // What is written is copied in any case: a pipe for each connection would only cost.
  connection->want &= ~static_cast<unsigned>(FUSE_CAP_SPLICE_READ);
  // They are answered before libfuse sees them: file_locks.h.
  connection->want |= connection->capable & (FUSE_CAP_POSIX_LOCKS | FUSE_CAP_FLOCK_LOCKS);
  MutableTree().caching = config;
  return fuse_get_context()->private_data;
}

fuse_operations Operations() {
  fuse_operations ops{};
  ops.init = Begin;
  ops.getattr = GetAttributes;
  ops.readlink = ReadLink;
  ops.mknod = MakeNode;
  ops.mkdir = MakeDirectory;
  ops.unlink = Unlink;
  ops.rmdir = RemoveDirectory;
  ops.symlink = MakeSymlink;
  ops.rename = Rename;
  ops.link = Link;
  ops.chmod = ChangeMode;
  ops.chown = ChangeOwner;
  ops.truncate = Truncate;
  ops.utimens = SetTimes;
  ops.open = Open;
  ops.create = Create;
  ops.read = Read;
  ops.write = Write;
  ops.flush = Flush;
  ops.release = Release;
  ops.fsync = Sync;
  ops.fallocate = Allocate;
  ops.lseek = Seek;
  ops.statfs = Statistics;
  ops.access = Access;
  ops.opendir = OpenDirectory;
  ops.readdir = ReadDirectory;
  ops.releasedir = ReleaseDirectory;
  return ops;
}

}  // namespace

Status Serve(std::vector<GuardedTree> trees) {
  umask(0);  // the kernel has applied the command's own
  for (GuardedTree& tree : trees) {
    tree.root_path = PathOf(tree.root.get());
    if (!tree.RenamesTakeTurns()) continue;
    tree.to_rename.emplace_back(openat(tree.root.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  return ServeSessions(&trees, Operations());
}

}  // namespace odyssey::cell_guard
