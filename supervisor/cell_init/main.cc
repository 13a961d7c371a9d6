// odyssey-cell-init: pid 1 of a cell. Started by bubblewrap, as the cell's user, with the
// supervisor's socket as fd 3.

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>

#include "policy/plan/cell_configure.h"
#include "supervisor/cell_init/confinement.h"
#include "supervisor/cell_init/init.h"

// The library's handler names the type of an uncaught exception, for which it links 40 KB of a
// reader of such names: each cell has a copy of what lies around what it uses.
namespace __gnu_cxx {
void __verbose_terminate_handler();
void __verbose_terminate_handler() { abort(); }
}  // namespace __gnu_cxx

namespace {

constexpr int kSocketFd = 3;

constexpr unsigned long kPlain = MS_NOSUID | MS_NODEV | MS_NOEXEC;

odyssey::Status Mount(const char* type, const std::string& target, unsigned long flags,
                      const char* options) {
  if (mount(type, target.c_str(), type, flags, options) == 0) return odyssey::OkStatus();
  return odyssey::ErrnoStatus(errno, "mount " + target);
}

// What bubblewrap's /dev and root lack.
odyssey::Status FinishMounts() {
  // What slots bind from here has its flags.
  for (const unsigned long flags : {0UL | MS_BIND, MS_REMOUNT | MS_BIND | MS_RDONLY | kPlain})
    ODY_RETURN_IF_ERROR(Mount(odyssey::cell::kOwnProc, odyssey::cell::kOwnProc, flags, nullptr));
  // It is executable: there a loader could map what the agent wrote.
  ODY_RETURN_IF_ERROR(Mount(nullptr, "/dev", MS_REMOUNT | MS_BIND | kPlain, nullptr));
  // A directory of /dev holds as many files as the host's memory allows. Each takes a KiB of the
  // kernel's memory with nothing in it; what is in them the cell's limit bounds.
  ODY_RETURN_IF_ERROR(Mount("tmpfs", "/dev/shm", kPlain, "mode=1777,nr_inodes=65536"));
  // The kernel counts pseudo-terminals for the whole host (kernel.pty.max, by default 4,096), and
  // without a free one no login is possible. The other options are bubblewrap's, which a remount
  // would forget.
  ODY_RETURN_IF_ERROR(Mount(nullptr, "/dev/pts", MS_REMOUNT | MS_NOSUID | MS_NOEXEC,
                            "ptmxmode=0666,mode=0620,max=128"));
  // Message queues of the cell's own. mq_open(3) works without it, but Landlock grants only what a
  // rule can name, and so what is mounted somewhere.
  if (mkdir("/dev/mqueue", 0755) != 0) return odyssey::ErrnoStatus(errno, "make /dev/mqueue");
  const odyssey::Status status = Mount("mqueue", "/dev/mqueue", kPlain, nullptr);
  return status.detail().error == ENODEV ? odyssey::OkStatus() : status;  // a kernel without them
}

// The cell's own control groups and nothing above them, by its cgroup namespace: programs look
// there, and in mountinfo, for limits. The plan has a directory for each hierarchy of version 1
// that the host has. Where the kernel refuses, programs see the machine.
void MountControlGroups() {
  const std::string top = odyssey::cell::kControlGroups;
  bool first = false;
  for (const char* controllers : {"memory", "pids", "cpu", "cpuacct", "cpu,cpuacct"}) {
    first |= Mount("cgroup", top + "/" + controllers, MS_RDONLY | kPlain, controllers).ok();
  }
  if (!first) (void)Mount("cgroup2", top, MS_RDONLY | kPlain, nullptr);
}

}  // namespace

int main() {
  // No process of the same uid may trace us or read our memory.
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  syscall(SYS_close_range, kSocketFd + 1, ~0U, 0);
  fcntl(kSocketFd, F_SETFD, FD_CLOEXEC);  // no command inherits it
  odyssey::Status status = FinishMounts();
  MountControlGroups();
  if (status.ok()) status = odyssey::cell_init::EnterInitFilter();
  if (status.ok()) status = odyssey::cell_init::CellInit(kSocketFd).Run();
  if (status.code() == odyssey::Code::kUnavailable) return 0;  // the supervisor let go
  dprintf(2, "cell-init: %s\n", status.message().c_str());
  return 1;
}
