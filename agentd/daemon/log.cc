#include "agentd/daemon/log.h"

#include <unistd.h>

#include <string>

#include "common/os/file.h"

namespace odyssey::daemon {

void Log(Priority priority, std::string_view fields) {
  std::string line = "<" + std::to_string(static_cast<int>(priority)) + ">agentd: ";
  for (const char c : fields) line += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  line += '\n';
  // One write, so that lines of two threads do not mix. Nobody to tell if it fails.
  (void)WriteAll(STDERR_FILENO, line);
}

}  // namespace odyssey::daemon
