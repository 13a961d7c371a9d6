#ifndef ODYSSEY_SUPERVISOR_CELL_GUARD_KERNEL_REQUEST_H_
#define ODYSSEY_SUPERVISOR_CELL_GUARD_KERNEL_REQUEST_H_

// A request as the kernel sends it: a fuse_in_header, and by its opcode what comes behind that.

#include <linux/fuse.h>
#include <stddef.h>

namespace odyssey::cell_guard {

// The arguments behind the header, in place, or nullptr if there are fewer.
template <typename Arguments>
Arguments* ArgumentsIn(void* request, size_t bytes) {
  if (bytes < sizeof(fuse_in_header) + sizeof(Arguments)) return nullptr;
  return reinterpret_cast<Arguments*>(static_cast<char*>(request) + sizeof(fuse_in_header));
}

}  // namespace odyssey::cell_guard

#endif  // ODYSSEY_SUPERVISOR_CELL_GUARD_KERNEL_REQUEST_H_
