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

// bubblewrap leaves /dev executable: there a loader could map what the agent wrote.
odyssey::Status MakeDevNoExec() {
  const unsigned long flags = MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV | MS_NOEXEC;
  if (mount(nullptr, "/dev", nullptr, flags, nullptr) == 0) return odyssey::OkStatus();
  return odyssey::ErrnoStatus(errno, "remount /dev");
}

// bubblewrap's is a directory of /dev, which holds as many files as the host's memory allows. Each
// takes a KiB of the kernel's memory with nothing in it; what is in them the cell's limit bounds.
odyssey::Status MountSharedMemory() {
  const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
  if (mount("shm", "/dev/shm", "tmpfs", flags, "mode=1777,nr_inodes=65536") == 0) {
    return odyssey::OkStatus();
  }
  return odyssey::ErrnoStatus(errno, "mount /dev/shm");
}

// Message queues of the cell's own. mq_open(3) works without it, but Landlock grants only what a
// rule can name, and so what is mounted somewhere.
odyssey::Status MountMessageQueues() {
  constexpr const char* kPath = "/dev/mqueue";
  if (mkdir(kPath, 0755) != 0) return odyssey::ErrnoStatus(errno, "make /dev/mqueue");
  const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
  if (mount("mqueue", kPath, "mqueue", flags, nullptr) == 0) return odyssey::OkStatus();
  if (errno == ENODEV) return odyssey::OkStatus();  // a kernel without them
  return odyssey::ErrnoStatus(errno, "mount /dev/mqueue");
}

// The kernel counts pseudo-terminals for the whole host (kernel.pty.max, by default 4,096
// ), and without a free one no login is possible. The other options are bubblewrap's, which a
// remount would forget.
odyssey::Status LimitTerminals() {
  const unsigned long flags = MS_REMOUNT | MS_NOSUID | MS_NOEXEC;
  const char* options = "ptmxmode=0666,mode=0620,max=128";
  if (mount(nullptr, "/dev/pts", nullptr, flags, options) == 0) return odyssey::OkStatus();
  return odyssey::ErrnoStatus(errno, "limit the terminals of /dev/pts");
}

}  // namespace

int main() {
  // No process of the same uid may trace us or read our memory.
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  syscall(SYS_close_range, kSocketFd + 1, ~0U, 0);
  fcntl(kSocketFd, F_SETFD, FD_CLOEXEC);  // no command inherits it
  odyssey::Status status = MakeDevNoExec();
  if (status.ok()) status = MountSharedMemory();
  if (status.ok()) status = MountMessageQueues();
  if (status.ok()) status = LimitTerminals();
  if (status.ok()) status = odyssey::cell_init::EnterInitFilter();
  if (status.ok()) status = odyssey::cell_init::CellInit(kSocketFd).Run();
  if (status.code() == odyssey::Code::kUnavailable) return 0;  // the supervisor let go
  dprintf(2, "cell-init: %s\n", status.message().c_str());
  return 1;
}
