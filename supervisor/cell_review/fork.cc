#include "supervisor/cell_review/fork.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "supervisor/cell_review/layer.h"

namespace odyssey::cell_review {
namespace {

constexpr size_t kMaxNames = 64 * 1024;
constexpr char kUser[] = "user.";

void CopyAttributes(int from, int to) {
  std::string names(kMaxNames, '\0');
  const ssize_t n = flistxattr(from, names.data(), names.size());
  for (ssize_t at = 0; at < n;) {
    const char* const name = names.data() + at;
    at += static_cast<ssize_t>(strlen(name)) + 1;
    if (strncmp(name, kUser, strlen(kUser)) != 0) continue;
    std::string value(kMaxNames, '\0');
    const ssize_t size = fgetxattr(from, name, value.data(), value.size());
    if (size >= 0) (void)fsetxattr(to, name, value.data(), static_cast<size_t>(size), 0);
  }
}

// The directory that an overlay works in: "changes/<hash>/work".
bool IsWork(const std::string& path) {
  constexpr std::string_view kEnd = "/work";
  return IsBelow(path, "changes") && path.size() > kEnd.size() &&
         std::string_view(path).substr(path.size() - kEnd.size()) == kEnd &&
         ParentOf(ParentOf(path)) == "changes";
}

class Copier final {
 public:
  Copier(Layer from, Layer to) : from_(std::move(from)), to_(std::move(to)) {}

  Status Copy(const std::string& path, size_t depth) {
    if (depth > kMaxDepth) return InvalidArgument(Shown(path) + ": too many directories deep");
    ODY_ASSIGN_OR_RETURN(const std::vector<std::string> names, from_.Names(path));
    for (const std::string& name : names) {
      ODY_RETURN_IF_ERROR(CopyOne(Join(path, name), depth));
    }
    return OkStatus();
  }

 private:
  Status CopyOne(const std::string& path, size_t depth) {
    ODY_ASSIGN_OR_RETURN(const Node node, from_.Look(path));
    std::string name;
    ODY_ASSIGN_OR_RETURN(const int parent, to_.Parent(path, &name));
    const auto failed = [&] { return ErrnoStatus(errno, "copy " + Shown(path)); };
    switch (node.kind) {
      case Kind::kFile:
        return CopyFile(path, node, parent, name);
      case Kind::kDirectory:
        return CopyDirectory(path, node, depth, parent, name);
      case Kind::kSymlink:
        return symlinkat(node.link.c_str(), parent, name.c_str()) == 0 ? OkStatus() : failed();
      case Kind::kWhiteout:
        return mknodat(parent, name.c_str(), S_IFCHR, makedev(0, 0)) == 0 ? OkStatus() : failed();
      default:
        return OkStatus();
    }
  }

  Status CopyFile(const std::string& path, const Node& node, int parent, const std::string& name) {
    ODY_ASSIGN_OR_RETURN(const UniqueFd from, from_.OpenFile(path));
    const UniqueFd to(
        openat(parent, name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!to) return ErrnoStatus(errno, "copy " + Shown(path));
    ODY_RETURN_IF_ERROR(CopyContent(from.get(), to.get(), node.size, nullptr));
    CopyAttributes(from.get(), to.get());
    const timespec times[2] = {{0, UTIME_NOW}, node.modified};
    const bool set = fchmod(to.get(), node.mode & 01777) == 0 && futimens(to.get(), times) == 0;
    return set ? OkStatus() : ErrnoStatus(errno, "copy " + Shown(path));
  }

  Status CopyDirectory(const std::string& path, const Node& node, size_t depth, int parent,
                       const std::string& name) {
    if (mkdirat(parent, name.c_str(), 0700) != 0 && errno != EEXIST) {
      return ErrnoStatus(errno, "copy " + Shown(path));
    }
    if (IsWork(path)) return OkStatus();
    to_.Forget();
    ODY_RETURN_IF_ERROR(Copy(path, depth + 1));
    ODY_ASSIGN_OR_RETURN(const int above, to_.Parent(path, &const_cast<std::string&>(name)));
    const UniqueFd to(openat(above, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    std::string source_name;
    ODY_ASSIGN_OR_RETURN(const int source, from_.Parent(path, &source_name));
    const UniqueFd from(
        openat(source, source_name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!to || !from) return ErrnoStatus(errno, "copy " + Shown(path));
    CopyAttributes(from.get(), to.get());
    const int set = fchmod(to.get(), node.mode & 01777);
    return set == 0 ? OkStatus() : ErrnoStatus(errno, "copy " + Shown(path));
  }

  Layer from_, to_;
};

Status CheckEmptyBelow(Layer* layer, const std::string& path, size_t depth) {
  ODY_ASSIGN_OR_RETURN(const std::vector<std::string> names, layer->Names(path));
  for (const std::string& name : names) {
    const std::string below = Join(path, name);
    ODY_ASSIGN_OR_RETURN(const Node node, layer->Look(below));
    if (node.kind != Kind::kDirectory || depth > kMaxDepth) {
      return FailedPrecondition(Shown(below) + ": the new cell has directories already");
    }
    ODY_RETURN_IF_ERROR(CheckEmptyBelow(layer, below, depth + 1));
  }
  return OkStatus();
}

}  // namespace

Status CheckEmpty(const std::string& directory) {
  ODY_ASSIGN_OR_RETURN(Layer layer, Layer::Open(directory));
  return CheckEmptyBelow(&layer, "", 0);
}

Status CopyTree(const std::string& from, const std::string& to) {
  ODY_ASSIGN_OR_RETURN(Layer source, Layer::Open(from));
  ODY_ASSIGN_OR_RETURN(Layer target, Layer::Open(to));
  return Copier(std::move(source), std::move(target)).Copy("", 0);
}

}  // namespace odyssey::cell_review
