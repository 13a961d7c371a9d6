#ifndef ODYSSEY_AGENTD_DAEMON_LOG_H_
#define ODYSSEY_AGENTD_DAEMON_LOG_H_

#include <string_view>

namespace odyssey::daemon {

// As in sd-daemon(3).
enum class Priority { kError = 3, kWarning = 4, kInfo = 6 };

// One line to stderr: "<6>agentd: session=… turn=… status=…". Thread-safe; control characters in
// `fields` are replaced.
void Log(Priority priority, std::string_view fields);

}  // namespace odyssey::daemon

#endif  // ODYSSEY_AGENTD_DAEMON_LOG_H_
