#include "supervisor/cell_tools/run_files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "common/base/utf8.h"
#include "common/os/file.h"
#include "supervisor/cell_tools/directory_stream.h"
#include "supervisor/cell_tools/file_ops.h"
#include "supervisor/cell_tools/read_file.h"

namespace odyssey::cell_tools {
namespace {

constexpr int kSafeFlags = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

Result<UniqueFd> OpenRegular(const RunTree& runs, const std::string& path, int flags,
                             struct stat* info) {
  ODY_ASSIGN_OR_RETURN(const Location at, runs.Locate(path));
  UniqueFd fd(openat(at.directory.get(), at.name.c_str(), flags | kSafeFlags));
  // ENXIO: a pipe without a reader, or a socket.
  const bool opened = fd && fstat(fd.get(), info) == 0;
  if (!opened && errno != ENXIO) return ErrnoStatus(errno, "open " + at.absolute);
  if (!opened || !S_ISREG(info->st_mode)) {
    return FailedPrecondition(at.absolute + ": not a regular file");
  }
  return fd;
}

// The file that `path` names and, above it, that many directories that are empty then.
Status RemoveFileAndParents(const RunTree& runs, std::string path, uint32_t directories) {
  for (int flags = 0;; flags = AT_REMOVEDIR) {
    ODY_ASSIGN_OR_RETURN(const Location at, runs.Locate(path));
    if (unlinkat(at.directory.get(), at.name.c_str(), flags) != 0) {
      return ErrnoStatus(errno, "remove " + at.absolute);
    }
    if (directories-- == 0) return OkStatus();
    path.resize(path.rfind('/'));
  }
}

// `mode` 0: as it is.
Status Fill(int fd, const std::string& content, mode_t mode) {
  ODY_RETURN_IF_ERROR(WriteAll(fd, content));
  return mode == 0 || fchmod(fd, mode) == 0 ? OkStatus() : ErrnoStatus(errno, "set the mode");
}

Status WriteNewFile(const Location& at, const tool::Request& request) {
  UniqueFd fd(openat(at.directory.get(), at.name.c_str(),
                     O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!fd) {
    if (errno == EEXIST) return AlreadyExists(at.absolute + ": is there already");
    return ErrnoStatus(errno, "create " + at.absolute);
  }
  const mode_t mode = request.mode == 0 ? kDefaultMode : request.mode;
  const Status status = Fill(fd.get(), request.content, mode);
  if (status.ok()) return status;
  unlinkat(at.directory.get(), at.name.c_str(), 0);
  return {status.code(), at.absolute + ": " + status.message()};
}

std::string KindOf(mode_t type, const std::string& name) {
  if (!IsValidUtf8(name)) return "name not UTF-8";
  switch (type) {
    case S_IFREG:
      return "file";
    case S_IFLNK:
      return "symbolic link";
    case S_IFIFO:
      return "named pipe";
    case S_IFSOCK:
      return "socket";
    default:
      return "device";
  }
}

// Walks a tree a directory at a time, each from the top, so that no depth runs it out of
// descriptors.
class TreeWalk final {
 public:
  TreeWalk(const RunTree& runs, std::string top) : runs_(runs), top_(std::move(top)) {}

  Result<tool::Response> Run() {
    waiting_.push_back("");
    for (size_t visited = 0; !waiting_.empty() && !out_.truncated; ++visited) {
      const std::string directory = waiting_.front();
      waiting_.pop_front();
      if (visited >= tool::kMaxListEntries) out_.truncated = true;
      auto fd = runs_.OpenDirectory(directory.empty() ? top_ : top_ + "/" + directory);
      if (fd.ok()) {
        ReadOne(std::move(fd).value(), directory);
      } else if (directory.empty()) {
        ODY_ASSIGN_OR_RETURN(const Location at, runs_.Locate(top_));
        Add(at.directory.get(), at.name, "");
        if (out_.entries.empty() || out_.entries[0].type != "file") return fd.status();
      }  // else it was removed or replaced since
    }
    std::sort(out_.entries.begin(), out_.entries.end(),
              [](const auto& a, const auto& b) { return a.path < b.path; });
    return std::move(out_);
  }

 private:
  void ReadOne(UniqueFd fd, const std::string& directory) {
    DirectoryStream stream(std::move(fd));
    while (stream.ok() && !out_.truncated) {
      const dirent* entry = stream.Next();
      if (entry == nullptr) return;
      const std::string name = entry->d_name;
      const std::string path = directory.empty() ? name : directory + "/" + name;
      bytes_ += path.size() + name.size();
      if (bytes_ > kMaxListBytes || top_.size() + 1 + path.size() > tool::kMaxPath ||
          out_.entries.size() + waiting_.size() == tool::kMaxListEntries) {
        out_.truncated = true;
        return;
      }
      if (TypeOf(stream.fd(), *entry) == S_IFDIR) {
        waiting_.push_back(path);
      } else {
        Add(stream.fd(), name, path);
      }
    }
  }

  void Add(int directory, const std::string& name, const std::string& path) {
    struct stat info;
    if (fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return;  // gone since
    out_.entries.push_back({.name = SanitizeUtf8(name),
                            .path = SanitizeUtf8(path),
                            .type = KindOf(info.st_mode & S_IFMT, path),
                            .size = static_cast<uint64_t>(info.st_size),
                            .mode = info.st_mode & kPermissionBits});
  }

  const RunTree& runs_;
  const std::string top_;
  std::deque<std::string> waiting_;  // directories, relative to the top
  size_t bytes_ = 0;
  tool::Response out_;
};

}  // namespace

Result<tool::Response> MakeRun(const RunTree& runs, const tool::Request& request) {
  ODY_RETURN_IF_ERROR(runs.Make(request.path));
  return tool::Response{};
}

Result<tool::Response> Create(const RunTree& runs, const tool::Request& request) {
  ODY_RETURN_IF_ERROR(CheckMode(request.mode));
  tool::Response response;
  const auto at = runs.Locate(request.path, MissingParents::kCreate, &response.directories);
  if (at.ok() && request.replace_all) unlinkat(at->directory.get(), at->name.c_str(), 0);
  const Status status = at.ok() ? WriteNewFile(*at, request) : at.status();
  if (status.ok()) return response;
  // The directories that were made for it: those on the way, from the innermost.
  std::string path = request.path;
  while (response.directories > 0 && path.rfind('/') != std::string::npos) {
    path.resize(path.rfind('/'));
    const auto made = runs.Locate(path);
    if (!made.ok()) continue;
    if (unlinkat(made->directory.get(), made->name.c_str(), AT_REMOVEDIR) != 0) break;
    --response.directories;
  }
  return status;
}

Result<tool::Response> Append(const RunTree& runs, const tool::Request& request) {
  ODY_RETURN_IF_ERROR(CheckMode(request.mode));
  struct stat info;
  ODY_ASSIGN_OR_RETURN(const UniqueFd fd,
                       OpenRegular(runs, request.path, O_WRONLY | O_APPEND, &info));
  if (static_cast<uint64_t>(info.st_size) != request.offset) {
    return Status(Code::kAborted, request.path + ": has " + std::to_string(info.st_size) +
                                      " bytes instead of " + std::to_string(request.offset) +
                                      ": another process writes to it");
  }
  const Status status = Fill(fd.get(), request.content, request.mode);
  if (!status.ok()) return Status(status.code(), request.path + ": " + status.message());
  return tool::Response{};
}

Result<tool::Response> Fetch(const RunTree& runs, const tool::Request& request) {
  struct stat info;
  ODY_ASSIGN_OR_RETURN(const UniqueFd fd, OpenRegular(runs, request.path, O_RDONLY, &info));
  return ReadPart(fd.get(), static_cast<uint64_t>(info.st_size), request, request.path);
}

Result<tool::Response> ListTree(const RunTree& runs, const tool::Request& request) {
  return TreeWalk(runs, request.path).Run();
}

Result<tool::Response> Discard(const RunTree& runs, const tool::Request& request) {
  ODY_RETURN_IF_ERROR(RemoveFileAndParents(runs, request.path, request.directories));
  return tool::Response{};
}

}  // namespace odyssey::cell_tools
