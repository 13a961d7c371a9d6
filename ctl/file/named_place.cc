#include "ctl/file/named_place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <vector>

#include "common/os/file.h"
#include "common/os/regular_file.h"
#include "policy/dialect/policy.h"
#include "policy/plan/plan_check.h"

namespace odyssey::ctl {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // as many as the kernel follows
constexpr int kStepFlags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
constexpr int kDirectoryFlags = kStepFlags | O_DIRECTORY;

bool IsTheSystems(const std::string& directory) {
  return directory == "/" || directory == "/home" || directory == "/var" ||
         plan::IsWithin(directory, "/usr") || plan::IsWithin(directory, "/etc");
}

// No cell is given these to write, so no command made a link in them; a user of the host could
// have.
bool IsAnyUsers(const std::string& directory) {
  return directory == "/tmp" || directory == "/root";
}

// Places are held open: as many as the process may have. True if there may be more now.
bool RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return false;
  limit.rlim_cur = limit.rlim_max;
  return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

UniqueFd OpenStep(int directory, const std::string& name) {
  UniqueFd fd(openat(directory, name.c_str(), kStepFlags));
  if (!fd && errno == EMFILE && RaiseDescriptorLimit()) {
    fd.reset(openat(directory, name.c_str(), kStepFlags));
  }
  return fd;
}

Result<std::string> ReadLink(int link) {
  std::string text(PATH_MAX, '\0');
  const ssize_t n = readlinkat(link, "", text.data(), text.size());
  if (n < 0) return ErrnoStatus(errno, "read the link");
  text.resize(static_cast<size_t>(n));
  return text;
}

// Of what is below `directory`, what stands after it in the absolute path; nullopt of the rest.
std::optional<std::string> Below(const std::string& path, const std::string& directory) {
  if (!plan::IsWithin(path, directory) || directory == "/") return std::nullopt;
  return path.substr(std::min(path.size(), directory.size() + 1));
}

std::string Normal(const fs::path& path) {
  std::string out = path.lexically_normal().string();
  while (out.size() > 1 && out.back() == '/') out.pop_back();
  return out;
}

std::string WithoutSlashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace

// One walk. Where it is, is `at_`; ".." is opened too, and has to be the directory that the walk
// came through: nothing that is moved meanwhile leads it elsewhere.
class PathWalk final {
 public:
  // With `make` a directory that is missing is made, with that mode.
  PathWalk(const std::string& path, Links links, std::optional<mode_t> make = std::nullopt)
      : path_(path), links_(links), make_(make) {}

  Walk Run() {
    Status status = Begin();
    while (status.ok() && !rest_.empty()) {
      const Part part = rest_.front();
      rest_.pop_front();
      status = Take(part);
    }
    // A slash at its end says that it is a directory.
    if (status.ok() && path_.back() == '/' && !S_ISDIR(info_.st_mode)) status = Failed(ENOTDIR);
    if (status.ok()) {
      out_.name = Name();
      out_.place = NamedPlace(Name(), std::move(at_), info_);
    }
    out_.status = std::move(status);
    return std::move(out_);
  }

 private:
  struct Part {
    std::string name;
    bool last = false;  // of the path as it was named
  };
  // A directory that the walk came through, or what it is at. Without an inode: one above the
  // working directory.
  struct Level {
    std::string name;
    dev_t device;
    ino_t inode;
  };

  Status Failed(int error) const { return ErrnoStatus(error, "open " + path_); }

  std::string Name() const {
    std::string name;
    for (const Level& level : levels_) name += level.name.empty() ? "" : "/" + level.name;
    return name.empty() ? "/" : name;
  }

  // Of `part` here and what is left to walk after it.
  std::string NameOfRest(const std::string& part) const {
    fs::path name = part;
    for (const Part& next : rest_) name /= next.name;
    return name.string();
  }

  Status Begin() {
    if (path_.empty()) return Failed(ENOENT);
    if (path_.size() >= PATH_MAX) return Failed(ENAMETOOLONG);
    if (path_.find('\0') != std::string::npos) return Failed(EINVAL);
    ODY_RETURN_IF_ERROR(path_.front() == '/' ? BeginAtRoot() : BeginHere());
    Put(path_);
    const bool names = !rest_.empty() && rest_.back().name != "." && rest_.back().name != "..";
    if (names && path_.back() != '/') rest_.back().last = true;
    return OkStatus();
  }

  Status BeginAtRoot() {
    at_.reset(open("/", kDirectoryFlags));
    levels_.clear();
    return at_ ? Arrive("") : Failed(errno);
  }

  // Where the process is, whatever its name says: what is above it is the kernel's "..".
  Status BeginHere() {
    char name[PATH_MAX];
    at_.reset(open(".", kDirectoryFlags));
    if (!at_ || fstat(at_.get(), &info_) != 0) return Failed(errno);
    if (getcwd(name, sizeof(name)) == nullptr) return Failed(errno);
    if (name[0] != '/') return Failed(ENOENT);  // "(unreachable)/…"
    levels_ = {{"", 0, 0}};
    for (const Part& part : PartsOf(name)) levels_.push_back({part.name, 0, 0});
    return OkStatus();
  }

  static std::vector<Part> PartsOf(const std::string& path) {
    std::vector<Part> parts;
    for (size_t begin = 0; begin < path.size();) {
      const size_t end = std::min(path.find('/', begin), path.size());
      if (end > begin) parts.push_back({path.substr(begin, end - begin)});
      begin = end + 1;
    }
    return parts;
  }

  // Before what is left to walk.
  void Put(const std::string& path) {
    const std::vector<Part> parts = PartsOf(path);
    rest_.insert(rest_.begin(), parts.begin(), parts.end());
  }

  Status Take(const Part& part) {
    if (!S_ISDIR(info_.st_mode)) return NotThere(part.name, ENOTDIR);
    if (part.name == ".") return OkStatus();
    if (part.name == "..") return Up();
    UniqueFd next = OpenStep(at_.get(), part.name);
    if (!next && errno == ENOENT && make_) {
      if (mkdirat(at_.get(), part.name.c_str(), *make_) != 0 && errno != EEXIST) {
        return ErrnoStatus(errno, "create directory " + Normal(fs::path(Name()) / part.name));
      }
      next = OpenStep(at_.get(), part.name);
    }
    struct stat info;
    if (!next || fstat(next.get(), &info) != 0) return NotThere(part.name, errno);
    if (part.last) out_.last_is_link = S_ISLNK(info.st_mode);
    if (S_ISLNK(info.st_mode)) return Follow(part, next.get(), info);
    const bool below = floor_ > 0 && levels_.size() >= floor_;
    if (below && (info.st_uid != info_.st_uid || info.st_dev != info_.st_dev)) return Refuse();
    at_ = std::move(next);
    return Arrive(part.name);
  }

  Status Arrive(const std::string& name) {
    if (fstat(at_.get(), &info_) != 0) return Failed(errno);
    levels_.push_back({name, info_.st_dev, info_.st_ino});
    return OkStatus();
  }

  Status Up() {
    if (levels_.size() <= floor_) return Refuse();
    if (levels_.size() == 1) return OkStatus();  // of "/"
    UniqueFd above = OpenStep(at_.get(), "..");
    if (!above) return Failed(errno);
    levels_.pop_back();
    at_ = std::move(above);
    if (fstat(at_.get(), &info_) != 0) return Failed(errno);
    const Level& expected = levels_.back();
    if (expected.inode == 0) return OkStatus();
    if (info_.st_dev == expected.device && info_.st_ino == expected.inode) return OkStatus();
    return FailedPrecondition("open " + path_ + ": a directory on the way was moved meanwhile");
  }

  Status NotThere(const std::string& part, int error) {
    out_.missing = NameOfRest(part);
    out_.name = Normal(fs::path(Name()) / out_.missing);
    if (error == ENOENT) out_.above = NamedPlace(Name(), std::move(at_), info_);
    return Failed(error);
  }

  // What it says is read from the link that was opened, and walked from here.
  Status Follow(const Part& part, int link, const struct stat& info) {
    ODY_ASSIGN_OR_RETURN(std::string text, ReadLink(link));
    if (++followed_links_ > kMostLinks) return Failed(ELOOP);
    const std::string directory = Name();
    const bool itself = part.last && links_ == Links::kFileItself;
    const bool own = links_ == Links::kBelow && IsAnyUsers(directory) &&
                     (info.st_uid == geteuid() || info.st_uid == 0);
    if (own && out_.followed.empty()) out_.followed = Normal(fs::path(directory) / part.name);
    if (!itself && !own && !IsTheSystems(directory)) {
      link_ = Normal(fs::path(directory) / part.name);
      leads_to_ = Normal(fs::path(directory) / text / NameOfRest(""));
      if (links_ != Links::kBelow) return Refuse();
      ODY_RETURN_IF_ERROR(StayBelow(info, directory, &text));
      if (out_.followed.empty()) out_.followed = link_;
    } else if (text.front() == '/') {
      ODY_RETURN_IF_ERROR(BeginAtRoot());
    }
    Put(text);
    return OkStatus();
  }

  // What `text` says of a link that is followed by Links::kBelow, from where the walk is then.
  Status StayBelow(const struct stat& link, const std::string& directory, std::string* text) {
    if (text->rfind("/usr/", 0) == 0) {
      floor_ = 2;
      return BeginAtRoot();
    }
    if (link.st_uid != info_.st_uid) return Refuse();
    floor_ = levels_.size();
    if (text->front() != '/') return OkStatus();
    const std::optional<std::string> below = Below(*text, directory);
    if (!below) return Refuse();
    *text = *below;
    return OkStatus();
  }

  Status Refuse() {
    out_.followed.clear();
    out_.planted_link = link_;
    out_.name = leads_to_;
    return FailedPrecondition(dialect::RefusalOfLink(link_, leads_to_));
  }

  const std::string path_;
  const Links links_;
  const std::optional<mode_t> make_;
  Walk out_;
  std::deque<Part> rest_;
  std::vector<Level> levels_;  // the first is "/"
  UniqueFd at_;
  struct stat info_ {};  // of `at_`
  int followed_links_ = 0;
  // After a link of Links::kBelow: the walk stays below so many levels.
  size_t floor_ = 0;
  std::string link_, leads_to_;  // of the link that was judged last
};

Result<UniqueFd> NamedPlace::OpenFile() const {
  if (!S_ISREG(info_.st_mode)) {
    return InvalidArgument("open " + name_ + ": it is " + FileKind(info_.st_mode) +
                           ", not a regular file");
  }
  const std::string itself = "/proc/self/fd/" + std::to_string(fd_.get());
  UniqueFd fd(open(itself.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) return ErrnoStatus(errno, "open " + name_);
  return fd;
}

namespace {

Result<NamedPlace> PlaceOf(Walk walk) {
  ODY_RETURN_IF_ERROR(walk.status);
  return *std::move(walk.place);
}

}  // namespace

Walk WalkPath(const std::string& path, Links links) { return PathWalk(path, links).Run(); }

Result<NamedPlace> OpenNamedPlace(const std::string& path, Links links) {
  return PlaceOf(WalkPath(path, links));
}

Result<NamedEntry> OpenDirectoryOf(const std::string& path) {
  const std::string trimmed = WithoutSlashes(path);
  const size_t slash = trimmed.rfind('/');
  std::string name = trimmed.substr(slash + 1);
  if (name.empty() || name == "." || name == "..") {
    return InvalidArgument("\"" + path + "\": expected the name of a file");
  }
  const std::string directory = slash == std::string::npos ? "." : trimmed.substr(0, slash + 1);
  ODY_ASSIGN_OR_RETURN(NamedPlace place, OpenNamedPlace(directory));
  return NamedEntry{std::move(place), std::move(name)};
}

Status ReplaceNamedFile(const std::string& path, std::string_view bytes, mode_t mode) {
  ODY_ASSIGN_OR_RETURN(const NamedEntry entry, OpenDirectoryOf(path));
  const int directory = entry.directory.fd();
  const std::string temporary = entry.name.substr(0, 200) + ".tmp-" + std::to_string(getpid());
  unlinkat(directory, temporary.c_str(), 0);  // left by a crash of a process with our pid
  const UniqueFd fd(openat(directory, temporary.c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
  if (!fd) return ErrnoStatus(errno, "create " + temporary + " (replacing " + path + ")");
  Status status = WriteAll(fd.get(), bytes);
  if (status.ok() && fsync(fd.get()) != 0) status = ErrnoStatus(errno, "sync");
  if (status.ok() && renameat(directory, temporary.c_str(), directory, entry.name.c_str()) != 0) {
    status = ErrnoStatus(errno, "rename");
  }
  if (!status.ok()) {
    unlinkat(directory, temporary.c_str(), 0);
    return {status.code(), status.message() + " (replacing " + path + ")"};
  }
  const UniqueFd sync(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!sync || fsync(sync.get()) != 0) return ErrnoStatus(errno, "sync the directory of " + path);
  return OkStatus();
}

const Walk& NamedPlaces::Keep(const std::string& path, Links links, Walk walk) {
  const auto kept = std::make_shared<const Walk>(std::move(walk));
  walks_[{links, path}] = kept;
  // Its name, asked for later, is this place.
  if (kept->place) walks_.try_emplace({Links::kSystem, kept->name}, kept);
  return *kept;
}

const Walk& NamedPlaces::Look(const std::string& path, Links links) {
  const auto found = walks_.find({links, path});
  return found != walks_.end() ? *found->second : Keep(path, links, WalkPath(path, links));
}

Result<const NamedPlace*> NamedPlaces::Make(const std::string& path, mode_t mode) {
  const Walk& walk = Keep(path, Links::kSystem, PathWalk(path, Links::kSystem, mode).Run());
  ODY_RETURN_IF_ERROR(walk.status);
  return &*walk.place;
}

Result<std::string> NamedPlaces::Read(const std::string& path, Links links, size_t max_bytes) {
  if (IsGivenDescriptor(path)) return ReadRegularFile(path, max_bytes);
  const Walk& walk = Look(path, links);
  ODY_RETURN_IF_ERROR(walk.status);
  ODY_ASSIGN_OR_RETURN(const UniqueFd fd, walk.place->OpenFile());
  return ReadToTheEnd(fd.get(), path, max_bytes);
}

}  // namespace odyssey::ctl
