// Becoming another user, now or later: identities, capabilities, and files that give them away.

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include "common/os/unique_fd.h"
#include "supervisor/probe/answers.h"
#include "supervisor/probe/groups.h"

namespace odyssey::probe {
namespace {

constexpr char kNoBit[] = "EPERM: a file with that bit in a mounted directory would be its owner's";
constexpr char kSeccomp[] = "seccomp";
constexpr char kCapabilities[] = "empty capability sets; a user namespace with one user";
// No such user in the cell's namespace, or no right to become one.
const Errnos kNoSuchUser = {EPERM, EINVAL};

using SetMode = Answer (*)(const char* path, mode_t mode);

struct ModeCase {
  const char* name;
  bool existing;  // the file is there before
  SetMode set;
};

Answer Opened(const UniqueFd& fd) { return Answered(fd.get()); }

// Every way to give a file a mode. `path` is in a directory of the host that is mounted writable.
const ModeCase kModes[] = {
    {"chmod", true, [](const char* p, mode_t m) { return Call(SYS_chmod, p, m); }},
    {"fchmod", true,
     [](const char* p, mode_t m) {
       const UniqueFd fd(open(p, O_RDWR | O_CLOEXEC));
       return Call(SYS_fchmod, fd.get(), m);
     }},
    {"fchmodat", true, [](const char* p, mode_t m) { return Call(SYS_fchmodat, AT_FDCWD, p, m); }},
    {"fchmodat2", true, [](const char* p, mode_t m) { return Call(452, AT_FDCWD, p, m, 0); }},
    {"open", false,
     [](const char* p, mode_t m) {
       const UniqueFd fd(static_cast<int>(syscall(SYS_open, p, O_CREAT | O_EXCL | O_WRONLY, m)));
       return Opened(fd);
     }},
    {"openat", false,
     [](const char* p, mode_t m) {
       const UniqueFd fd(openat(AT_FDCWD, p, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, m));
       return Opened(fd);
     }},
    {"openat2", false,
     [](const char* p, mode_t m) {
       const uint64_t how[3] = {O_CREAT | O_EXCL | O_WRONLY, m, 0};
       return Call(SYS_openat2, AT_FDCWD, p, how, sizeof(how));
     }},
    {"creat", false, [](const char* p, mode_t m) { return Call(SYS_creat, p, m); }},
    {"mknod", false, [](const char* p, mode_t m) { return Call(SYS_mknod, p, S_IFREG | m, 0); }},
    {"tmpfile", false,
     [](const char* p, mode_t m) {
       const std::string directory = std::string(p).substr(0, std::string(p).rfind('/'));
       const UniqueFd fd(openat(AT_FDCWD, directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, m));
       return Opened(fd);
     }},
};

// openat2 hides its mode behind a pointer and is therefore not there.
Finding SetBit(const ModeCase& test, mode_t bit, const Targets& targets) {
  const std::string path = targets.Text("rw") + "/mode";
  if (test.existing && !Spit(path, "x", 0700)) return BrokenAt("make " + path);
  const Answer answer = test.set(path.c_str(), bit | 0700);
  unlink(path.c_str());
  return MustBeRefused(answer, {EPERM, ENOSYS});
}

Finding SetFileCapability(const Targets& targets) {
  const std::string path = targets.Text("rw") + "/capable";
  if (!Spit(path, "x", 0700)) return BrokenAt("make " + path);
  const vfs_cap_data value = {VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE, {{1, 0}, {0, 0}}};
  const Answer answer =
      Answered(setxattr(path.c_str(), "security.capability", &value, XATTR_CAPS_SZ_2, 0));
  unlink(path.c_str());
  return MustBeRefused(answer);
}

Finding GiveAway(uid_t owner, const Targets& targets) {
  const std::string path = targets.Text("rw") + "/given";
  if (!Spit(path, "x")) return BrokenAt("make " + path);
  const Answer answer = Answered(chown(path.c_str(), owner, owner));
  unlink(path.c_str());
  return MustBeRefused(answer, kNoSuchUser);
}

// A copy of this program that the host made set-uid root.
Finding RunSetUserId(const Targets& targets) {
  const Ended ended = Execute({targets.Text("bin") + "/set-uid", "identity"});
  if (!ended.started && ended.error == EACCES) return Contained(ErrnoText(EACCES));
  if (ended.Exited(kOrdinary)) return Contained("it ran as an ordinary user");
  if (ended.Exited(kPrivileged)) return Escaped("it ran as root or with a capability");
  return Broken("it did not answer: " + ErrnoText(ended.error));
}

Finding RaiseCapabilities(const Targets&) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct all[2] = {{1, 1, 0}, {0, 0, 0}};  // CAP_CHOWN
  return MustBeRefused(Call(SYS_capset, &header, all));
}

Finding RaiseAmbient(const Targets&) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct all[2] = {{1, 1, 1}, {0, 0, 0}};
  syscall(SYS_capset, &header, all);  // an ambient capability has to be inheritable
  return MustBeRefused(Answered(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, 0, 0, 0)));
}

void AddIdentities(Probes* all) {
  const auto add = [all](const char* id, const char* safe, Attempt attempt) {
    all->push_back({id, safe, kCapabilities, std::move(attempt)});
  };
  const char* kRefusedText = "it is refused";
  add("escape.setuid", kRefusedText,
      [](const Targets&) { return MustBeRefused(Call(SYS_setuid, 0), kNoSuchUser); });
  add("escape.setresuid", kRefusedText,
      [](const Targets&) { return MustBeRefused(Call(SYS_setresuid, -1, 0, -1), kNoSuchUser); });
  add("escape.setgid", kRefusedText,
      [](const Targets&) { return MustBeRefused(Call(SYS_setgid, 0), kNoSuchUser); });
  add("escape.setgroups", kRefusedText, [](const Targets&) {
    const gid_t root = 0;
    return MustBeRefused(Call(SYS_setgroups, 1, &root), kNoSuchUser);
  });
  add("escape.capset", kRefusedText, RaiseCapabilities);
  add("escape.ambient_capability", kRefusedText, RaiseAmbient);
  add("escape.securebits", kRefusedText, [](const Targets&) {
    return MustBeRefused(Answered(prctl(PR_SET_SECUREBITS, prctl(PR_GET_SECUREBITS))));
  });
  add("escape.chown_root", kRefusedText, [](const Targets& t) { return GiveAway(0, t); });
  add("escape.chown_other", kRefusedText, [](const Targets& t) { return GiveAway(4321, t); });
}

}  // namespace

void AddSetIdProbes(Probes* all) {
  struct Bit {
    const char* name;
    mode_t bit;
  };
  for (const Bit& bit : {Bit{"set_uid", S_ISUID}, Bit{"set_gid", S_ISGID}}) {
    for (const ModeCase& test : kModes) {
      const mode_t mode = bit.bit;
      all->push_back({std::string("escape.") + bit.name + "_" + test.name, kNoBit, kSeccomp,
                      [&test, mode](const Targets& t) { return SetBit(test, mode, t); }});
    }
  }
  all->push_back({"escape.file_capability", "EPERM", kCapabilities, SetFileCapability});
  all->push_back(
      {"escape.run_set_uid", "it gains nothing", "nosuid; no new privileges", RunSetUserId});
  AddIdentities(all);
}

}  // namespace odyssey::probe
