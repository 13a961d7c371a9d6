#ifndef ODYSSEY_SUPERVISOR_EGRESS_WORKER_EXECUTED_FILES_H_
#define ODYSSEY_SUPERVISOR_EGRESS_WORKER_EXECUTED_FILES_H_

// SHA-256 of the files that programs of the cell execute, from the descriptors that their slots
// sent. A program may write to its own file before and after it runs, and a time of the file does
// not always show that: stores to a mapped file of tmpfs change none. But the kernel opens no file
// for writing while a process executes it (ETXTBSY). So a hash counts if some process executed the
// file from before the connection until the worker had read it. For one thread.

#include <sys/types.h>

#include <cstdint>
#include <list>
#include <string>

#include "common/os/unique_fd.h"

namespace odyssey::egress {

inline constexpr uint64_t kMaxExecutedFile = uint64_t{256} << 20;  // bytes of one that is hashed

class ExecutedFiles final {
 public:
  // In hex. `file`: of the process, for reading. `memory`: its /proc/PID/pagemap, which can be read
  // until the process ends or executes something else. "": the process did so before the file was
  // read, or the file is longer than kMaxExecutedFile, or it lies on a file system whose files are
  // also written where this kernel does not see it (FUSE, network), and is not read-only. Blocks
  // for as long as reading takes; not at all for a file that a process executes since its last
  // time.
  std::string Sha256Of(const UniqueFd& file, UniqueFd memory);

 private:
  struct Known {
    dev_t device = 0;
    ino_t inode = 0;
    std::string sha256;
    UniqueFd memory;  // of a process that executed it when it was read
  };
  std::list<Known> known_;  // oldest first
};

}  // namespace odyssey::egress

#endif  // ODYSSEY_SUPERVISOR_EGRESS_WORKER_EXECUTED_FILES_H_
