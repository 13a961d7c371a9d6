#include "agentd/package/bundle_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "policy/dialect/bundle_tree.h"

namespace odyssey::package {
namespace {

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

class Walk final {
 public:
  enum class Of { kSource, kTree };
  Walk(std::string shown, Of of) : shown_(std::move(shown)), of_(of) {}

  // NOLINTNEXTLINE(misc-no-recursion): bounded by kMaxBundleDepth.
  Status List(int directory, const std::string& prefix, int depth) {
    const std::string here = shown_ + "/" + prefix;
    ODY_RETURN_IF_ERROR(dialect::CheckBundleDepth(here, depth));
    ODY_ASSIGN_OR_RETURN(const std::vector<std::string> names, Names(directory, here));
    for (const std::string& name : names) {
      const dialect::BundleEntry entry = {here + name, name, depth};
      if (dialect::IsLeftOut(entry)) continue;
      if (of_ == Of::kTree && depth == 0 && name == dialect::kMountDirectory) continue;
      ODY_RETURN_IF_ERROR(dialect::CheckBundleName(entry));
      ODY_RETURN_IF_ERROR(count_.AddEntry(entry.path));
      ODY_RETURN_IF_ERROR(Add(directory, prefix + name, entry));
    }
    return OkStatus();
  }

  std::vector<BundleFile> Take() {
    std::sort(files_.begin(), files_.end(),
              [](const BundleFile& a, const BundleFile& b) { return a.path < b.path; });
    return std::move(files_);
  }

 private:
  // NOLINTNEXTLINE(misc-no-recursion): see List.
  Status Add(int directory, const std::string& path, const dialect::BundleEntry& entry) {
    struct stat info;
    if (fstatat(directory, entry.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      return ErrnoStatus(errno, "stat " + entry.path);
    }
    ODY_RETURN_IF_ERROR(dialect::CheckBundleKind(entry, info.st_mode));
    if (S_ISREG(info.st_mode)) {
      files_.push_back({path, (info.st_mode & 0111) != 0, static_cast<uint64_t>(info.st_size)});
      return count_.AddFile(entry.path, static_cast<uint64_t>(info.st_size));
    }
    const UniqueFd child(
        openat(directory, entry.name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!child) return ErrnoStatus(errno, "open " + entry.path);
    return List(child.get(), path + "/", entry.depth + 1);
  }

  const std::string shown_;
  const Of of_;
  dialect::BundleCount count_;
  std::vector<BundleFile> files_;
};

}  // namespace

Result<std::vector<BundleFile>> ListBundleFiles(int directory, const std::string& shown) {
  Walk walk(shown, Walk::Of::kSource);
  ODY_RETURN_IF_ERROR(walk.List(directory, "", 0));
  return walk.Take();
}

Result<std::vector<BundleFile>> ListTreeFiles(const std::string& tree) {
  const UniqueFd root(open(tree.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root) return ErrnoStatus(errno, "open " + tree);
  Walk walk(tree, Walk::Of::kTree);
  ODY_RETURN_IF_ERROR(walk.List(root.get(), "", 0));
  return walk.Take();
}

Result<UniqueFd> OpenBundleFile(int directory, const BundleFile& file, const std::string& shown) {
  const std::string path = shown + "/" + file.path;
  open_how how = {};
  how.flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  UniqueFd fd(
      static_cast<int>(syscall(SYS_openat2, directory, file.path.c_str(), &how, sizeof(how))));
  if (!fd && errno == ELOOP) return InvalidArgument("bundle entry " + path + " has changed");
  if (!fd) return ErrnoStatus(errno, "open " + path);
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return ErrnoStatus(errno, "stat " + path);
  if (!S_ISREG(info.st_mode) || static_cast<uint64_t>(info.st_size) != file.bytes) {
    return InvalidArgument("bundle entry " + path + " has changed");
  }
  return fd;
}

}  // namespace odyssey::package
