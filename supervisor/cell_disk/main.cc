// odyssey-cell-disk BYTES: mounts the disk of the cell whose tree is the working directory. Started
// by root's launcher, in the launcher's mount namespace. It reports a failure on stderr, which is
// the launcher's pipe, as "CODE ERRNO ITEM message".

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/os/unique_fd.h"
#include "policy/plan/plan.h"
#include "supervisor/cell_disk/disk.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const odyssey::UniqueFd tree(open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const odyssey::Status status =
      tree ? odyssey::cell_disk::MountDisk(tree.get(), strtoull(argv[1], nullptr, 10))
           : odyssey::ErrnoStatus(errno, "open the cell's tree");
  if (status.ok()) return 0;
  fprintf(stderr, "%d %d %d %s\n", static_cast<int>(status.code()), status.detail().error,
          odyssey::plan::kDiskItem, status.message().c_str());
  return 125;
}
