#include "supervisor/cell_review/host_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>

#include "common/base/sha256.h"
#include "common/os/file.h"

namespace odyssey::cell_review {
namespace {

constexpr char kChanged[] = "the host changed it meanwhile; look at it again";
constexpr char kOverlay[] = "user.overlay.";
constexpr char kUser[] = "user.";
constexpr const char* kKept[] = {"system.posix_acl_access"};  // of a file that is replaced
constexpr mode_t kCommitted = 01777;                          // never a set-id bit
constexpr size_t kMaxNames = 64 * 1024;
constexpr size_t kMaxValue = 64 * 1024;

Status Changed(const std::string& path) {
  return FailedPrecondition(Shown(path) + ": " + kChanged);
}

void CopyAttribute(int from, int to, const char* name) {
  std::string value(kMaxValue, '\0');
  const ssize_t n = fgetxattr(from, name, value.data(), value.size());
  if (n >= 0) (void)fsetxattr(to, name, value.data(), static_cast<size_t>(n), 0);
}

// A file system without them keeps none.
void CopyUserAttributes(int from, int to) {
  std::string names(kMaxNames, '\0');
  const ssize_t n = flistxattr(from, names.data(), names.size());
  for (ssize_t at = 0; at < n;) {
    const char* const name = names.data() + at;
    if (strncmp(name, kUser, strlen(kUser)) == 0 &&
        strncmp(name, kOverlay, strlen(kOverlay)) != 0) {
      CopyAttribute(from, to, name);
    }
    at += static_cast<ssize_t>(strlen(name)) + 1;
  }
}

class Writer final {
 public:
  Writer(Layer* host, Mode mode) : host_(*host), mode_(mode) {}

  Status Remove(const Step& step) {
    ODY_ASSIGN_OR_RETURN(const bool there, Check(step));
    if (!there) return OkStatus();
    std::string name;
    ODY_ASSIGN_OR_RETURN(const int parent, host_.Parent(step.path, &name));
    const bool directory = step.from.kind == Kind::kDirectory;
    if (unlinkat(parent, name.c_str(), directory ? AT_REMOVEDIR : 0) != 0) {
      return ErrnoStatus(errno, "remove " + Shown(step.path));
    }
    if (directory) host_.Forget();
    return OkStatus();
  }

  Status Put(const Step& step, bool removed) {
    if (!removed) {
      ODY_ASSIGN_OR_RETURN(const bool there, Check(step));
      if (!there) return OkStatus();
    }
    std::string name;
    ODY_ASSIGN_OR_RETURN(const int parent, host_.Parent(step.path, &name));
    switch (step.to.kind) {
      case Kind::kDirectory:
        return PutDirectory(step, parent, name);
      case Kind::kFile:
        return PutFile(step, parent, name);
      case Kind::kSymlink:
        return PutOther(step, parent, name,
                        symlinkat(step.to.print.c_str(), parent, Temporary(step)));
      case Kind::kPipe:
        return PutOther(step, parent, name, mkfifoat(parent, Temporary(step), 0600));
      default:
        return FailedPrecondition(Shown(step.path) +
                                  ": neither a file, a directory, a link nor a pipe");
    }
  }

 private:
  static const char* Temporary(const Step& step) { return step.temporary.c_str(); }

  // Whether the path is still in its old state. False: it is in the new one.
  Result<bool> Check(const Step& step) {
    ODY_ASSIGN_OR_RETURN(const Node now, host_.Look(step.path));
    if (step.seen && now.changed == step.seen->changed && now.inode == step.seen->inode &&
        now.kind == step.seen->kind) {
      return true;
    }
    ODY_ASSIGN_OR_RETURN(const State state, host_.StateOf(step.path, now));
    if (Same(state, step.from)) return true;
    if (mode_ == Mode::kRecover && Same(state, step.to)) return false;
    return Changed(step.path);
  }

  // What is in a directory is a path of its own.
  static bool Same(const State& a, const State& b) {
    return a == b || (a.kind == Kind::kDirectory && b.kind == Kind::kDirectory);
  }

  Status PutDirectory(const Step& step, int parent, const std::string& name) {
    if (mkdirat(parent, name.c_str(), 0700) != 0 && errno != EEXIST) {
      return ErrnoStatus(errno, "create " + Shown(step.path));
    }
    const UniqueFd directory(
        openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!directory || fchmod(directory.get(), step.to.mode & kCommitted) != 0) {
      return ErrnoStatus(errno, "set the mode of " + Shown(step.path));
    }
    host_.Forget();
    return OkStatus();
  }

  Status PutFile(const Step& step, int parent, const std::string& name) {
    const UniqueFd old(
        step.from.kind == Kind::kFile
            ? openat(parent, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
            : -1);
    if (step.from.kind == Kind::kFile && step.from.print == step.to.print &&
        step.from.size == step.to.size && old) {
      const int set = fchmod(old.get(), step.to.mode & kCommitted);
      return set == 0 ? OkStatus() : ErrnoStatus(errno, "set the mode of " + Shown(step.path));
    }
    ODY_ASSIGN_OR_RETURN(const Source source, step.open());
    unlinkat(parent, Temporary(step), 0);  // of an attempt that was cut off
    const UniqueFd file(
        openat(parent, Temporary(step), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file) return ErrnoStatus(errno, "create a file beside " + Shown(step.path));
    const Status filled = Fill(step, source, file.get(), old.get());
    if (!filled.ok()) {
      unlinkat(parent, Temporary(step), 0);
      return filled;
    }
    return Rename(step, parent, name);
  }

  static Status Fill(const Step& step, const Source& source, int file, int old) {
    if (source.text) {
      ODY_RETURN_IF_ERROR(WriteAll(file, *source.text));
      if (old >= 0) CopyUserAttributes(old, file);
    } else {
      std::string print = step.to.print;
      ODY_RETURN_IF_ERROR(CopyContent(source.file.get(), file, step.to.size, &print));
      if (print != step.to.print) {
        return Status(Code::kAborted, Shown(step.path) + ": the cell changed it just now");
      }
      CopyUserAttributes(source.file.get(), file);
    }
    if (old >= 0) {
      for (const char* const name : kKept) CopyAttribute(old, file, name);
    }
    const timespec times[2] = {{0, UTIME_NOW}, step.modified};
    if (fchmod(file, step.to.mode & kCommitted) != 0 || futimens(file, times) != 0) {
      return ErrnoStatus(errno, "set mode and time of " + Shown(step.path));
    }
    return OkStatus();
  }

  Status PutOther(const Step& step, int parent, const std::string& name, int made) {
    if (made != 0) {
      // EEXIST: of an attempt that was cut off.
      if (errno != EEXIST || unlinkat(parent, Temporary(step), 0) != 0) {
        return ErrnoStatus(errno, "create " + Shown(step.path));
      }
      return Put(step, true);
    }
    if (step.to.kind == Kind::kPipe &&
        fchmodat(parent, Temporary(step), step.to.mode & kCommitted, 0) != 0) {
      const Status failed = ErrnoStatus(errno, "set the mode of " + Shown(step.path));
      unlinkat(parent, Temporary(step), 0);
      return failed;
    }
    const timespec times[2] = {{0, UTIME_NOW}, step.modified};
    (void)utimensat(parent, Temporary(step), times, AT_SYMLINK_NOFOLLOW);
    return Rename(step, parent, name);
  }

  static Status Rename(const Step& step, int parent, const std::string& name) {
    if (renameat(parent, Temporary(step), parent, name.c_str()) == 0) return OkStatus();
    const Status failed = ErrnoStatus(errno, "put " + Shown(step.path) + " into its place");
    unlinkat(parent, Temporary(step), 0);
    return failed;
  }

  Layer& host_;
  const Mode mode_;
};

// What is at the path has to go before something else can be there.
bool IsRemovedFirst(const Step& step) {
  if (step.from.kind == Kind::kNone) return false;
  const bool was = step.from.kind == Kind::kDirectory, is = step.to.kind == Kind::kDirectory;
  return step.to.kind == Kind::kNone || was != is;
}

}  // namespace

Written WriteToHost(Layer* host, std::vector<Step> steps, Mode mode) {
  std::sort(steps.begin(), steps.end(),
            [](const Step& a, const Step& b) { return a.path < b.path; });
  Writer writer(host, mode);
  Written out;
  std::vector<bool> refused(steps.size(), false);
  const auto note = [&](size_t i, const Status& status) {
    if (status.ok()) return;
    refused[i] = true;
    out.refused.push_back({steps[i].path, status});
  };
  for (size_t i = steps.size(); i-- > 0;) {
    if (IsRemovedFirst(steps[i])) note(i, writer.Remove(steps[i]));
  }
  for (size_t i = 0; i < steps.size(); ++i) {
    if (refused[i]) continue;
    if (steps[i].to.kind != Kind::kNone) note(i, writer.Put(steps[i], IsRemovedFirst(steps[i])));
    if (!refused[i]) ++out.done;
  }
  return out;
}

}  // namespace odyssey::cell_review
