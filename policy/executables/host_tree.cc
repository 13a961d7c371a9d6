#include "policy/executables/host_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "common/os/unique_fd.h"

namespace odyssey::executables {
namespace {

constexpr int kMaxLinks = 40;  // as the kernel
constexpr size_t kMaxTextBytes = 256 * 1024;

Result<std::string> ReadLink(const std::string& path) {
  char target[PATH_MAX];
  const ssize_t n = readlink(path.c_str(), target, sizeof(target));
  if (n < 0) return ErrnoStatus(errno, "read link " + path);
  return std::string(target, static_cast<size_t>(n));
}

// Regular files only, and without waiting: a name may lead to a pipe or a device.
Result<UniqueFd> OpenFile(const std::string& path, struct stat* info) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  if (!fd) return ErrnoStatus(errno, "open " + path);
  if (fstat(fd.get(), info) != 0) return ErrnoStatus(errno, "stat " + path);
  if (!S_ISREG(info->st_mode)) return FailedPrecondition(path + " is no regular file");
  return fd;
}

bool ReadExactly(int fd, uint64_t offset, size_t size, char* out) {
  while (size > 0) {
    const ssize_t n = pread(fd, out, size, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    out += n;
    offset += static_cast<uint64_t>(n);
    size -= static_cast<size_t>(n);
  }
  return true;
}

}  // namespace

Result<std::string> HostTree::Canonical(const std::string& path) const {
  std::string at;
  std::string rest = path;
  for (int links = 0; !rest.empty();) {
    const size_t slash = std::min(rest.find('/'), rest.size());
    const std::string name = rest.substr(0, slash);
    rest.erase(0, slash + 1);
    if (name.empty() || name == ".") continue;
    if (name == "..") {
      at.erase(std::min(at.rfind('/'), at.size()));
      continue;
    }
    const std::string next = at + "/" + name;
    struct stat info;
    if (lstat((root_ + next).c_str(), &info) != 0) return ErrnoStatus(errno, "find " + next);
    if (!S_ISLNK(info.st_mode)) {
      at = next;
      continue;
    }
    if (++links > kMaxLinks) return FailedPrecondition("find " + path + ": too many links");
    ODY_ASSIGN_OR_RETURN(const std::string target, ReadLink(root_ + next));
    if (target.rfind('/', 0) == 0) at.clear();
    rest = rest.empty() ? target : target + "/" + rest;
  }
  return at.empty() ? std::string("/") : at;
}

std::optional<FileInfo> HostTree::Look(const std::string& path) const {
  struct stat info;
  if (lstat((root_ + path).c_str(), &info) != 0) return std::nullopt;
  return FileInfo{
      .directory = S_ISDIR(info.st_mode),
      .regular = S_ISREG(info.st_mode),
      .executable = (info.st_mode & 0111) != 0,
      .device = info.st_dev,
      .inode = info.st_ino,
      .size = static_cast<uint64_t>(info.st_size),
      .modified_ns = int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec};
}

Result<elf::Image> HostTree::ReadImage(const std::string& path) const {
  struct stat info;
  ODY_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(root_ + path, &info));
  return elf::ReadImage(static_cast<uint64_t>(info.st_size),
                        [&fd](uint64_t offset, size_t size, char* out) {
                          return ReadExactly(fd.get(), offset, size, out);
                        });
}

std::string HostTree::ReadText(const std::string& path) const {
  struct stat info;
  const Result<UniqueFd> fd = OpenFile(root_ + path, &info);
  if (!fd.ok() || static_cast<uint64_t>(info.st_size) > kMaxTextBytes) return "";
  std::string text(static_cast<size_t>(info.st_size), '\0');
  return ReadExactly(fd->get(), 0, text.size(), text.data()) ? text : "";
}

std::vector<std::string> HostTree::Names(const std::string& directory) const {
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(opendir((root_ + directory).c_str()), closedir);
  std::vector<std::string> names;
  if (!stream) return names;
  // Of a stream of our own, which no other thread knows.
  while (const dirent* entry = readdir(stream.get())) {  // NOLINT(concurrency-mt-unsafe)
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string DirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

}  // namespace odyssey::executables
