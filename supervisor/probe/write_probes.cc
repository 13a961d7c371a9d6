// Changing what is read-only. What a success would destroy is the host's canary, in a mount that is
// read-only; of the system's own files nothing is ever written.

#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/xattr.h>

#include "common/os/unique_fd.h"
#include "supervisor/probe/answers.h"
#include "supervisor/probe/groups.h"

namespace odyssey::probe {
namespace {

constexpr char kSafe[] = "it is refused";
constexpr char kLayer[] = "a read-only mount; Landlock";
const Errnos kReadOnly = {EPERM, EACCES, EROFS};
// A name cannot go from one mount to another.
const Errnos kReadOnlyOrElsewhere = {EPERM, EACCES, EROFS, EXDEV};

// To the root, from any directory.
const std::string kUp = "/../../../../../../../..";

using PathAttempt = Finding (*)(const std::string& file, const Targets&);

struct FileCase {
  const char* id;
  PathAttempt attempt;  // `file` is the canary in the read-only mount
};

Finding OpenThrough(const std::string& path) { return MustNotOpen(path, O_WRONLY, kReadOnly); }

std::string Descriptor(const UniqueFd& fd) { return "/proc/self/fd/" + std::to_string(fd.get()); }

Finding ChangeFlags(const std::string& file) {
  const UniqueFd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  int flags = 0;
  if (ioctl(fd.get(), FS_IOC_GETFLAGS, &flags) != 0) {
    return NotApplicable("this file system has no flags");
  }
  return MustBeRefused(Answered(ioctl(fd.get(), FS_IOC_SETFLAGS, &flags)), kReadOnly);
}

// In the order of how much would be left afterwards.
const FileCase kFiles[] = {
    {"open", [](const std::string& f, const Targets&) { return OpenThrough(f); }},
    {"append",
     [](const std::string& f, const Targets&) { return MustNotOpen(f, O_WRONLY | O_APPEND); }},
    {"read_write", [](const std::string& f, const Targets&) { return MustNotOpen(f, O_RDWR); }},
    {"reopen",
     [](const std::string& f, const Targets&) {
       const UniqueFd fd(open(f.c_str(), O_RDONLY | O_CLOEXEC));
       return OpenThrough(Descriptor(fd));
     }},
    {"reopen_path",
     [](const std::string& f, const Targets&) {
       const UniqueFd fd(open(f.c_str(), O_PATH | O_CLOEXEC));
       return OpenThrough(Descriptor(fd));
     }},
    {"through_root",
     [](const std::string& f, const Targets&) { return OpenThrough("/proc/self/root" + f); }},
    {"through_dots",
     [](const std::string& f, const Targets& t) { return OpenThrough(t.Text("rw") + kUp + f); }},
    {"through_link",
     [](const std::string& f, const Targets&) {
       if (symlink(f.c_str(), "link") != 0) return BrokenAt("make a link");
       return OpenThrough("link");
     }},
    {"through_working_directory",
     [](const std::string& f, const Targets& t) {
       if (chdir(t.Text("ro").c_str()) != 0) return BrokenAt("chdir");
       return OpenThrough("/proc/self/cwd" + f.substr(f.rfind('/')));
     }},
    {"above_a_directory",
     [](const std::string& f, const Targets& t) {
       const UniqueFd fd(open(t.Text("rw").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
       const UniqueFd up(openat(fd.get(), (kUp.substr(1) + f).c_str(), O_WRONLY | O_CLOEXEC));
       return MustBeRefused(Answered(up.get()), kReadOnly);
     }},
    {"flags", [](const std::string& f, const Targets&) { return ChangeFlags(f); }},
    {"utime",
     [](const std::string& f, const Targets&) {
       return MustBeRefused(Answered(utimensat(AT_FDCWD, f.c_str(), nullptr, 0)), kReadOnly);
     }},
    {"chmod",
     [](const std::string& f, const Targets&) {
       return MustBeRefused(Answered(chmod(f.c_str(), 0777)), kReadOnly);
     }},
    {"chown",
     [](const std::string& f, const Targets&) {
       return MustBeRefused(Answered(chown(f.c_str(), getuid(), getgid())), kReadOnly);
     }},
    {"setxattr",
     [](const std::string& f, const Targets&) {
       return MustBeRefused(Answered(setxattr(f.c_str(), "user.probe", "x", 1, 0)), kReadOnly);
     }},
    {"hard_link",
     [](const std::string& f, const Targets& t) {
       return MustBeRefused(Answered(link(f.c_str(), (t.Text("rw") + "/hard").c_str())),
                            kReadOnlyOrElsewhere);
     }},
    {"hard_link_of_descriptor",
     [](const std::string& f, const Targets& t) {
       const UniqueFd fd(open(f.c_str(), O_PATH | O_CLOEXEC));
       return MustBeRefused(Answered(linkat(AT_FDCWD, Descriptor(fd).c_str(), AT_FDCWD,
                                            (t.Text("rw") + "/hard2").c_str(), AT_SYMLINK_FOLLOW)),
                            kReadOnlyOrElsewhere);
     }},
    {"truncate",
     [](const std::string& f, const Targets&) {
       return MustBeRefused(Answered(truncate(f.c_str(), 0)), kReadOnly);
     }},
    {"open_truncating",
     [](const std::string& f, const Targets&) { return MustNotOpen(f, O_RDONLY | O_TRUNC); }},
    {"exchange",
     [](const std::string& f, const Targets& t) {
       const std::string other = t.Text("rw") + "/other";
       if (!Spit(other, "x")) return BrokenAt("make " + other);
       return MustBeRefused(
           Answered(renameat2(AT_FDCWD, f.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE)),
           kReadOnlyOrElsewhere);
     }},
    {"rename_over",
     [](const std::string& f, const Targets&) {
       if (!Spit("mine", "x")) return BrokenAt("make a file");
       return MustBeRefused(Answered(rename("mine", f.c_str())), kReadOnlyOrElsewhere);
     }},
    {"unlink",
     [](const std::string& f, const Targets&) {
       return MustBeRefused(Answered(unlink(f.c_str())), kReadOnly);
     }},
};

// Made and removed at once.
Finding MakeIn(const std::string& directory) {
  const std::string path = directory + "/odyssey-probe-made";
  const Answer answer = Answered(mkdir(path.c_str(), 0700));
  if (answer.result == 0) rmdir(path.c_str());
  return MustBeRefused(answer, {EPERM, EACCES, EROFS, ENOENT});
}

// Where a program, a library or a configuration of all users could be put.
constexpr const char* kPlaces[] = {
    "/",
    "/usr",
    "/usr/bin",
    "/usr/local/bin",
    "/usr/local/sbin",
    "/usr/lib",
    "/bin",
    "/sbin",
    "/lib",
    "/lib64",
    "/opt",
    "/etc",
    "/etc/ssl",
    "/run",
    "/var",
    "/etc/ld.so.conf.d",
    "/cell",
    "/.odyssey",
    "/dev",
    "/etc/alternatives",
    "/etc/profile.d",
    "/etc/cron.d",
};

constexpr const char* kSystemFiles[] = {
    "/etc/passwd",
    "/etc/group",
    "/etc/hosts",
    "/etc/nsswitch.conf",
    "/etc/ld.so.cache",
    "/usr/bin/env",
    "/bin/sh",
    "/.odyssey/cell-init",
    "/usr/lib/os-release",
    "/lib64/ld-linux-x86-64.so.2",
};

// Renaming to its own name changes nothing, but is refused where renaming is.
Finding RenameToItself(const std::string& path) {
  return MustBeRefused(Answered(rename(path.c_str(), path.c_str())),
                       {EPERM, EACCES, EROFS, EBUSY, ENOENT});
}

Finding WorkspaceInReadOnlyMode(const Targets& targets) {
  if (!targets.Is("mode", "read_only")) return NotApplicable("in this cell it is writable");
  const Finding made = MakeIn(targets.Text("workspace"));
  if (made.verdict != Verdict::kContained) return made;
  const UniqueFd fd(
      open(targets.Text("workspace").c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  return MustBeRefused(Answered(fd.get()));
}

}  // namespace

void AddWriteProbes(Probes* all) {
  const auto add = [all](const std::string& id, Attempt attempt) {
    all->push_back({"writes." + id, kSafe, kLayer, std::move(attempt)});
  };
  for (const FileCase& file : kFiles) {
    add(file.id, [&file](const Targets& t) { return file.attempt(t.Text("ro") + "/file", t); });
  }
  add("make_in_read_only_mount", [](const Targets& t) { return MakeIn(t.Text("ro")); });
  add("make_in_program_mount", [](const Targets& t) { return MakeIn(t.Text("bin")); });
  add("program", [](const Targets& t) { return OpenThrough(t.Text("bin") + "/set-uid"); });
  add("workspace_in_read_only_mode", WorkspaceInReadOnlyMode);
  for (const char* place : kPlaces) {
    const std::string path = place;
    // Of an image's cell the user owns /dev, a file system in memory of the cell's own.
    add("make_in:" + path, [path](const Targets& t) {
      const bool own = IsOfImage(t, path) || (t.Is("root", "image") && path == "/dev");
      return own ? Contained(kOfImage) : MakeIn(path);
    });
  }
  for (const char* file : kSystemFiles) {
    const std::string path = file;
    add("open:" + path, [path](const Targets& t) {
      if (IsOfImage(t, path)) return Contained(kOfImage);
      return MustNotOpen(path, O_WRONLY, {EPERM, EACCES, EROFS, ETXTBSY});
    });
  }
  for (const char* path : {"/usr", "/etc", "/etc/passwd", "/usr/bin/env"}) {
    add(std::string("rename:") + path, [path](const Targets& t) {
      return IsOfImage(t, path) ? Contained(kOfImage) : RenameToItself(path);
    });
  }
}

}  // namespace odyssey::probe
