#include "ctl/file/local_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "common/os/file.h"

namespace odyssey::ctl {
namespace {

constexpr mode_t kPermissionBits = 0777;
constexpr mode_t kDirectoryMode = 0755;
constexpr mode_t kTakenBits = 0755;  // what came out of a cell only its owner may change here
constexpr int kDirectoryFlags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

std::string WithoutSlashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

std::string LastComponent(const std::string& path) {
  const std::string trimmed = WithoutSlashes(path);
  return trimmed.substr(trimmed.rfind('/') + 1);
}

// Why the file is left out, "" if it is not.
std::string WhySkipped(const Walk& walk) {
  if (walk.status.code() == Code::kNotFound) return " not found, skipping it";
  if (walk.last_is_link) return " is a symlink, skipping it";
  if (!walk.place) return ": " + walk.status.message() + "; skipping it";
  if (walk.place->is_directory()) return " is a directory, skipping it";
  return S_ISREG(walk.place->mode()) ? "" : " is no regular file, skipping it";
}

// Adds what is at `path`, as `name`.
void List(const std::string& path, const std::string& name, ListedFiles* out) {
  const Walk walk = WalkPath(path);
  const bool directory = walk.place && !walk.last_is_link && walk.place->is_directory();
  if (!directory) {
    const std::string why = WhySkipped(walk);
    why.empty() ? out->files.push_back({path, name})
                : out->skipped.push_back("file \"" + path + "\"" + why);
    return;
  }
  UniqueFd fd(openat(walk.place->fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(fd ? fdopendir(fd.get()) : nullptr, closedir);
  if (!stream) return out->skipped.push_back("directory \"" + path + "\" cannot be read");
  fd.release();
  std::set<std::string> entries;
  // Only this thread reads this stream.
  while (const dirent* entry = readdir(stream.get())) {  // NOLINT(concurrency-mt-unsafe)
    entries.insert(entry->d_name);
  }
  for (const std::string& entry : entries) {
    if (entry == "." || entry == "..") continue;
    List(path + "/" + entry, name.empty() ? entry : name + "/" + entry, out);
  }
}

bool IsName(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('\0') == std::string_view::npos;
}

}  // namespace

std::string InboxName(const std::string& path) {
  std::string name;
  for (const std::filesystem::path& part : std::filesystem::path(path)) {
    if (part == "..") return LastComponent(path);
    if (part == "." || part.empty()) continue;
    name += (name.empty() ? "" : "/") + part.string();
  }
  return path.front() == '/' ? LastComponent(path) : name;
}

Result<FilesToPut> ChooseFiles(const std::vector<std::string>& paths) {
  FilesToPut out;
  for (const std::string& path : paths) {
    Walk walk = WalkPath(path);
    if (const std::string why = WhySkipped(walk); !why.empty()) {
      out.skipped.push_back("file \"" + path + "\"" + why);
      continue;
    }
    FileToPut file{path, std::make_shared<const NamedPlace>(*std::move(walk.place)),
                   InboxName(path)};
    for (const FileToPut& other : out.files) {
      if (other.name != file.name) continue;
      return InvalidArgument("\"" + path + "\" and \"" + other.path + "\" would both be " +
                             file.name + " in the inbox");
    }
    out.files.push_back(std::move(file));
  }
  return out;
}

Result<ListedFiles> ListFiles(const std::vector<std::string>& paths) {
  ListedFiles out;
  for (const std::string& path : paths) {
    std::string name = LastComponent(path);
    if (name == ".") name.clear();
    if (name == "..") return InvalidArgument("\"" + path + "\": has no name to be copied by");
    List(path, name, &out);
  }
  std::set<std::string> names;
  for (const ListedFile& file : out.files) {
    if (names.insert(file.name).second) continue;
    return InvalidArgument("two of the files would be " + file.name);
  }
  return out;
}

FilesToPut OpenListed(const ListedFile* first, const ListedFile* last) {
  FilesToPut out;
  for (; first != last; ++first) {
    Walk walk = WalkPath(first->path);
    if (const std::string why = WhySkipped(walk); !why.empty()) {
      out.skipped.push_back("file \"" + first->path + "\"" + why);
      continue;
    }
    out.files.push_back(
        {first->path, std::make_shared<const NamedPlace>(*std::move(walk.place)), first->name});
  }
  return out;
}

Result<UniqueFd> OpenFileToPut(const FileToPut& file, uint32_t* mode) {
  if (!file.place) {
    *mode = 0;
    UniqueFd input(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
    if (!input) return ErrnoStatus(errno, "open stdin");
    return input;
  }
  ODY_ASSIGN_OR_RETURN(UniqueFd fd, file.place->OpenFile());
  *mode = file.place->mode() & kPermissionBits;
  return fd;
}

Result<Destination> Destination::Open(const std::string& path) {
  Walk walk = WalkPath(path);
  if (walk.above) return Make(path, std::move(walk));
  ODY_RETURN_IF_ERROR(walk.status);
  if (!walk.place->is_directory()) return FailedPrecondition(path + ": is no directory");
  UniqueFd root(fcntl(walk.place->fd(), F_DUPFD_CLOEXEC, 0));
  if (!root) return ErrnoStatus(errno, "open " + path);
  return Destination(std::move(root));
}

Result<Destination> Destination::Make(const std::string& path, Walk walk) {
  std::string name = std::move(walk.missing);
  if (name.find('/') != std::string::npos) return walk.status;
  if (mkdirat(walk.above->fd(), name.c_str(), kDirectoryMode) != 0) {
    return ErrnoStatus(errno, "create " + path);
  }
  Destination made(UniqueFd(openat(walk.above->fd(), name.c_str(), kDirectoryFlags)));
  if (!made.root_) return ErrnoStatus(errno, "open " + path);
  made.made_in_.reset(fcntl(walk.above->fd(), F_DUPFD_CLOEXEC, 0));
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
