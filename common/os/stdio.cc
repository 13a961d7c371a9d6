#include "common/os/stdio.h"

#include <fcntl.h>
#include <unistd.h>

namespace odyssey {

void OpenMissingStdio() {
  int fd = 0;
  do {
    // Not close-on-exec: children want stdio too. The kernel gives the lowest number.
    fd = open("/dev/null", O_RDWR);  // NOLINT(android-cloexec-open)
  } while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0) close(fd);
}

}  // namespace odyssey
