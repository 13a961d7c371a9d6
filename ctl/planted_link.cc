#include "ctl/planted_link.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <deque>
#include <filesystem>

#include "policy/dialect/policy.h"
#include "policy/plan/plan_check.h"

namespace odyssey::ctl {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // as many as the kernel follows
constexpr int kPlace = O_PATH | O_NOFOLLOW | O_CLOEXEC;

bool IsTheSystems(const std::string& directory) {
  return directory == "/" || directory == "/home" || directory == "/var" ||
         plan::IsWithin(directory, "/usr");
}

// A path walked once, a component at a time: what is judged, what is named and what is open are the
// same place, whatever other processes put in the way meanwhile.
class Walk final {
 public:
  explicit Walk(const std::string& path) : given_(path) {}

  // NOT_FOUND: nothing is there.
  Status Run() {
    if (given_.empty()) return ErrnoStatus(ENOENT, "resolve");
    ODY_RETURN_IF_ERROR(given_[0] == '/' ? Begin("/") : Begin("."));
    PutFirst(given_);
    while (!rest_.empty()) {
      const std::string name = rest_.front();
      rest_.pop_front();
      if (name.empty() || name == "/" || name == ".") continue;
      ODY_RETURN_IF_ERROR(Enter(name));
    }
    return OkStatus();
  }

  OpenedPath Take() { return {at_.string(), std::move(place_)}; }
  const std::string& planted() const { return planted_; }
  std::string at() const { return at_.string(); }
  // After NOT_FOUND: what would be where the path leads.
  std::string AtMissing() const {
    fs::path path = at_ / missing_;
    for (const std::string& name : rest_) path /= name;
    return path.lexically_normal().string();
  }

 private:
  Status Begin(const char* directory) {
    place_.reset(open(directory, kPlace | O_DIRECTORY));
    if (!place_) return Failed();
    std::error_code error;
    at_ = directory[0] == '/' ? fs::path("/") : fs::current_path(error);
    return error ? ErrnoStatus(error.value(), "resolve " + given_) : OkStatus();
  }

  Status Failed() const { return ErrnoStatus(errno, "resolve " + given_); }

  void PutFirst(const fs::path& path) {
    const std::deque<std::string> parts(path.begin(), path.end());
    rest_.insert(rest_.begin(), parts.begin(), parts.end());
  }

  Status Enter(const std::string& name) {
    UniqueFd next(openat(place_.get(), name.c_str(), kPlace));
    struct stat info;
    if (!next || fstat(next.get(), &info) != 0) {
      missing_ = name;
      return Failed();
    }
    if (S_ISLNK(info.st_mode)) return Follow(name, next.get());
    at_ = name == ".." ? at_.parent_path() : at_ / name;
    place_ = std::move(next);
    return OkStatus();
  }

  Status Follow(const std::string& name, int link) {
    const std::string holder = at_.string();
    if (planted_.empty() && !IsTheSystems(holder)) planted_ = (at_ / name).string();
    if (++links_ > kMostLinks) return ErrnoStatus(ELOOP, "resolve " + given_);
    char text[PATH_MAX];
    const ssize_t size = readlinkat(link, "", text, sizeof(text));
    if (size < 0) return Failed();
    const fs::path target(std::string(text, static_cast<size_t>(size)));
    if (target.is_absolute()) ODY_RETURN_IF_ERROR(Begin("/"));
    PutFirst(target);
    return OkStatus();
  }

  const std::string given_;
  UniqueFd place_;
  fs::path at_;
  std::deque<std::string> rest_;
  std::string planted_;
  std::string missing_;  // the component at which the walk ended
  int links_ = 0;
};

}  // namespace

std::string PlantedLink(const std::string& path) {
  Walk walk(path);
  (void)walk.Run();  // as far as it comes
  return walk.planted();
}

Result<std::string> ResolvePath(const std::string& path) {
  Walk walk(path);
  ODY_RETURN_IF_ERROR(walk.Run());
  return walk.at();
}

WalkedPath WalkAlong(const std::string& path) {
  Walk walk(path);
  const Status status = walk.Run();
  if (status.ok()) return {true, walk.at(), walk.planted()};
  const bool missing = status.code() == Code::kNotFound;
  return {false, missing ? walk.AtMissing() : path, walk.planted()};
}

Result<OpenedPath> OpenUnplanted(const std::string& path) {
  Walk walk(path);
  ODY_RETURN_IF_ERROR(walk.Run());
  if (walk.planted().empty()) return walk.Take();
  return FailedPrecondition(dialect::RefusalOfLink(walk.planted(), walk.at()));
}

Result<std::string> ResolveUnplanted(const std::string& path) {
  ODY_ASSIGN_OR_RETURN(OpenedPath opened, OpenUnplanted(path));
  return std::move(opened.path);
}

}  // namespace odyssey::ctl
