#include "tests/testing/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/loop.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace odyssey::testing {
namespace {

constexpr long kX32GetPid = 0x40000000 | 39;
constexpr char kFuseName[] = "fuse";
const dev_t kFuse = makedev(10, 229);

std::string Refused(const std::string& what) { return what + ": " + strerrordesc_np(errno); }

// The end of a child that runs `body`, as waitpid(2) has it; it exits with what `body` returns.
int EndOfChild(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    _exit(body());
  }
  int status = -1;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

int CallBy32BitEntrance() {
  constexpr int kGetPid = 20;
  int result = kGetPid;
  asm volatile("int $0x80" : "+a"(result) : : "memory");
  return result > 0 ? 0 : 1;
}

// A tmpfs that is mounted nowhere, with a node of /dev/fuse. As the product makes one: a node of
// the host's /dev may be missing where the kernel has FUSE.
UniqueFd MakeFuseDirectory() {
  const UniqueFd context(fsopen("tmpfs", FSOPEN_CLOEXEC));
  if (!context || fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) return {};
  UniqueFd directory(fsmount(context.get(), FSMOUNT_CLOEXEC, 0));
  if (!directory || mknodat(directory.get(), kFuseName, S_IFCHR | 0600, kFuse) != 0) return {};
  return directory;
}

std::string TryFuse() { return OpenFuse() ? "" : Refused("a node of /dev/fuse"); }

// As a disk is attached: with a device that is free, or that the kernel makes.
std::string TryLoopDevice() {
  const UniqueFd control(open("/dev/loop-control", O_RDWR | O_CLOEXEC));
  if (!control) return Refused("open /dev/loop-control");
  const int number = ioctl(control.get(), LOOP_CTL_GET_FREE);
  if (number < 0) return Refused("LOOP_CTL_GET_FREE");
  const std::string path = "/dev/loop" + std::to_string(number);
  return UniqueFd(open(path.c_str(), O_RDWR | O_CLOEXEC)) ? "" : Refused("open " + path);
}

std::string TryRealTime() {
  const int status = EndOfChild([] {
    const sched_param lowest{1};
    return sched_setscheduler(0, SCHED_FIFO, &lowest) == 0 ? 0 : errno;
  });
  if (status == 0) return "";
  errno = WEXITSTATUS(status);
  return Refused("sched_setscheduler(SCHED_FIFO)");
}

std::string TryX32() {
  return syscall(kX32GetPid) > 0 ? "" : Refused("getpid by its number of x32");
}

}  // namespace

std::string WhyNo32BitCallsBy(int status) {
  if (status == 0) return "";
  if (WIFSIGNALED(status)) return "int 0x80 ended by signal " + std::to_string(WTERMSIG(status));
  return "int 0x80 was not answered";
}

const std::string& WhyNo32BitCalls() {
  static const std::string why = WhyNo32BitCallsBy(EndOfChild(CallBy32BitEntrance));
  return why;
}

const std::string& WhyNoX32Calls() {
  static const std::string why = TryX32();
  return why;
}

const std::string& WhyNoFuse() {
  static const std::string why = TryFuse();
  return why;
}

const std::string& WhyNoLoopDevices() {
  static const std::string why = TryLoopDevice();
  return why;
}

const std::string& WhyNoRealTime() {
  static const std::string why = TryRealTime();
  return why;
}

int LandlockAbi() {
  const long abi =
      syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return abi < 0 ? 0 : static_cast<int>(abi);
}

UniqueFd OpenFuse() {
  static const UniqueFd directory = MakeFuseDirectory();
  if (!directory) return {};
  return UniqueFd(openat(directory.get(), kFuseName, O_RDWR | O_NONBLOCK | O_CLOEXEC));
}

}  // namespace odyssey::testing
