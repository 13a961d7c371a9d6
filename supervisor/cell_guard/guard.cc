#define FUSE_USE_VERSION 35

#include "supervisor/cell_guard/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <fuse_lowlevel.h>
#include <malloc.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "supervisor/cell_guard/directory.h"
#include "supervisor/cell_guard/tree_walk.h"

namespace odyssey::cell_guard {
namespace {

// libfuse's callbacks get nothing of ours but this.
const GuardedTree& Tree() {
  return *static_cast<const GuardedTree*>(fuse_get_context()->private_data);
}

std::string_view Relative(const char* path) {
  const std::string_view view(path);
  return view.substr(std::min(view.find_first_not_of('/'), view.size()));
}

bool Denied(const char* path) {
  const auto& deny = Tree().deny;
  return std::any_of(deny.begin(), deny.end(), [path](const pattern::PathPattern& pattern) {
    return pattern.Covers(Relative(path));
  });
}

bool IsDirectory(const Place& place) {
  struct stat info;
  return fstatat(place.directory.get(), place.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISDIR(info.st_mode);
}

// True if what is below a directory of one path would be covered otherwise under the other.
bool CoversOtherwise(const char* one, const char* other) {
  const auto& deny = Tree().deny;
  return std::any_of(deny.begin(), deny.end(), [&](const pattern::PathPattern& pattern) {
    return !pattern.IsSameBelow(Relative(one), Relative(other));
  });
}

// The one gate: every operation on a path passes it. 0, or the errno.
int Enter(const char* path, Place* place) {
  if (Denied(path)) return EACCES;
  return FindPlace(Tree().root.get(), path, place);
}

// The second gate, of what changes something.
int EnterToChange(const char* path, Change change, Place* place) {
  if (const int error = Enter(path, place); error != 0) return error;
  return Tree().git.Refusal(Relative(path), change);
}

int Handle(const fuse_file_info* info) { return static_cast<int>(info->fh); }

// As libfuse wants it: 0 or -errno.
int Done(int result) { return result < 0 ? -errno : 0; }

// `act(directory, name)` at the place of `path`.
template <typename Act>
int At(const char* path, Act act) {
  Place place;
  if (const int error = Enter(path, &place); error != 0) return -error;
  return Done(act(place.directory.get(), place.name.c_str()));
}

template <typename Act>
int ChangeAt(const char* path, Change change, Act act) {
  Place place;
  if (const int error = EnterToChange(path, change, &place); error != 0) return -error;
  return Done(act(place.directory.get(), place.name.c_str()));
}

// A change to an open file. It may have no name any more, or another one.
template <typename Act>
int ChangeOpen(fuse_file_info* info, Act act) {
  if (const int error = Tree().git.HandleRefusal(Handle(info)); error != 0) return -error;
  return Done(act(Handle(info)));
}

// Calls that follow links and have no other form: through the descriptor of what is there itself.
template <typename Act>
int ThroughDescriptor(const char* path, Change change, Act act) {
  Place place;
  if (const int error = EnterToChange(path, change, &place); error != 0) return -error;
  UniqueFd fd(openat(place.directory.get(), place.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return -errno;
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return -errno;
  if (S_ISLNK(info.st_mode)) return -EOPNOTSUPP;
  if (const int error = Tree().git.HandleRefusal(fd.get()); error != 0) return -error;
  const std::string link = "/proc/self/fd/" + std::to_string(fd.get());
  return Done(act(link.c_str()));
}

int GetAttributes(const char* path, struct stat* out, fuse_file_info* info) {
  if (info != nullptr) return Done(fstat(Handle(info), out));
  return At(path, [out](int directory, const char* name) {
    return fstatat(directory, name, out, AT_SYMLINK_NOFOLLOW);
  });
}

int ReadLink(const char* path, char* buffer, size_t size) {
  return At(path, [&](int directory, const char* name) {
    const ssize_t n = readlinkat(directory, name, buffer, size - 1);
    if (n >= 0) buffer[n] = '\0';
    return n < 0 ? -1 : 0;
  });
}

int MakeNode(const char* path, mode_t mode, dev_t) {
  if (!S_ISREG(mode) && !S_ISFIFO(mode) && !S_ISSOCK(mode)) return -EPERM;
  return ChangeAt(path, Change::kMakeNode, [mode](int directory, const char* name) {
    return mknodat(directory, name, mode, 0);
  });
}

int MakeDirectory(const char* path, mode_t mode) {
  return ChangeAt(path, Change::kMakeDirectory, [mode](int directory, const char* name) {
    return mkdirat(directory, name, mode);
  });
}

int Unlink(const char* path) {
  return ChangeAt(path, Change::kRemove,
                  [](int directory, const char* name) { return unlinkat(directory, name, 0); });
}

int RemoveDirectory(const char* path) {
  return ChangeAt(path, Change::kRemove, [](int directory, const char* name) {
    return unlinkat(directory, name, AT_REMOVEDIR);
  });
}

int MakeSymlink(const char* target, const char* path) {
  return ChangeAt(path, Change::kMakeLink, [target](int directory, const char* name) {
    return symlinkat(target, directory, name);
  });
}

// A directory takes what is below it along: it goes nowhere where more or less of that is covered.
// The cell has no other way to this tree, and its calls come one at a time: what is a directory
// here is one below.
int Rename(const char* from, const char* to, unsigned flags) {
  Place target;
  Place source;
  if (const int error = Enter(to, &target); error != 0) return -error;
  if (const int error = Enter(from, &source); error != 0) return -error;
  if ((IsDirectory(source) || IsDirectory(target)) && CoversOtherwise(from, to)) return -EACCES;
  const int error = Tree().git.RenameRefusal(Relative(from), source, Relative(to), target, flags);
  if (error != 0) return -error;
  return Done(renameat2(source.directory.get(), source.name.c_str(), target.directory.get(),
                        target.name.c_str(), flags));
}

int Link(const char* from, const char* to) {
  Place target;
  Place source;
  if (const int error = Enter(to, &target); error != 0) return -error;
  if (const int error = Enter(from, &source); error != 0) return -error;
  const int error = Tree().git.LinkRefusal(Relative(from), source, Relative(to));
  if (error != 0) return -error;
  return Done(linkat(source.directory.get(), source.name.c_str(), target.directory.get(),
                     target.name.c_str(), 0));
}

int ChangeMode(const char* path, mode_t mode, fuse_file_info* info) {
  if (info != nullptr) return ChangeOpen(info, [mode](int fd) { return fchmod(fd, mode); });
  return ThroughDescriptor(path, Change::kMode,
                           [mode](const char* link) { return chmod(link, mode); });
}

int ChangeOwner(const char* path, uid_t uid, gid_t gid, fuse_file_info* info) {
  if (info != nullptr) return ChangeOpen(info, [=](int fd) { return fchown(fd, uid, gid); });
  return ChangeAt(path, Change::kMode, [=](int directory, const char* name) {
    return fchownat(directory, name, uid, gid, AT_SYMLINK_NOFOLLOW);
  });
}

int Truncate(const char* path, off_t size, fuse_file_info* info) {
  if (info != nullptr) return ChangeOpen(info, [size](int fd) { return ftruncate(fd, size); });
  return ThroughDescriptor(path, Change::kContent,
                           [size](const char* link) { return truncate(link, size); });
}

int SetTimes(const char* path, const timespec times[2], fuse_file_info* info) {
  if (info != nullptr) return ChangeOpen(info, [=](int fd) { return futimens(fd, times); });
  return ChangeAt(path, Change::kTimes, [times](int directory, const char* name) {
    return utimensat(directory, name, times, AT_SYMLINK_NOFOLLOW);
  });
}

// Truncated only when it is known what was opened.
int OpenAt(const Place& place, int flags, mode_t mode, fuse_file_info* info) {
  const bool truncate = (flags & O_TRUNC) != 0;
  flags = (flags & ~O_TRUNC) | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
  if (truncate && (flags & O_ACCMODE) == O_RDONLY) flags |= O_RDWR;  // what ftruncate needs
  UniqueFd fd(openat(place.directory.get(), place.name.c_str(), flags, mode));
  if (!fd) return -errno;
  if ((flags & O_ACCMODE) != O_RDONLY) {
    if (const int error = Tree().git.HandleRefusal(fd.get()); error != 0) return -error;
  }
  if (truncate && ftruncate(fd.get(), 0) != 0) return -errno;
  info->fh = static_cast<uint64_t>(fd.release());
  return 0;
}

int Open(const char* path, fuse_file_info* info) {
  const int flags = info->flags & ~(O_CREAT | O_EXCL);
  const bool changes = (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC) != 0;
  Place place;
  const int error = changes ? EnterToChange(path, Change::kContent, &place) : Enter(path, &place);
  return error != 0 ? -error : OpenAt(place, flags, 0, info);
}

// A file that leads back to the repository is there with what belongs in it from the first moment.
// Its maker's handle cannot write: see Write.
int CreateLeadingBack(const Place& place, mode_t mode, fuse_file_info* info) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  const UniqueFd fd(openat(place.directory.get(), place.name.c_str(), kFlags, mode));
  if (!fd) return -errno;
  constexpr std::string_view kContent = pattern::kLeadsBack;
  if (write(fd.get(), kContent.data(), kContent.size()) < 0) return -errno;
  return OpenAt(place, O_RDONLY, 0, info);
}

int Create(const char* path, mode_t mode, fuse_file_info* info) {
  Place place;
  if (const int error = EnterToChange(path, Change::kMake, &place); error != 0) return -error;
  if (Tree().git.LeadsBack(Relative(path))) return CreateLeadingBack(place, mode, info);
  return OpenAt(place, info->flags | O_CREAT, mode, info);
}

int Read(const char*, char* buffer, size_t size, off_t offset, fuse_file_info* info) {
  const ssize_t n = pread(Handle(info), buffer, size, offset);
  return n < 0 ? -errno : static_cast<int>(n);
}

// True if the file has these bytes there already.
bool IsThere(int fd, std::string_view bytes, off_t offset) {
  char there[pattern::kLeadsBack.size()];
  const ssize_t n = pread(fd, there, sizeof(there), offset);
  return n >= 0 && std::string_view(there, static_cast<size_t>(n)).substr(0, bytes.size()) == bytes;
}

int Write(const char*, const char* buffer, size_t size, off_t offset, fuse_file_info* info) {
  if (const int error = Tree().git.HandleRefusal(Handle(info)); error != 0) return -error;
  const ssize_t n = pwrite(Handle(info), buffer, size, offset);
  if (n >= 0) return static_cast<int>(n);
  if (errno != EBADF) return -errno;
  // Of CreateLeadingBack: the kernel lets nobody else write here who opened it for reading.
  return IsThere(Handle(info), {buffer, size}, offset) ? static_cast<int>(size) : -EROFS;
}

// Each close(2) of a command: errors that the file system below keeps for it come out here.
int Flush(const char*, fuse_file_info* info) { return Done(close(dup(Handle(info)))); }

int Release(const char*, fuse_file_info* info) { return Done(close(Handle(info))); }

int Sync(const char*, int data_only, fuse_file_info* info) {
  return Done(data_only != 0 ? fdatasync(Handle(info)) : fsync(Handle(info)));
}

int Allocate(const char*, int mode, off_t offset, off_t length, fuse_file_info* info) {
  return ChangeOpen(info, [=](int fd) { return fallocate(fd, mode, offset, length); });
}

off_t Seek(const char*, off_t offset, int whence, fuse_file_info* info) {
  const off_t at = lseek(Handle(info), offset, whence);
  return at < 0 ? -errno : at;
}

int Statistics(const char*, struct statvfs* out) { return Done(fstatvfs(Tree().root.get(), out)); }

int Access(const char* path, int mode) {
  return At(path, [mode](int directory, const char* name) {
    return faccessat(directory, name, mode, 0);
  });
}

int OpenDirectory(const char* path, fuse_file_info* info) {
  return At(path, [info](int directory, const char* name) {
    Directory* opened = Directory::Open(directory, name);
    info->fh = reinterpret_cast<uint64_t>(opened);
    return opened == nullptr ? -1 : 0;
  });
}

int ReadDirectory(const char* path, void* buffer, fuse_fill_dir_t fill, off_t offset,
                  fuse_file_info* info, fuse_readdir_flags) {
  auto* directory = reinterpret_cast<Directory*>(info->fh);
  const std::string base = std::string(path) + "/";
  directory->Seek(offset);
  while (const dirent* entry = directory->Next()) {
    // A covered name is not shown: what cannot be opened is not there.
    if (Denied((base + entry->d_name).c_str())) continue;
    struct stat info_of_entry {};
    info_of_entry.st_ino = entry->d_ino;
    info_of_entry.st_mode = DTTOIF(entry->d_type);
    if (fill(buffer, entry->d_name, &info_of_entry, directory->position(),
             static_cast<fuse_fill_dir_flags>(0)) != 0) {
      break;
    }
  }
  return 0;
}

int ReleaseDirectory(const char*, fuse_file_info* info) {
  delete reinterpret_cast<Directory*>(info->fh);
  return 0;
}

void* Begin(fuse_conn_info* connection, fuse_config* config) {
  config->use_ino = 1;
  // Unlinked files are reached by their handle; without this libfuse would hide them under a name.
  config->hard_remove = 1;
  // What the host changes is seen within a second. A refusal is never remembered.
  config->entry_timeout = 1;
  config->attr_timeout = 1;
  config->negative_timeout = 0;
  config->auto_cache = 1;
  // What is written is copied in any case: a pipe for each connection would only cost.
  connection->want &= ~static_cast<unsigned>(FUSE_CAP_SPLICE_READ);
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

constexpr int kTableBytes = 32 * 1024;

// One tree's connection with the kernel.
class Session final {
 public:
  static Result<Session> Open(GuardedTree* tree, const fuse_operations& operations) {
    char name[] = "cell-guard";
    char* argv[] = {name, nullptr};
    fuse_args arguments = FUSE_ARGS_INIT(1, argv);
    Session session(fuse_new(&arguments, &operations, sizeof(operations), tree));
    if (session.fuse_ == nullptr) return Internal("start the guard's file system");
    const std::string mounted = "/dev/fd/" + std::to_string(tree->fuse.get());
    if (fuse_mount(session.fuse_.get(), mounted.c_str()) != 0) {
      return Internal("take over the guard's mount");
    }
    return session;
  }

  int fd() const { return fuse_session_fd(session()); }

  // What waits now, if anything does. False when it has been unmounted.
  Result<bool> ServeOne(fuse_buf* buffer) {
    const int received = fuse_session_receive_buf(session(), buffer);
    if (received == -EINTR || received == -EAGAIN) return true;
    if (received < 0) return ErrnoStatus(-received, "read the guard's requests");
    if (received > 0) fuse_session_process_buf(session(), buffer);
    return received > 0 && fuse_session_exited(session()) == 0;
  }

 private:
  struct Destroy {
    void operator()(struct fuse* fuse) const { fuse_destroy(fuse); }
  };

  explicit Session(struct fuse* fuse) : fuse_(fuse) {}
  fuse_session* session() const { return fuse_get_session(fuse_.get()); }

  std::unique_ptr<struct fuse, Destroy> fuse_;
};

}  // namespace

Status Serve(std::vector<GuardedTree> trees) {
  umask(0);  // the kernel has applied the command's own
  // libfuse's tables are large and mostly empty: as mappings they take the pages that are used.
  mallopt(M_MMAP_THRESHOLD, kTableBytes);
  const fuse_operations operations = Operations();
  std::vector<Session> sessions;
  std::vector<pollfd> polled;
  for (GuardedTree& tree : trees) {
    ODY_ASSIGN_OR_RETURN(Session session, Session::Open(&tree, operations));
    polled.push_back({session.fd(), POLLIN, 0});
    sessions.push_back(std::move(session));
  }
  fuse_buf buffer{};  // of one size for all, which the first request decides
  for (size_t left = sessions.size(); left > 0;) {
    if (poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) {
      return ErrnoStatus(errno, "poll");
    }
    for (size_t i = 0; i < sessions.size(); ++i) {
      if (polled[i].revents == 0) continue;
      ODY_ASSIGN_OR_RETURN(const bool more, sessions[i].ServeOne(&buffer));
      if (more) continue;
      polled[i].fd = -1;  // poll looks at it no more
      --left;
    }
  }
  return OkStatus();
}

}  // namespace odyssey::cell_guard
