#ifndef ODYSSEY_SUPERVISOR_CELL_DISK_DISK_H_
#define ODYSSEY_SUPERVISOR_CELL_DISK_DISK_H_

#include <cstdint>

#include "common/base/status.h"

namespace odyssey::cell_disk {

// Mounts the disk of the cell whose tree is the directory `tree` on "disk" in it, in this process's
// mount namespace, and makes the disk of `bytes` if there is none. Runs as root, follows no link.
// Waits while another process does this, or has the disk mounted. FAILED_PRECONDITION if the tree
// has its data in directories, or the disk has another size: both stay as they are.
Status MountDisk(int tree, uint64_t bytes);

}  // namespace odyssey::cell_disk

#endif  // ODYSSEY_SUPERVISOR_CELL_DISK_DISK_H_
