#include "supervisor/cell_review/layer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "common/base/sha256.h"
#include "common/os/file.h"

namespace odyssey::cell_review {
namespace {

constexpr size_t kBufferBytes = 256 * 1024;
constexpr uint64_t kEndBytes = 1024 * 1024;  // of a large file, at each end
constexpr char kOpaque[] = "user.overlay.opaque";

int64_t Nanoseconds(const statx_timestamp& time) {
  return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec;
}

Kind KindOf(const struct statx& info) {
  switch (info.stx_mode & S_IFMT) {
    case S_IFREG:
      return Kind::kFile;
    case S_IFDIR:
      return Kind::kDirectory;
    case S_IFLNK:
      return Kind::kSymlink;
    case S_IFIFO:
      return Kind::kPipe;
    case S_IFSOCK:
      return Kind::kSocket;
    default:
      break;
  }
  const bool zero = info.stx_rdev_major == 0 && info.stx_rdev_minor == 0;
  return S_ISCHR(info.stx_mode) && zero ? Kind::kWhiteout : Kind::kDevice;
}

Result<std::string> ReadLink(int directory, const std::string& name) {
  char text[PATH_MAX];
  const ssize_t n = readlinkat(directory, name.c_str(), text, sizeof(text));
  if (n < 0) return ErrnoStatus(errno, "read the link " + Shown(name));
  return std::string(text, static_cast<size_t>(n));
}

Status HashRange(int fd, uint64_t from, uint64_t to, Sha256* hash) {
  std::string buffer(kBufferBytes, '\0');
  for (uint64_t at = from; at < to;) {
    const size_t want = std::min<uint64_t>(buffer.size(), to - at);
    const ssize_t n = TEMP_FAILURE_RETRY(pread(fd, buffer.data(), want, static_cast<off_t>(at)));
    if (n < 0) return ErrnoStatus(errno, "read");
    if (n == 0) break;
    hash->Update({buffer.data(), static_cast<size_t>(n)});
    at += static_cast<uint64_t>(n);
  }
  return OkStatus();
}

}  // namespace

std::string Join(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + "/" + name;
}

std::string ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

bool IsBelow(const std::string& path, const std::string& directory) {
  if (directory.empty()) return true;
  return path.compare(0, directory.size(), directory) == 0 &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

std::string Shown(const std::string& path) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      out.push_back(c);
    } else {
      out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

Result<Layer> Layer::Open(const std::string& directory) {
  Layer layer;
  layer.root_.reset(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!layer.root_) return ErrnoStatus(errno, "open " + directory);
  return layer;
}

Result<UniqueFd> Layer::OpenDirectory(const std::string& path) const {
  UniqueFd at(dup(root_.get()));
  size_t depth = 0;
  for (size_t begin = 0; begin < path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string name = path.substr(begin, end - begin);
    if (++depth > kMaxDepth) return InvalidArgument(Shown(path) + ": too many directories deep");
    at.reset(openat(at.get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!at) return ErrnoStatus(errno, "open " + Shown(path));
    begin = end + 1;
  }
  return at;
}

Result<int> Layer::Parent(const std::string& path, std::string* name) {
  const std::string parent = ParentOf(path);
  *name = path.substr(parent.empty() ? 0 : parent.size() + 1);
  if (!parent_ || parent != parent_path_) {
    ODY_ASSIGN_OR_RETURN(parent_, OpenDirectory(parent));
    parent_path_ = parent;
  }
  return parent_.get();
}

Result<Node> Layer::Look(const std::string& path) {
  std::string name;
  const auto parent = Parent(path, &name);
  // ENOTDIR and ELOOP: what is on the way is no directory, so nothing is below it.
  if (parent.status().code() == Code::kNotFound || parent.status().code() == Code::kInvalidArgument)
    return Node{};
  ODY_RETURN_IF_ERROR(parent.status());
  struct statx info;
  constexpr unsigned kWanted = STATX_BASIC_STATS | STATX_BTIME;
  if (statx(*parent, name.c_str(), AT_SYMLINK_NOFOLLOW, kWanted, &info) != 0) {
    return errno == ENOENT ? Result<Node>(Node{}) : ErrnoStatus(errno, "look at " + Shown(path));
  }
  Node node = {.kind = KindOf(info),
               .mode = info.stx_mode,
               .size = info.stx_size,
               .inode = info.stx_ino,
               .links = info.stx_nlink,
               .changed = Nanoseconds(info.stx_ctime),
               .modified = {info.stx_mtime.tv_sec, info.stx_mtime.tv_nsec}};
  node.born = (info.stx_mask & STATX_BTIME) != 0 ? Nanoseconds(info.stx_btime) : node.changed;
  if (node.kind == Kind::kSymlink) {
    ODY_ASSIGN_OR_RETURN(node.link, ReadLink(*parent, name));
  }
  return node;
}

Result<std::vector<std::string>> Layer::Names(const std::string& path) {
  ODY_ASSIGN_OR_RETURN(const UniqueFd place, OpenDirectory(path));
  UniqueFd directory(openat(place.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return ErrnoStatus(errno, "read the directory " + Shown(path));
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(fdopendir(directory.get()), closedir);
  if (!stream) return ErrnoStatus(errno, "read the directory " + Shown(path));
  directory.release();
  std::vector<std::string> names;
  while (const dirent* entry = readdir(stream.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool Layer::IsOpaque(const std::string& path) {
  const auto place = OpenDirectory(path);
  if (!place.ok()) return false;
  const UniqueFd directory(openat(place->get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  char value = 0;
  return directory && fgetxattr(directory.get(), kOpaque, &value, 1) == 1 && value == 'y';
}

Result<UniqueFd> Layer::OpenFile(const std::string& path) {
  std::string name;
  ODY_ASSIGN_OR_RETURN(const int parent, Parent(path, &name));
  UniqueFd fd(
      openat(parent, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd) return ErrnoStatus(errno, "open " + Shown(path));
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return ErrnoStatus(errno, "stat " + Shown(path));
  if (!S_ISREG(info.st_mode)) return Status(Code::kAborted, Shown(path) + ": is no file any more");
  return fd;
}

std::string PrintOf(const Node& node, int fd) {
  Sha256 hash;
  if (node.size <= kMaxHashed) {
    if (!HashRange(fd, 0, node.size, &hash).ok()) return "";
    return hash.Hex();
  }
  if (!HashRange(fd, 0, kEndBytes, &hash).ok() ||
      !HashRange(fd, node.size - kEndBytes, node.size, &hash).ok()) {
    return "";
  }
  return std::to_string(node.size) + " " + std::to_string(node.modified.tv_sec) + "." +
         std::to_string(node.modified.tv_nsec) + " " + hash.Hex();
}

Result<State> Layer::StateOf(const std::string& path, const Node& node) {
  State state = {.kind = node.kind,
                 .mode = node.kind == Kind::kSymlink ? 0 : node.mode & kModeBits,
                 .size = node.kind == Kind::kFile ? node.size : 0,
                 .print = node.link};
  if (node.kind != Kind::kFile) return state;
  ODY_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path));
  state.print = PrintOf(node, fd.get());
  if (state.print.empty()) return Status(Code::kInternal, "read " + Shown(path));
  return state;
}

Result<std::string> Layer::Read(const std::string& path, uint64_t max_bytes) {
  ODY_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path));
  return ReadToTheEnd(fd.get(), Shown(path), max_bytes);
}

Status CopyContent(int from, int to, uint64_t size, std::string* print) {
  if (print == nullptr && ioctl(to, FICLONE, from) == 0) return OkStatus();
  Sha256 hash;
  std::string buffer(std::min<uint64_t>(kBufferBytes, size + 1), '\0');
  const bool hashed = print != nullptr && size <= kMaxHashed;
  if (ftruncate(to, static_cast<off_t>(size)) != 0) return ErrnoStatus(errno, "set the size");
  for (uint64_t at = 0; at < size;) {
    if (!hashed) {
      const off_t data = lseek(from, static_cast<off_t>(at), SEEK_DATA);
      if (data < 0) break;  // a hole to the end
      at = static_cast<uint64_t>(data);
    }
    const size_t want = std::min<uint64_t>(buffer.size(), size - at);
    const ssize_t n = TEMP_FAILURE_RETRY(pread(from, buffer.data(), want, static_cast<off_t>(at)));
    if (n < 0) return ErrnoStatus(errno, "read");
    if (n == 0) break;
    const std::string_view bytes(buffer.data(), static_cast<size_t>(n));
    if (hashed) hash.Update(bytes);
    for (size_t done = 0; done < bytes.size();) {
      const ssize_t written = TEMP_FAILURE_RETRY(
          pwrite(to, bytes.data() + done, bytes.size() - done, static_cast<off_t>(at + done)));
      if (written < 0) return ErrnoStatus(errno, "write");
      done += static_cast<size_t>(written);
    }
    at += bytes.size();
  }
  if (hashed) *print = hash.Hex();
  return OkStatus();
}

}  // namespace odyssey::cell_review
