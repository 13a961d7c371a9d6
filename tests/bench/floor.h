#ifndef ODYSSEY_TESTS_BENCH_FLOOR_H_
#define ODYSSEY_TESTS_BENCH_FLOOR_H_

// What a figure is compared with: the least the kernel takes for the same (the floor), and the tool
// that people would use instead (the peer).

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace odyssey::bench {

// posix_spawn and waitpid; a status other than exit 0 is an error. argv[0] is an absolute path.
Status SpawnAndWait(const std::vector<std::string>& argv);

inline const std::vector<std::string>& TrueCommand() {
  static const std::vector<std::string> command = {"/bin/true"};
  return command;
}

// Bare bubblewrap around /bin/true, with every namespace.
Status BwrapTrue();

// Runs `argv` with a pipe as its stdout and answers how many bytes came out of it.
Result<uint64_t> DrainPipe(const std::vector<std::string>& argv);

// Opens, reads with pread and closes; answers the number of bytes.
Result<uint64_t> ReadWithPread(const std::string& path, size_t max_bytes);

}  // namespace odyssey::bench

#endif  // ODYSSEY_TESTS_BENCH_FLOOR_H_
