#ifndef ODYSSEY_COMMON_OS_REGULAR_FILE_H_
#define ODYSSEY_COMMON_OS_REGULAR_FILE_H_

// Files that a person names, which may be anything.

#include <sys/types.h>

#include <string>

#include "common/base/status.h"

namespace odyssey {

// Of an st_mode: "a FIFO", "a directory", ….
const char* FileKind(mode_t mode);

// True if the path names what this process was given open: /dev/stdin, /dev/fd/N, /proc/self/fd/N.
bool IsGivenDescriptor(const std::string& path);

// Reads the whole file, at most `max_bytes`; a larger one is RESOURCE_EXHAUSTED. Follows symlinks.
// What is no regular file is INVALID_ARGUMENT, which says what it is: no writer of a FIFO is waited
// for, no device is read. But what this process was given open, as /dev/stdin and /dev/fd/N name
// it, is read to its end, whatever it is.
Result<std::string> ReadRegularFile(const std::string& path, size_t max_bytes);

}  // namespace odyssey

#endif  // ODYSSEY_COMMON_OS_REGULAR_FILE_H_
