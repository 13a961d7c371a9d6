#include "supervisor/cell_tools/path_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace odyssey::cell_tools {
namespace {

constexpr int kMaxLinks = 40;  // as the kernel's MAXSYMLINKS
constexpr mode_t kDirectoryMode = 0755;

}  // namespace

std::string PathWalk::TakeComponent() {
  const size_t begin = std::min(rest_.find_first_not_of('/'), rest_.size());
  const size_t end = std::min(rest_.find('/', begin), rest_.size());
  std::string component = rest_.substr(begin, end - begin);
  rest_.erase(0, end);
  return component;
}

void PathWalk::GoUp() {
  rest_.insert(0, at_.substr(0, at_.rfind('/')));  // `at_` begins with a slash or is empty
  at_.clear();
  directory_.reset();
}

bool PathWalk::EnterRoot(const Root& root) {
  if (!root.name.empty() && !AtEnd()) {
    errno = ENOTDIR;
    return false;
  }
  directory_.reset(fcntl(root.fd.get(), F_DUPFD_CLOEXEC, 0));
  at_ = root.path;
  return has_directory();
}

Status PathWalk::CountLink(Access access, const std::string& absolute) {
  return ++links_ > kMaxLinks ? AccessError(ELOOP, access, absolute) : OkStatus();
}

Status PathWalk::FollowLink(const std::string& name, Access access, bool* is_link) {
  char target[PATH_MAX];
  const ssize_t length = readlinkat(directory_.get(), name.c_str(), target, sizeof(target));
  if (length < 0) return OkStatus();  // no link, or not there: the next step will say
  ODY_RETURN_IF_ERROR(CountLink(access, at_ + "/" + name));
  *is_link = true;
  rest_.insert(0, target, static_cast<size_t>(length));  // `rest_` is empty or begins with a slash
  if (length > 0 && target[0] == '/') {
    at_.clear();
    directory_.reset();
  }
  return OkStatus();
}

Status PathWalk::EnterDirectory(const std::string& name, Access access, MissingParents missing) {
  const std::string next = at_ + "/" + name;
  constexpr int kFlags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  UniqueFd fd(openat(directory_.get(), name.c_str(), kFlags));
  if (!fd && errno == ENOENT && missing == MissingParents::kCreate) {
    if (mkdirat(directory_.get(), name.c_str(), kDirectoryMode) != 0 && errno != EEXIST) {
      return AccessError(errno, access, next);
    }
    fd.reset(openat(directory_.get(), name.c_str(), kFlags));
  }
  if (fd) {
    directory_ = std::move(fd);
    at_ = next;
    return OkStatus();
  }
  const int error = errno;
  struct stat info;
  if (error != ENOTDIR ||
      fstatat(directory_.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0 ||
      !S_ISLNK(info.st_mode)) {
    return AccessError(error, access, next);
  }
  rest_.insert(0, "/" + name);
  return CountLink(access, next);
}

Location PathWalk::Finish(const std::string& name) {
  return {.directory = std::move(directory_),
          .name = name,
          .absolute = name == "." ? at_ : at_ + "/" + name};
}

}  // namespace odyssey::cell_tools
