#ifndef ODYSSEY_SUPERVISOR_CELL_INIT_SECCOMP_NOTIFY_H_
#define ODYSSEY_SUPERVISOR_CELL_INIT_SECCOMP_NOTIFY_H_

#include <fcntl.h>
#include <linux/seccomp.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "common/os/unique_fd.h"

namespace odyssey::cell_init {

inline constexpr uint32_t kSocketTypeMask = 0xf;  // the other bits of a socket's type are flags

// What the kernel reads of an argument that is an int.
inline uint32_t Arg32(const seccomp_data& call, int argument) {
  return static_cast<uint32_t>(call.args[argument]);
}

// /proc/PID/FILE of the notifying task. The task may be killed and its pid recycled before the file
// is opened: SECCOMP_IOCTL_NOTIF_ID_VALID tells.
inline std::string ProcOf(const seccomp_notif& call, const std::string& file) {
  return "/proc/" + std::to_string(call.pid) + "/" + file;
}

inline UniqueFd OpenOf(const seccomp_notif& call, const std::string& file) {
  return UniqueFd(open(ProcOf(call, file).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

// The notifying task's memory at `address`, at most `size` bytes; how many, or -1. Another thread
// of the task may change them afterwards: nothing may be decided by them.
inline ssize_t ReadMemory(const seccomp_notif& call, uint64_t address, void* to, size_t size) {
  const UniqueFd memory = OpenOf(call, "mem");
  return memory ? pread(memory.get(), to, size, static_cast<off_t>(address)) : -1;
}

}  // namespace odyssey::cell_init

#endif  // ODYSSEY_SUPERVISOR_CELL_INIT_SECCOMP_NOTIFY_H_
