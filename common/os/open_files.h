#ifndef ODYSSEY_COMMON_OS_OPEN_FILES_H_
#define ODYSSEY_COMMON_OS_OPEN_FILES_H_

namespace odyssey {

// Raises the soft limit of open files to the hard one. A login shell's soft limit is there for
// programs that use select(2); a daemon has some descriptors for each cell.
void RaiseOpenFiles();

}  // namespace odyssey

#endif  // ODYSSEY_COMMON_OS_OPEN_FILES_H_
