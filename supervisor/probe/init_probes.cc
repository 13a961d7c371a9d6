// pid 1 of what we see: the only process there that was not started by us, and a less confined one.

#include <fcntl.h>
#include <linux/kcmp.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "common/os/unique_fd.h"
#include "supervisor/probe/answers.h"
#include "supervisor/probe/groups.h"

namespace odyssey::probe {
namespace {

constexpr char kLayer[] = "pid 1 is not dumpable; seccomp";

struct FileCase {
  const char* name;
  int flags;
};

constexpr FileCase kFiles[] = {
    {"exe", O_PATH},       {"mem", O_RDWR},       {"environ", O_RDONLY}, {"maps", O_RDONLY},
    {"root", O_DIRECTORY}, {"cwd", O_DIRECTORY},  {"fd", O_DIRECTORY},   {"map_files", O_DIRECTORY},
    {"ns/mnt", O_RDONLY},  {"ns/user", O_RDONLY}, {"pagemap", O_RDONLY}, {"auxv", O_RDONLY},
};

// Attached without being stopped, and let go of when this process ends.
Finding Seize(const Targets&) {
  return MustBeRefused(Call(SYS_ptrace, PTRACE_SEIZE, 1, nullptr, nullptr), {EPERM, EACCES});
}

// From and to unmapped addresses.
Finding VmCall(long number) {
  char byte = 0;
  const iovec local{&byte, 1};
  const iovec remote{reinterpret_cast<void*>(8), 1};
  return MustBeRefused(Call(number, 1, &local, 1, &remote, 1, 0));
}

Finding TakeDescriptor(const Targets&) {
  const UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, 1, 0)));
  return MustBeRefused(Call(SYS_pidfd_getfd, process.get(), 0, 0));
}

}  // namespace

void AddInitProbes(Probes* all) {
  for (const FileCase& file : kFiles) {
    const std::string path = std::string("/proc/1/") + file.name;
    const int flags = file.flags;
    all->push_back({"escape.init:" + path, "EACCES", kLayer,
                    [path, flags](const Targets&) { return MustNotOpen(path, flags); }});
  }
  const auto add = [all](const char* id, Attempt attempt) {
    all->push_back({id, "EPERM", kLayer, std::move(attempt)});
  };
  add("escape.init_ptrace", Seize);
  add("escape.init_vm_readv", [](const Targets&) { return VmCall(SYS_process_vm_readv); });
  add("escape.init_vm_writev", [](const Targets&) { return VmCall(SYS_process_vm_writev); });
  add("escape.init_pidfd_getfd", TakeDescriptor);
  add("escape.init_kcmp",
      [](const Targets&) { return MustBeRefused(Call(SYS_kcmp, 1, getpid(), KCMP_VM, 0, 0)); });
}

}  // namespace odyssey::probe
