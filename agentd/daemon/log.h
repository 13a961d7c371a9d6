#ifndef ODYSSEY_AGENTD_DAEMON_LOG_H_
#define ODYSSEY_AGENTD_DAEMON_LOG_H_

#include <string>
#include <string_view>

namespace odyssey::daemon {

// As in sd-daemon(3).
enum class Priority { kError = 3, kWarning = 4, kInfo = 6 };

// One line to stderr: "<6>agentd: session=… turn=… status=…". Thread-safe; control characters in
// `fields` are replaced.
void Log(Priority priority, std::string_view fields);

// A line as journald's native protocol has it, with ODYSSEY_KEY for each key=value of the line,
// which has no control characters. Pure.
std::string JournalEntry(Priority priority, std::string_view line);

}  // namespace odyssey::daemon

#endif  // ODYSSEY_AGENTD_DAEMON_LOG_H_
