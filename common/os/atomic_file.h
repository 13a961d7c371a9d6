#ifndef ODYSSEY_COMMON_OS_ATOMIC_FILE_H_
#define ODYSSEY_COMMON_OS_ATOMIC_FILE_H_

#include <string>
#include <string_view>

#include "common/base/status.h"

namespace odyssey {

// Replaces `path` with `bytes` so that after a crash either the old or the new content is there:
// temporary file in the same directory, write, fsync, rename, fsync of the directory. A link at
// `path` is replaced, not followed.
Status WriteFileAtomically(const std::string& path, std::string_view bytes, unsigned mode);

// What WriteFileAtomically adds to a path, before a number, for a file that a crash may leave.
inline constexpr char kTemporaryInfix[] = ".tmp-";

// After a rename: the entry of `path` in its directory is on the disk.
Status SyncDirectoryOf(const std::string& path);

}  // namespace odyssey

#endif  // ODYSSEY_COMMON_OS_ATOMIC_FILE_H_
