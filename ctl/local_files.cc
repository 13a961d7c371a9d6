#include "ctl/local_files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "common/os/file.h"
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

// Why the file is left out, "" if it is not. `opened` is `path` itself, or where it leads as a
// link.
std::string WhySkipped(const OpenedPath& opened) {
  struct stat info;
  if (fstat(opened.place.get(), &info) != 0) return ErrnoStatus(errno, "stat").message();
  if (S_ISDIR(info.st_mode)) return "is a directory";
  return S_ISREG(info.st_mode) ? "" : "is no regular file";
}

// For the words of the warning: what is opened is judged by the walk.
bool IsSymlink(const std::string& path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode);
}

bool IsName(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('\0') == std::string_view::npos;
}

}  // namespace

Result<FilesToPut> ChooseFiles(const std::vector<std::string>& paths) {
  FilesToPut out;
  for (const std::string& path : paths) {
    std::string why = IsSymlink(path) ? "is a symlink" : "";
    Result<OpenedPath> opened = OpenUnplanted(path);
    if (opened.status().code() == Code::kNotFound) why = "not found";
    if (why.empty() && opened.ok()) why = WhySkipped(*opened);
    if (!why.empty()) {
      out.skipped.push_back("file \"" + path + "\" " + why + ", skipping it");
      continue;
    }
    if (!opened.ok()) {
      out.skipped.push_back("file \"" + path + "\": " + opened.status().message() +
                            "; skipping it");
      continue;
    }
    FileToPut file{path, std::move(opened->place), LastComponent(path)};
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
  const UniqueFd& place = file.place;
  struct stat info;
  if (fstat(place.get(), &info) != 0) return ErrnoStatus(errno, "stat " + file.path);
  if (!S_ISREG(info.st_mode)) return FailedPrecondition(file.path + ": is no regular file");
  const std::string itself = "/proc/self/fd/" + std::to_string(place.get());
  UniqueFd fd(open(itself.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return ErrnoStatus(errno, "open " + file.path);
  *mode = info.st_mode & kPermissionBits;
  return fd;
}

Status SaveLocalFile(const std::string& path, std::string_view content, uint32_t mode) {
  const std::string name = LastComponent(path);
  if (!IsName(name)) return InvalidArgument(path + ": no name of a file");
  ODY_ASSIGN_OR_RETURN(const OpenedPath parent, OpenUnplanted(ParentOf(path)));
  const int directory = parent.place.get();
  const std::string temporary = "." + name.substr(0, 200) + ".odyssey-" + std::to_string(getpid());
  const UniqueFd file(openat(directory, temporary.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IWUSR));
  if (!file) return ErrnoStatus(errno, "create a file beside " + path);
  Status status = WriteAll(file.get(), content);
  if (status.ok() && fchmod(file.get(), mode) != 0) status = ErrnoStatus(errno, "chmod " + path);
  if (status.ok() && renameat(directory, temporary.c_str(), directory, name.c_str()) != 0) {
    status = ErrnoStatus(errno, "write " + path);
  }
  if (!status.ok()) unlinkat(directory, temporary.c_str(), 0);
  return status;
}

Result<Destination> Destination::Open(const std::string& path) {
  Result<OpenedPath> opened = OpenUnplanted(path);
  if (opened.status().code() == Code::kNotFound) return Make(path);
  ODY_RETURN_IF_ERROR(opened.status());
  if (!IsDirectory(opened->place)) return FailedPrecondition(path + ": is no directory");
  return Destination(std::move(opened->place));
}

Result<Destination> Destination::Make(const std::string& path) {
  ODY_ASSIGN_OR_RETURN(OpenedPath parent, OpenUnplanted(ParentOf(path)));
  UniqueFd made_in = std::move(parent.place);
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
