#include "image/layer/layer_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "image/layer/entry_path.h"

namespace odyssey::image {
namespace {

constexpr mode_t kParentMode = 0755;
constexpr mode_t kNewFile = 0600;
constexpr char kOpaqueAttribute[] = "user.overlay.opaque";

// Below `root`, through no link and into no other file system.
UniqueFd OpenBeneath(int root, const std::string& path, uint64_t flags) {
  open_how how{};
  how.flags = flags | O_CLOEXEC | O_NOFOLLOW;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV;
  const char* const name = path.empty() ? "." : path.c_str();
  return UniqueFd(static_cast<int>(syscall(SYS_openat2, root, name, &how, sizeof(how))));
}

Status Failed(std::string_view what) {
  if (errno == ELOOP || errno == ENOTDIR) {
    return InvalidArgument("its path passes through a link or a file of the layer");
  }
  return ErrnoStatus(errno, what);
}

// The owner first: a change of it takes bits of the mode away.
Status Set(int directory, const std::string& name, const Attributes& attributes, bool has_mode) {
  if (fchownat(directory, name.c_str(), attributes.uid, attributes.gid, AT_SYMLINK_NOFOLLOW) != 0) {
    return ErrnoStatus(errno, "set the owner");
  }
  if (has_mode && fchmodat(directory, name.c_str(), attributes.mode, 0) != 0) {
    return ErrnoStatus(errno, "set the mode");
  }
  const timespec times[2] = {attributes.modified, attributes.modified};
  if (utimensat(directory, name.c_str(), times, AT_SYMLINK_NOFOLLOW) != 0) {
    return ErrnoStatus(errno, "set the time");
  }
  return OkStatus();
}

}  // namespace

Result<UniqueFd> LayerWriter::OpenDirectory(std::string_view path) {
  const std::string whole(path);
  UniqueFd fd = OpenBeneath(root_, whole, O_RDONLY | O_DIRECTORY);
  if (fd || errno != ENOENT)
    return fd ? Result<UniqueFd>(std::move(fd)) : Failed("open its directory");
  ODY_ASSIGN_OR_RETURN(const UniqueFd parent, OpenDirectory(ParentOf(path)));
  const std::string name(NameOf(path));
  if (mkdirat(parent.get(), name.c_str(), kParentMode) != 0) {
    return ErrnoStatus(errno, "make its directory");
  }
  fd = OpenBeneath(root_, whole, O_RDONLY | O_DIRECTORY);
  return fd ? Result<UniqueFd>(std::move(fd)) : Failed("open its directory");
}

Result<LayerWriter::Place> LayerWriter::Open(const std::string& path, bool replace) {
  if (path.empty()) return InvalidArgument("the layer's root is a directory");
  ODY_ASSIGN_OR_RETURN(UniqueFd directory, OpenDirectory(ParentOf(path)));
  Place place = {std::move(directory), std::string(NameOf(path))};
  if (!replace || unlinkat(place.directory.get(), place.name.c_str(), 0) == 0) return place;
  if (errno == ENOENT) return place;
  if (errno == EISDIR && unlinkat(place.directory.get(), place.name.c_str(), AT_REMOVEDIR) == 0) {
    return place;
  }
  if (errno == ENOTEMPTY) {
    return InvalidArgument("a directory of the layer that is not empty has its path");
  }
  return ErrnoStatus(errno, "replace what has its path");
}

Status LayerWriter::Directory(const std::string& path, const Attributes& attributes) {
  if (path.empty()) return Set(root_, ".", attributes, true);
  ODY_ASSIGN_OR_RETURN(const Place place, Open(path, false));
  const int directory = place.directory.get();
  if (mkdirat(directory, place.name.c_str(), kParentMode) != 0) {
    struct stat info {};
    if (errno != EEXIST) return ErrnoStatus(errno, "make the directory");
    if (fstatat(directory, place.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      return ErrnoStatus(errno, "look at what has its path");
    }
    if (!S_ISDIR(info.st_mode)) {
      if (unlinkat(directory, place.name.c_str(), 0) != 0 ||
          mkdirat(directory, place.name.c_str(), kParentMode) != 0) {
        return ErrnoStatus(errno, "replace what has its path");
      }
    }
  }
  return Set(directory, place.name, attributes, true);
}

Result<UniqueFd> LayerWriter::File(const std::string& path) {
  ODY_ASSIGN_OR_RETURN(const Place place, Open(path, true));
  UniqueFd file(openat(place.directory.get(), place.name.c_str(),
                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kNewFile));
  if (!file) return ErrnoStatus(errno, "make the file");
  return file;
}

Status LayerWriter::Finish(int file, const Attributes& attributes, uint64_t size) {
  if (ftruncate(file, static_cast<off_t>(size)) != 0) return ErrnoStatus(errno, "set the size");
  if (fchown(file, attributes.uid, attributes.gid) != 0) return ErrnoStatus(errno, "set the owner");
  if (fchmod(file, attributes.mode) != 0) return ErrnoStatus(errno, "set the mode");
  const timespec times[2] = {attributes.modified, attributes.modified};
  return futimens(file, times) == 0 ? OkStatus() : ErrnoStatus(errno, "set the time");
}

Status LayerWriter::Symlink(const std::string& path, const std::string& to,
                            const Attributes& attributes) {
  ODY_ASSIGN_OR_RETURN(const Place place, Open(path, true));
  if (symlinkat(to.c_str(), place.directory.get(), place.name.c_str()) != 0) {
    return ErrnoStatus(errno, "make the link");
  }
  return Set(place.directory.get(), place.name, attributes, false);
}

Status LayerWriter::HardLink(const std::string& path, const std::string& to) {
  // Before the place is opened: it may be the target itself.
  const UniqueFd target = OpenBeneath(root_, to, O_PATH);
  struct stat info {};
  if (!target || fstat(target.get(), &info) != 0) {
    if (errno == ENOENT) return NotFound("it is a hard link to \"" + to + "\", which is not there");
    return Failed("open the target of the link");
  }
  if (S_ISDIR(info.st_mode)) {
    return InvalidArgument("it is a hard link to \"" + to + "\", which is a directory");
  }
  if (path == to) return OkStatus();
  ODY_ASSIGN_OR_RETURN(const Place place, Open(path, true));
  ODY_ASSIGN_OR_RETURN(const UniqueFd from, OpenDirectory(ParentOf(to)));
  if (linkat(from.get(), std::string(NameOf(to)).c_str(), place.directory.get(), place.name.c_str(),
             0) != 0) {
    return ErrnoStatus(errno, "make the link");
  }
  return OkStatus();
}

Status LayerWriter::Fifo(const std::string& path, const Attributes& attributes) {
  ODY_ASSIGN_OR_RETURN(const Place place, Open(path, true));
  if (mkfifoat(place.directory.get(), place.name.c_str(), kNewFile) != 0) {
    return ErrnoStatus(errno, "make the pipe");
  }
  return Set(place.directory.get(), place.name, attributes, true);
}

// A character device 0:0, which the kernel lets a user namespace make.
Status LayerWriter::Whiteout(const std::string& path) {
  ODY_ASSIGN_OR_RETURN(const Place place, Open(path, true));
  if (mknodat(place.directory.get(), place.name.c_str(), S_IFCHR, makedev(0, 0)) != 0) {
    return ErrnoStatus(errno, "make the whiteout");
  }
  return OkStatus();
}

Status LayerWriter::Opaque(const std::string& path) {
  ODY_ASSIGN_OR_RETURN(const UniqueFd directory, OpenDirectory(path));
  if (fsetxattr(directory.get(), kOpaqueAttribute, "y", 1, 0) != 0) {
    return ErrnoStatus(errno, "hide the directory of the layers below");
  }
  return OkStatus();
}

}  // namespace odyssey::image
