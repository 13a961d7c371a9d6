#ifndef ODYSSEY_COMMON_OS_FILE_H_
#define ODYSSEY_COMMON_OS_FILE_H_

// Small file operations that several processes share. No symlink is followed in a last component
// unless a comment says so.

#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/os/unique_fd.h"

namespace odyssey {

// Reads the whole file, at most `max_bytes`; a larger one is RESOURCE_EXHAUSTED. Follows symlinks.
Result<std::string> ReadFile(const std::string& path, size_t max_bytes);
// The same of what is open as `fd`, from where it stands; `path` is for the errors.
Result<std::string> ReadToTheEnd(int fd, const std::string& path, size_t max_bytes);

// Writes all bytes, retrying on short writes and EINTR.
Status WriteAll(int fd, std::string_view bytes);

// Writes `value` with one write(2) to a file of the kernel's, which must exist: "write 512 to
// /sys/…/pids.max: Invalid argument". Follows symlinks.
Status WriteControlFile(const std::string& path, const std::string& value);

// Creates the directory and its parents (mode for those created here); an existing one is fine.
Status MakeDirectories(const std::string& path, unsigned mode);

// The directory of the running program, where its sibling programs are.
Result<std::string> ProgramDirectory();

}  // namespace odyssey

#endif  // ODYSSEY_COMMON_OS_FILE_H_
