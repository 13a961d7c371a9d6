#ifndef ODYSSEY_SUPERVISOR_CELL_INIT_CALLER_H_
#define ODYSSEY_SUPERVISOR_CELL_INIT_CALLER_H_

#include <linux/seccomp.h>

#include <cstdint>
#include <string>

namespace odyssey::cell_init {

inline constexpr uint32_t kSocketTypeMask = 0xf;  // the other bits of a socket's type are flags

// What the kernel reads of an argument that is an int.
inline uint32_t Low(const seccomp_data& call, int argument) {
  return static_cast<uint32_t>(call.args[argument]);
}

// A file of /proc of who waits for the answer to a call. He may be killed, and his number be
// another's, before it is opened.
inline std::string ProcOf(const seccomp_notif& call, const std::string& file) {
  return "/proc/" + std::to_string(call.pid) + "/" + file;
}

}  // namespace odyssey::cell_init

#endif  // ODYSSEY_SUPERVISOR_CELL_INIT_CALLER_H_
