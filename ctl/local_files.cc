#include "ctl/local_files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "common/os/file.h"
#include "common/os/mount_calls.h"
#include "ctl/planted_link.h"

namespace odyssey::ctl {
namespace {

constexpr mode_t kPermissionBits = 0777;
constexpr mode_t kDirectoryMode = 0755;
constexpr mode_t kTakenBits = 0755;  // what came out of a cell nobody else may change here
constexpr int kDirectoryFlags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

std::string WithoutSlashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

std::string LastComponent(const std::string& path) {
  const std::string trimmed = WithoutSlashes(path);
  return trimmed.substr(trimmed.rfind('/') + 1);
}

std::string ParentOf(const std::string& path) {
  const std::string trimmed = WithoutSlashes(path);
  const size_t slash = trimmed.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : trimmed.substr(0, slash);
}

bool IsDirectory(const UniqueFd& fd) {
  struct stat info;
  return fstat(fd.get(), &info) == 0 && S_ISDIR(info.st_mode);
}

// Why the file is left out, "" if it is not.
std::string WhySkipped(const std::string& path) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0) {
    return errno == ENOENT ? "not found" : ErrnoStatus(errno, "stat").message();
  }
  if (S_ISLNK(info.st_mode)) return "is a symlink";
  if (S_ISDIR(info.st_mode)) return "is a directory";
  return S_ISREG(info.st_mode) ? "" : "is no regular file";
}

bool IsName(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('\0') == std::string_view::npos;
}

}  // namespace

Result<FilesToPut> ChooseFiles(const std::vector<std::string>& paths) {
  FilesToPut out;
  for (const std::string& path : paths) {
    if (const std::string why = WhySkipped(path); !why.empty()) {
      out.skipped.push_back("file \"" + path + "\" " + why + ", skipping it");
      continue;
    }
    const Result<std::string> real = ResolveUnplanted(path);
    if (!real.ok()) {
      out.skipped.push_back("file \"" + path + "\": " + real.status().message() + "; skipping it");
      continue;
    }
    FileToPut file{path, *real, LastComponent(path)};
    for (const FileToPut& other : out.files) {
      if (other.name != file.name) continue;
      return InvalidArgument("\"" + path + "\" and \"" + other.path + "\" would both be " +
                             file.name + " in the inbox");
    }
    out.files.push_back(std::move(file));
  }
  return out;
}

Result<UniqueFd> OpenFileToPut(const FileToPut& file, uint32_t* mode) {
  ODY_ASSIGN_OR_RETURN(const UniqueFd place, OpenHostPath(file.real));
  struct stat info;
  if (fstat(place.get(), &info) != 0) return ErrnoStatus(errno, "stat " + file.path);
  if (!S_ISREG(info.st_mode)) return FailedPrecondition(file.path + ": is no regular file");
  const std::string itself = "/proc/self/fd/" + std::to_string(place.get());
  UniqueFd fd(open(itself.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return ErrnoStatus(errno, "open " + file.path);
  *mode = info.st_mode & kPermissionBits;
  return fd;
}

Result<Destination> Destination::Open(const std::string& path) {
  const Result<std::string> real = ResolveUnplanted(path);
  if (real.status().code() == Code::kNotFound) return Make(path);
  ODY_RETURN_IF_ERROR(real.status());
  ODY_ASSIGN_OR_RETURN(UniqueFd root, OpenHostPath(*real));
  if (!IsDirectory(root)) return FailedPrecondition(path + ": is no directory");
  return Destination(std::move(root));
}

Result<Destination> Destination::Make(const std::string& path) {
  ODY_ASSIGN_OR_RETURN(const std::string parent, ResolveUnplanted(ParentOf(path)));
  ODY_ASSIGN_OR_RETURN(UniqueFd made_in, OpenHostPath(parent));
  std::string name = LastComponent(path);
  if (mkdirat(made_in.get(), name.c_str(), kDirectoryMode) != 0) {
    return ErrnoStatus(errno, "create " + path);
  }
  Destination made(UniqueFd(openat(made_in.get(), name.c_str(), kDirectoryFlags)));
  if (!made.root_) return ErrnoStatus(errno, "open " + path);
  made.made_in_ = std::move(made_in);
  made.made_ = std::move(name);
  return made;
}

void Destination::Discard() {
  if (made_in_) (void)unlinkat(made_in_.get(), made_.c_str(), AT_REMOVEDIR);
}

Status Destination::Begin(const std::string& path, uint32_t mode) {
  parent_.reset(fcntl(root_.get(), F_DUPFD_CLOEXEC, 0));
  for (size_t begin = 0;;) {
    const size_t end = std::min(path.find('/', begin), path.size());
    name_ = path.substr(begin, end - begin);
    if (!IsName(name_)) return InvalidArgument("its name would lead elsewhere");
    if (end == path.size()) break;
    if (mkdirat(parent_.get(), name_.c_str(), kDirectoryMode) != 0 && errno != EEXIST) {
      return ErrnoStatus(errno, "create the directory " + path.substr(0, end));
    }
    UniqueFd next(openat(parent_.get(), name_.c_str(), kDirectoryFlags));
    if (!next) return ErrnoStatus(errno, "open the directory " + path.substr(0, end));
    parent_ = std::move(next);
    begin = end + 1;
  }
  mode_ = mode & kTakenBits;
  file_.reset(openat(parent_.get(), name_.c_str(),
                     O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (file_) return OkStatus();
  if (errno == EEXIST) return AlreadyExists("there is one already, which is left as it is");
  return ErrnoStatus(errno, "create it");
}

Status Destination::Add(std::string_view bytes) { return WriteAll(file_.get(), bytes); }

Status Destination::Finish() {
  const bool set = fchmod(file_.get(), mode_) == 0;
  const int error = errno;
  file_.reset();
  return set ? OkStatus() : ErrnoStatus(error, "set its mode");
}

void Destination::Abandon() {
  if (!file_) return;
  unlinkat(parent_.get(), name_.c_str(), 0);
  file_.reset();
}

}  // namespace odyssey::ctl
