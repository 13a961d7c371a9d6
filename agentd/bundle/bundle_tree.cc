#include "agentd/bundle/bundle_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "common/base/sha256.h"
#include "common/os/file.h"
#include "common/os/unique_fd.h"
#include "policy/dialect/bundle_tree.h"

namespace odyssey::bundle {
namespace {

constexpr unsigned kDirectoryMode = 0755;

// The names in a directory, sorted, so that errors do not depend on the file system's order.
Result<std::vector<std::string>> Names(int directory, const std::string& shown) {
  UniqueFd fd(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return ErrnoStatus(errno, "open " + shown);
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(fdopendir(fd.get()), closedir);
  if (!stream) return ErrnoStatus(errno, "open " + shown);
  fd.release();
  std::vector<std::string> out;
  errno = 0;
  while (const dirent* entry = readdir(stream.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") out.push_back(name);
    if (out.size() > dialect::kMaxBundleEntries) {
      return dialect::TooLargeForBundle(shown,
                                        std::to_string(dialect::kMaxBundleEntries) + " entries");
    }
  }
  if (errno != 0) return ErrnoStatus(errno, "read directory " + shown);
  std::sort(out.begin(), out.end());
  return out;
}

Result<std::string> ReadRegular(int fd, const std::string& shown) {
  std::string out;
  char buffer[64 * 1024];
  for (;;) {
    const ssize_t n = read(fd, buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "read " + shown);
    if (n == 0) return out;
    out.append(buffer, static_cast<size_t>(n));
    if (out.size() > dialect::kMaxBundleFileBytes) {
      return dialect::TooLargeForBundle(
          shown, std::to_string(dialect::kMaxBundleFileBytes) + " bytes in one file");
    }
  }
}

Status CopyFile(int from, int to, const std::string& name, const std::string& shown,
                dialect::BundleCount* count) {
  UniqueFd source(openat(from, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!source) return ErrnoStatus(errno, "open " + shown);
  struct stat info;
  if (fstat(source.get(), &info) != 0) return ErrnoStatus(errno, "stat " + shown);
  if (!S_ISREG(info.st_mode)) return InvalidArgument("bundle entry " + shown + " has changed");
  ODY_ASSIGN_OR_RETURN(const std::string content, ReadRegular(source.get(), shown));
  ODY_RETURN_IF_ERROR(count->AddFile(shown, content.size()));
  const mode_t mode = (info.st_mode & 0111) != 0 ? 0755 : 0644;
  UniqueFd copy(openat(to, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!copy) return ErrnoStatus(errno, "create copy of " + shown);
  if (const Status status = WriteAll(copy.get(), content); !status.ok()) {
    return {status.code(), status.message() + " (agentd's copy of " + shown + ")"};
  }
  // Whatever the umask: inside a cell another uid reads it.
  if (fchmod(copy.get(), mode) != 0) return ErrnoStatus(errno, "chmod copy of " + shown);
  if (fsync(copy.get()) != 0) return ErrnoStatus(errno, "sync copy of " + shown);
  return OkStatus();
}

Result<UniqueFd> MakeDirectoryAt(int parent, const std::string& name, const std::string& shown) {
  if (mkdirat(parent, name.c_str(), kDirectoryMode) != 0) {
    return ErrnoStatus(errno, "create copy of " + shown);
  }
  UniqueFd fd(openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return ErrnoStatus(errno, "open copy of " + shown);
  if (fchmod(fd.get(), kDirectoryMode) != 0) return ErrnoStatus(errno, "chmod copy of " + shown);
  return fd;
}

// NOLINTNEXTLINE(misc-no-recursion): bounded by kMaxBundleDepth.
Status CopyDirectory(int from, int to, const std::string& shown, int depth,
                     dialect::BundleCount* count) {
  ODY_RETURN_IF_ERROR(dialect::CheckBundleDepth(shown, depth));
  ODY_ASSIGN_OR_RETURN(const std::vector<std::string> names, Names(from, shown));
  for (const std::string& name : names) {
    const dialect::BundleEntry entry = {shown + "/" + name, name, depth};
    const std::string& path = entry.path;
    if (dialect::IsLeftOut(entry)) continue;
    ODY_RETURN_IF_ERROR(dialect::CheckBundleName(entry));
    ODY_RETURN_IF_ERROR(count->AddEntry(path));
    struct stat info;
    if (fstatat(from, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      return ErrnoStatus(errno, "stat " + path);
    }
    ODY_RETURN_IF_ERROR(dialect::CheckBundleKind(entry, info.st_mode));
    if (S_ISREG(info.st_mode)) {
      ODY_RETURN_IF_ERROR(CopyFile(from, to, name, path, count));
      continue;
    }
    UniqueFd child(openat(from, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!child) return ErrnoStatus(errno, "open " + path);
    ODY_ASSIGN_OR_RETURN(const UniqueFd copy, MakeDirectoryAt(to, name, path));
    ODY_RETURN_IF_ERROR(CopyDirectory(child.get(), copy.get(), path, depth + 1, count));
  }
  if (fsync(to) != 0) return ErrnoStatus(errno, "sync copy of " + shown);
  return OkStatus();
}

// NOLINTNEXTLINE(misc-no-recursion): bounded by kMaxBundleDepth, which the copy was made under.
Status ListDirectory(int directory, const std::string& prefix, std::vector<BundleFile>* out) {
  ODY_ASSIGN_OR_RETURN(const std::vector<std::string> names, Names(directory, prefix));
  for (const std::string& name : names) {
    const std::string path = prefix + name;
    struct stat info;
    if (fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      return ErrnoStatus(errno, "stat " + path);
    }
    if (S_ISREG(info.st_mode)) {
      out->push_back({path, (info.st_mode & 0111) != 0});
      continue;
    }
    UniqueFd child(
        openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!child) return ErrnoStatus(errno, "open " + path);
    ODY_RETURN_IF_ERROR(ListDirectory(child.get(), path + "/", out));
  }
  return OkStatus();
}

Result<UniqueFd> OpenDirectory(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return ErrnoStatus(errno, "open bundle directory " + path);
  return fd;
}

}  // namespace

Status CopyBundleTree(const std::string& source, const std::string& destination) {
  ODY_ASSIGN_OR_RETURN(const UniqueFd from, OpenDirectory(source));
  ODY_ASSIGN_OR_RETURN(const UniqueFd to, MakeDirectoryAt(AT_FDCWD, destination, destination));
  dialect::BundleCount count;
  return CopyDirectory(from.get(), to.get(), source, 0, &count);
}

Result<std::vector<BundleFile>> ListBundleFiles(const std::string& directory) {
  ODY_ASSIGN_OR_RETURN(const UniqueFd fd, OpenDirectory(directory));
  std::vector<BundleFile> out;
  ODY_RETURN_IF_ERROR(ListDirectory(fd.get(), "", &out));
  std::sort(out.begin(), out.end(),
            [](const BundleFile& a, const BundleFile& b) { return a.path < b.path; });
  return out;
}

Result<std::string> DigestBundleTree(const std::string& directory) {
  ODY_ASSIGN_OR_RETURN(const std::vector<BundleFile> files, ListBundleFiles(directory));
  Sha256 hash;
  for (const BundleFile& file : files) {
    ODY_ASSIGN_OR_RETURN(const std::string content,
                         ReadFile(directory + "/" + file.path, dialect::kMaxBundleFileBytes));
    hash.Update(std::to_string(file.path.size()) + ":" + file.path + (file.executable ? "x" : "-") +
                std::to_string(content.size()) + ":");
    hash.Update(content);
  }
  return hash.Hex();
}

}  // namespace odyssey::bundle
