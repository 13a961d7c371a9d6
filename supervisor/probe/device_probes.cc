// Devices, and doors past the directory tree.

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <termios.h>

#include <sstream>

#include "common/os/unique_fd.h"
#include "supervisor/probe/answers.h"
#include "supervisor/probe/groups.h"

namespace odyssey::probe {
namespace {

constexpr char kSeccomp[] = "seccomp";
constexpr char kMounts[] = "the mount namespace: a /dev of harmless devices; nodev";

struct NodeCase {
  const char* id;
  mode_t kind;
  dev_t device;
};

// Made where this probe may write, never opened, removed.
const NodeCase kNodes[] = {
    {"escape.mknod_disk", S_IFBLK, makedev(259, 0)},
    {"escape.mknod_memory", S_IFCHR, makedev(1, 1)},
    {"escape.mknod_whiteout", S_IFCHR, 0},
};

Finding MakeNode(const NodeCase& node) {
  const Answer answer = Answered(mknod("node", node.kind | 0600, node.device));
  unlink("node");
  return MustBeRefused(answer);
}

// What a rename leaves behind in this way is a device node, too.
Finding RenameLeavingWhiteout(const Targets&) {
  if (!Spit("old", "", 0600)) return BrokenAt("make a file");
  const Answer answer = Call(SYS_renameat2, AT_FDCWD, "old", AT_FDCWD, "new", RENAME_WHITEOUT);
  unlink("old");
  unlink("new");
  return MustBeRefused(answer);
}

constexpr const char* kDevices[] = {
    "/dev/mem",     "/dev/kmsg",         "/dev/port",      "/dev/kvm",         "/dev/fuse",
    "/dev/net/tun", "/dev/loop-control", "/dev/vhost-net", "/dev/vhost-vsock", "/dev/uinput",
    "/dev/nvram",   "/dev/hwrng",        "/dev/dri/card0", "/dev/cpu/0/msr"};

// By the kernel's own list, whatever they are called here.
Finding DisksOpen(const Targets&) {
  std::istringstream lines(Slurp("/proc/partitions"));
  size_t tried = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string name = line.substr(line.rfind(' ') + 1);
    if (name.empty() || name == "name") continue;
    ++tried;
    const UniqueFd fd(open(("/dev/" + name).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (fd) return Escaped("/dev/" + name + " opened");
  }
  return Contained("none of " + std::to_string(tried) + " is there");
}

bool IsHarmless(const struct stat& node) {
  const unsigned major = major(node.st_rdev);
  const unsigned minor = minor(node.st_rdev);
  if (S_ISBLK(node.st_mode)) return false;
  constexpr unsigned kMemory = 1, kTerminal = 5, kFirstPty = 136, kLastPty = 143;
  if (major == kMemory) return minor == 3 || minor == 5 || (minor >= 7 && minor <= 9);
  if (major == kTerminal) return minor == 0 || minor == 2;  // the own terminal, ptmx
  return major >= kFirstPty && major <= kLastPty;
}

Finding UnknownDevices(const Targets&) {
  std::vector<std::string> names;
  if (!ListDirectory("/dev", &names)) return BrokenAt("list /dev");
  for (const std::string& name : names) {
    struct stat node;
    if (lstat(("/dev/" + name).c_str(), &node) != 0) continue;
    if ((S_ISBLK(node.st_mode) || S_ISCHR(node.st_mode)) && !IsHarmless(node)) {
      return Escaped("/dev/" + name + " is there");
    }
  }
  return Contained(std::to_string(names.size()) + " names, all harmless");
}

// One that the host made in a directory that is mounted: null's numbers, so that nothing comes of
// it.
Finding DeviceOfAMount(const Targets& targets) {
  return MustNotOpen(targets.Text("rw") + "/device", O_RDWR);
}

Finding OpenByHandle(const Targets&) {
  struct {
    unsigned bytes = 8;
    int type = 1;  // FILEID_INO32_GEN
    unsigned inode = 2, generation = 0;
  } handle;
  const UniqueFd root(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return MustBeRefused(Call(SYS_open_by_handle_at, root.get(), &handle, O_RDONLY));
}

Finding NameToHandle(const Targets&) {
  struct {
    unsigned bytes = 0;
    int type = 0;
  } handle;
  int mount = 0;
  return MustBeRefused(Call(SYS_name_to_handle_at, AT_FDCWD, ".", &handle, &mount, 0));
}

Finding Chroot(const Targets&) {
  if (mkdir("jail", 0700) != 0) return BrokenAt("mkdir");
  return MustBeRefused(Call(SYS_chroot, "jail"));
}

// A pseudo-terminal of one's own: what the kernel lets be done to it, it lets be done to others.
// `request` has high bits set that the kernel ignores and that a careless filter compares.
Finding TerminalRequest(unsigned long request) {
  const UniqueFd master(open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!master || unlockpt(master.get()) != 0) return BrokenAt("open a pseudo-terminal");
  const UniqueFd slave(ioctl(master.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!slave) return BrokenAt("open its other end");
  int argument = 0;  // a NUL to type; the line discipline that it has already
  return MustBeRefused(Call(SYS_ioctl, slave.get(), request, &argument));
}

void AddTerminalRequests(Probes* all) {
  struct Request {
    const char* name;
    unsigned long number;
  };
  constexpr Request kRequests[] = {
      {"tiocsti", TIOCSTI}, {"tioclinux", TIOCLINUX}, {"tiocsetd", TIOCSETD}};
  for (const Request& request : kRequests) {
    const unsigned long number = request.number;
    const std::string id = std::string("escape.") + request.name;
    all->push_back(
        {id, "EPERM", kSeccomp, [number](const Targets&) { return TerminalRequest(number); }});
    all->push_back({id + "_high_bits", "EPERM", kSeccomp,
                    [number](const Targets&) { return TerminalRequest(number | 1UL << 32); }});
  }
}

}  // namespace

void AddDeviceProbes(Probes* all) {
  for (const NodeCase& node : kNodes) {
    all->push_back({node.id, "no device node is made", kSeccomp,
                    [&node](const Targets&) { return MakeNode(node); }});
  }
  all->push_back(
      {"escape.rename_whiteout", "no device node is made", kSeccomp, RenameLeavingWhiteout});
  for (const char* path : kDevices) {
    const std::string name = path;
    all->push_back({"escape.open:" + name, "it is not there", kMounts, [name](const Targets&) {
                      return MustNotOpen(name, O_RDONLY, kRefusedOrAbsent);
                    }});
  }
  all->push_back({"escape.open_disks", "no disk is there", kMounts, DisksOpen});
  all->push_back({"escape.devices", "/dev has harmless devices only", kMounts, UnknownDevices});
  all->push_back({"escape.device_of_a_mount", "it does not open", "nodev", DeviceOfAMount});
  all->push_back({"escape.open_by_handle", "EPERM", kSeccomp, OpenByHandle});
  all->push_back({"escape.name_to_handle", "EPERM", kSeccomp, NameToHandle});
  all->push_back({"escape.chroot", "EPERM", kSeccomp, Chroot});
  AddTerminalRequests(all);
}

}  // namespace odyssey::probe
