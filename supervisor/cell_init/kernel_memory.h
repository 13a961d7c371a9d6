#ifndef ODYSSEY_SUPERVISOR_CELL_INIT_KERNEL_MEMORY_H_
#define ODYSSEY_SUPERVISOR_CELL_INIT_KERNEL_MEMORY_H_

// Memory of the host's kernel that no control group counts, and of which a command could take
// without end: records of byte-range locks, and what waits in sockets. The filter
// of a slot puts the calls that take it to the slot's pid 1 (refused_calls.h), which lets them be
// made up to a number, and counts anew what there is when the number may have been reached
// (ADR 0034). A process that listens continues, and is reported to the watch of the cell
// (connection_watch.h).
//
// What a call asks for behind a pointer can change after it was looked at, so nothing is looked at
// but registers: a call is worth the most that any such call can take.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "common/os/unique_fd.h"

struct seccomp_data;

namespace odyssey::cell_init {

struct SocketBounds {
  bool own_network = true;  // false: the host's, where those of this uid count
  uint32_t most = 0;        // in the own network of all kinds, else of IPv4 and IPv6
};

class KernelMemory final {
 public:
  // Of the caller's pid and network namespaces; reads /proc/locks and tables of /proc/net from then
  // on, which need no name any more. A table that cannot be opened has no room. `watch`: the cell's
  // ConnectionWatch, borrowed.
  KernelMemory(const SocketBounds& sockets, int watch);

  // Whether it is one of the calls that are bounded here, and one that the filter without a
  // listener would allow.
  static bool Bounds(const seccomp_data& call);

  // 0 if the call, which Bounds, may be made; else the errno to answer: ENOLCK or ENOBUFS.
  int Judge(const seccomp_data& call);

  // No process of the command is left, and so none of its locks.
  void CommandEnded();

 private:
  // How many more calls that lock may be made before the locks are counted again.
  struct Locks {
    std::string_view type;  // as /proc/locks calls it
    uint32_t calls;
    std::chrono::steady_clock::time_point next_count;
  };

  bool TakeLock(Locks* locks, bool can_count);
  bool IsRoomForNetlink() const;
  bool TakeSocket();
  std::optional<uint32_t> SocketsInUse() const;

  const SocketBounds sockets_;
  UniqueFd lock_table_, protocol_table_;
  std::vector<UniqueFd> socket_tables_;
  uint32_t socket_calls_ = 0;  // until the next count
  Locks of_process_, of_open_file_;
  const int watch_;
  bool files_are_shared_ = false;
  bool listens_ = false;
};

}  // namespace odyssey::cell_init

#endif  // ODYSSEY_SUPERVISOR_CELL_INIT_KERNEL_MEMORY_H_
