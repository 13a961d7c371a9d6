#ifndef ODYSSEY_SUPERVISOR_CELL_GUARD_FILE_LOCKS_H_
#define ODYSSEY_SUPERVISOR_CELL_GUARD_FILE_LOCKS_H_

// Commands' locks on files of a tree, taken on the files beneath: so they hold against the host and
// other cells too. libfuse could only wait for one in its one thread; these requests it never sees.
//
// A lock of flock(2) belongs to an open file, and the guard has one for each that a command has.
// One of fcntl(2) belongs to a process and a file (the kernel's "owner": for F_OFD_SETLK it is the
// open file): each such pair gets an open file of its own, on which the lock is one of F_OFD_SETLK.
//
// How many there are at once is bounded: no control group counts what the kernel keeps of them.
// A slot's own count (ADR 0034) does not see them, since they are the guard's.
//
// Processes that wait for one another are not told so (EDEADLK). A waiting request is tried again
// when the guard gives a lock back, and every kBetweenTriesMs: nothing tells when the host does.

#include <linux/fuse.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <tuple>

#include "common/os/unique_fd.h"

namespace odyssey::cell_guard {

class FileLocks final {
 public:
  static constexpr int kBetweenTriesMs = 5;
  static constexpr size_t kMostRanges = 32'768;  // 6 MiB of the kernel's records

  // What a request is answered: 0 or the errno, and for FUSE_GETLK what was found. Of a node that
  // is locked now the kernel is to look at the attributes anew, since others may have written the
  // file.
  struct Answer {
    uint64_t unique = 0;
    int error = 0;
    uint64_t locked_node = 0;  // 0: none
    std::optional<fuse_lk_out> found = std::nullopt;
  };
  using Send = std::function<void(const Answer&)>;
  // 0, or the errno to answer before a lock on the file of a descriptor is looked at or taken.
  using Judge = std::function<int(int fd)>;

  // False: the request, as the kernel sends it, is no business of locks. Else it has been answered,
  // or will be by Retry.
  bool Take(void* request, size_t bytes, const Judge& judge, const Send& send);

  // A command closes a file that it has as `fd`: its process has no locks of fcntl(2) on it any
  // more.
  void Closed(int fd, uint64_t owner);
  // The last one that has it does, which gives back what belongs to the open file, of either kind.
  void Released(int fd);

  bool HasWaiting() const { return !waiting_.empty(); }
  // True once after a lock was given back, and with a waiting request kBetweenTriesMs after that.
  bool IsTimeToRetry();
  // Those that wait, in the order in which they came; judged anew, since what there is now is what
  // counts.
  void Retry(const Judge& judge, const Send& send);

 private:
  using Key = std::tuple<dev_t, ino_t, uint64_t>;  // the file, and whose
  struct Request {
    uint64_t unique = 0;
    uint64_t node = 0;
    fuse_lk_in in{};
  };

  bool CancelWait(uint64_t unique, const Send& send);
  Answer Try(const Request& request);
  int TryOpenFile(const Request& request);
  int TryRange(const Request& request);
  bool IsRoomForRange();
  Answer Look(const Request& request);
  std::optional<Key> KeyOf(int fd, uint64_t owner) const;

  struct Held {
    UniqueFd file;
    int by = -1;  // the command's own descriptor
  };

  std::map<Key, Held> ranges_;
  size_t most_there_can_be_ = 0;  // records of `ranges_`, since they were counted
  std::list<Request> waiting_;
  bool given_back_ = false;
  std::chrono::steady_clock::time_point next_try_;
};

}  // namespace odyssey::cell_guard

#endif  // ODYSSEY_SUPERVISOR_CELL_GUARD_FILE_LOCKS_H_
