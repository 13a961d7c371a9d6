#ifndef ODYSSEY_SUPERVISOR_CELL_GUARD_OPEN_NODES_H_
#define ODYSSEY_SUPERVISOR_CELL_GUARD_OPEN_NODES_H_

// The kernel asks about a file, fstat(2) and fchmod(2) included, by its node (libfuse's number of a
// name), and not by the descriptor that a command has. libfuse makes a path of the node, which
// fails when the name has been removed or replaced. So each such request gets a descriptor of the
// node put in, if there is one, for an operation that finds nothing by path.
//
// And libfuse has the kernel keep what it has read of a file as long as size and time of change are
// the same, which two references have that are made at once.

#include <linux/fuse.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include <vector>

namespace odyssey::cell_guard {

// Beside a descriptor (fuse_file_info.fh) that was put in.
inline constexpr uint64_t kIfPathFails = uint64_t{1} << 32;

class OpenNodes final {
 public:
  // A request as the kernel sends it, which is changed in place, before libfuse sees it.
  void Begin(void* request, size_t bytes);
  // What libfuse answers it, before the kernel has it: changed in place.
  void Answer(const iovec* parts, int count);

  // By the operation of the request that has begun. The descriptor is the caller's.
  void Opened(int fd);
  void Released(int fd);
  // What the kernel has read of the file before is not what is opened now.
  void ReadAnew() { read_anew_ = true; }

  // The node that a request to link names and has linked, once answered so; else 0. The kernel does
  // not look at it again by itself.
  uint64_t linked() const { return linked_; }

 private:
  int DescriptorOf(uint64_t node) const;  // -1: none

  fuse_in_header request_{};
  uint64_t to_link_ = 0;
  uint64_t linked_ = 0;
  int created_ = -1;  // its node is in the answer
  bool read_anew_ = false;
  std::vector<uint64_t> nodes_;  // by descriptor; 0: it is none of a node
};

}  // namespace odyssey::cell_guard

#endif  // ODYSSEY_SUPERVISOR_CELL_GUARD_OPEN_NODES_H_
