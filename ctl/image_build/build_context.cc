#include "ctl/image_build/build_context.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <utility>

#include "common/base/sha256.h"
#include "common/os/regular_file.h"

namespace odyssey::ctl {
namespace {

constexpr size_t kPiece = 256 * 1024;
constexpr size_t kMaxDepth = 128;
constexpr int kMaxLinks = 40;
constexpr mode_t kPermissions = 0777;

struct CloseDirectory {
  void operator()(DIR* stream) const { closedir(stream); }
};
using Directory = std::unique_ptr<DIR, CloseDirectory>;

// openat2(2), which glibc does not have.
Result<UniqueFd> OpenBelow(int directory, const std::string& path, uint64_t flags) {
  open_how how{};
  how.flags = flags | O_CLOEXEC | O_NOFOLLOW;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  UniqueFd fd(static_cast<int>(
      syscall(SYS_openat2, directory, path.empty() ? "." : path.c_str(), &how, sizeof(how))));
  if (!fd) return ErrnoStatus(errno, "open " + path);
  return fd;
}

Status ForEachPiece(int fd, const std::string& path,
                    const std::function<Status(std::string_view)>& sink) {
  std::string buffer(kPiece, '\0');
  for (;;) {
    const ssize_t n = read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "read " + path);
    if (n == 0) return OkStatus();
    ODY_RETURN_IF_ERROR(sink(std::string_view(buffer).substr(0, static_cast<size_t>(n))));
  }
}

Result<std::vector<std::string>> NamesIn(int directory, const std::string& path) {
  ODY_ASSIGN_OR_RETURN(UniqueFd fd, OpenBelow(directory, path, O_RDONLY | O_DIRECTORY));
  Directory stream(fdopendir(fd.get()));
  if (!stream) return ErrnoStatus(errno, "list " + path);
  fd.release();
  std::vector<std::string> names;
  errno = 0;
  // Only this thread reads this stream.
  while (const dirent* entry = readdir(stream.get())) {  // NOLINT(concurrency-mt-unsafe)
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  if (errno != 0) return ErrnoStatus(errno, "list " + path);
  return names;
}

std::string Joined(const std::string& directory, std::string_view name) {
  return directory.empty() ? std::string(name) : directory + "/" + std::string(name);
}

std::string ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

class Walk final {
 public:
  Walk(int directory, const dockerfile::IgnoreFile& ignore,
       const std::function<bool()>& interrupted)
      : directory_(directory), ignore_(ignore), interrupted_(interrupted) {}

  Status Run() {
    ODY_RETURN_IF_ERROR(Look("", 0, true));
    return OkStatus();
  }

  std::vector<ContextFile> Take() {
    std::vector<ContextFile> files;
    for (auto& [path, file] : files_) files.push_back(std::move(file));
    return files;
  }

 private:
  // `kept`: the directory itself is part of the context.
  Status Look(const std::string& directory, size_t depth, bool kept) {
    if (depth > kMaxDepth) return InvalidArgument(directory + ": is nested too deeply");
    ODY_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(directory_, directory));
    for (const std::string& name : names) {
      const std::string path = Joined(directory, name);
      ODY_RETURN_IF_ERROR(Take(path, depth, kept));
    }
    return OkStatus();
  }

  Status Take(const std::string& path, size_t depth, bool parent_kept) {
    if (interrupted_()) return Cancelled("interrupted");
    ODY_ASSIGN_OR_RETURN(const UniqueFd fd, OpenBelow(directory_, path, O_PATH));
    struct stat info {};
    if (fstat(fd.get(), &info) != 0) return ErrnoStatus(errno, "look at " + path);
    const bool ignored = ignore_.Ignores(path);
    if (S_ISDIR(info.st_mode)) {
      if (!ignored)
        Add({path,
             ContextKind::kDirectory,
             info.st_mode & kPermissions,
             0,
             info.st_mtim.tv_sec,
             {},
             {}});
      if (ignored && !ignore_.keeps_any()) return OkStatus();
      return Look(path, depth + 1, !ignored);
    }
    if (ignored) return OkStatus();
    if (files_.size() >= kMaxContextFiles) {
      return ResourceExhausted("has more than " + std::to_string(kMaxContextFiles) + " files");
    }
    if (!parent_kept) ODY_RETURN_IF_ERROR(AddParents(path));
    if (S_ISLNK(info.st_mode)) return AddLink(path, fd.get(), info);
    if (S_ISREG(info.st_mode)) return AddFile(path);
    return InvalidArgument(path + ": is " + FileKind(info.st_mode) +
                           "; leave it out by .dockerignore");
  }

  void Add(ContextFile file) {
    std::string path = file.path;
    files_.emplace(std::move(path), std::move(file));
  }

  // Of what is kept in an ignored directory.
  Status AddParents(const std::string& path) {
    for (std::string parent = ParentOf(path); !parent.empty() && files_.count(parent) == 0;
         parent = ParentOf(parent)) {
      ODY_ASSIGN_OR_RETURN(const UniqueFd fd, OpenBelow(directory_, parent, O_PATH));
      struct stat info {};
      if (fstat(fd.get(), &info) != 0) return ErrnoStatus(errno, "look at " + parent);
      Add({parent,
           ContextKind::kDirectory,
           info.st_mode & kPermissions,
           0,
           info.st_mtim.tv_sec,
           {},
           {}});
    }
    return OkStatus();
  }

  Status AddLink(const std::string& path, int fd, const struct stat& info) {
    char target[PATH_MAX];
    const ssize_t length = readlinkat(fd, "", target, sizeof(target));
    if (length < 0) return ErrnoStatus(errno, "read the link " + path);
    Add({path,
         ContextKind::kLink,
         kPermissions,
         0,
         info.st_mtim.tv_sec,
         std::string(target, static_cast<size_t>(length)),
         {}});
    return OkStatus();
  }

  Status AddFile(const std::string& path) {
    // No FIFO that took its place since is waited for.
    ODY_ASSIGN_OR_RETURN(const UniqueFd fd, OpenBelow(directory_, path, O_RDONLY | O_NONBLOCK));
    struct stat info {};
    if (fstat(fd.get(), &info) != 0) return ErrnoStatus(errno, "look at " + path);
    if (!S_ISREG(info.st_mode)) return InvalidArgument(path + ": changed while it was read");
    ContextFile file{
        path, ContextKind::kFile, info.st_mode & kPermissions, 0, info.st_mtim.tv_sec, {}, {}};
    Sha256 hash;
    ODY_RETURN_IF_ERROR(ForEachPiece(fd.get(), path, [&](std::string_view bytes) {
      if (interrupted_()) return Cancelled("interrupted");
      hash.Update(bytes);
      file.size += bytes.size();
      return OkStatus();
    }));
    file.sha256 = hash.Hex();
    Add(std::move(file));
    return OkStatus();
  }

  const int directory_;
  const dockerfile::IgnoreFile& ignore_;
  const std::function<bool()>& interrupted_;
  std::map<std::string, ContextFile> files_;
};

}  // namespace

Result<BuildContext> BuildContext::Read(UniqueFd directory, const dockerfile::IgnoreFile& ignore,
                                        const std::function<bool()>& interrupted) {
  BuildContext context(std::move(directory));
  Walk walk(context.directory_.get(), ignore, interrupted);
  ODY_RETURN_IF_ERROR(walk.Run());
  context.files_ = walk.Take();
  return context;
}

const ContextFile* BuildContext::Find(std::string_view path) const {
  const auto found =
      std::lower_bound(files_.begin(), files_.end(), path,
                       [](const ContextFile& file, std::string_view p) { return file.path < p; });
  return found != files_.end() && found->path == path ? &*found : nullptr;
}

std::vector<const ContextFile*> BuildContext::Below(const std::string& path) const {
  std::vector<const ContextFile*> out;
  const std::string start = path.empty() ? "" : path + "/";
  for (const ContextFile& file : files_) {
    if (file.path.starts_with(start)) out.push_back(&file);
  }
  return out;
}

Result<std::string> BuildContext::Resolve(const std::string& path) const {
  std::string at;
  std::deque<std::string> left;
  const auto push = [&](std::string_view text) {  // in front
    std::vector<std::string> parts;
    while (!text.empty()) {
      const size_t slash = text.find('/');
      const std::string_view part = text.substr(0, slash);
      text.remove_prefix(slash == std::string_view::npos ? text.size() : slash + 1);
      if (!part.empty() && part != ".") parts.emplace_back(part);
    }
    left.insert(left.begin(), parts.begin(), parts.end());
  };
  push(path);
  for (int links = 0; !left.empty();) {
    const std::string part = std::move(left.front());
    left.pop_front();
    if (part == "..") {
      if (at.empty()) return InvalidArgument(path + ": leads out of the context");
      at = ParentOf(at);
      continue;
    }
    const std::string next = Joined(at, part);
    const ContextFile* const file = Find(next);
    if (file == nullptr) return NotFound(path + ": is not in the context, or is ignored");
    if (file->kind != ContextKind::kLink) {
      at = next;
      continue;
    }
    if (++links > kMaxLinks) return InvalidArgument(path + ": goes through too many links");
    if (file->target.starts_with('/')) {
      return InvalidArgument(path + ": leads out of the context, by the link " + next);
    }
    push(file->target);
  }
  return at;
}

Result<UniqueFd> BuildContext::OpenContent(const ContextFile& file) const {
  return OpenBelow(directory_.get(), file.path, O_RDONLY | O_NONBLOCK);
}

Status BuildContext::ReadContent(const ContextFile& file,
                                 const std::function<Status(std::string_view)>& sink) const {
  const Status changed(Code::kAborted, file.path + ": changed while the image was built");
  const Result<UniqueFd> fd = OpenContent(file);
  if (!fd.ok()) return changed;
  Sha256 hash;
  uint64_t bytes = 0;
  ODY_RETURN_IF_ERROR(ForEachPiece(fd->get(), file.path, [&](std::string_view piece) {
    hash.Update(piece);
    bytes += piece.size();
    return bytes > file.size ? changed : sink(piece);
  }));
  return bytes == file.size && hash.Hex() == file.sha256 ? OkStatus() : changed;
}

std::string BuildContext::Digest() const {
  Sha256 hash;
  const auto add = [&hash](std::string_view text) {
    hash.Update(std::to_string(text.size()) + ":");
    hash.Update(text);
  };
  for (const ContextFile& file : files_) {
    add(file.path);
    add(std::to_string(static_cast<int>(file.kind)));
    add(std::to_string(file.mode));
    add(file.target);
    add(file.sha256);
  }
  return hash.Hex();
}

}  // namespace odyssey::ctl
