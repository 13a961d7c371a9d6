#ifndef ODYSSEY_AGENTD_SESSION_FILE_FILE_TIME_H_
#define ODYSSEY_AGENTD_SESSION_FILE_FILE_TIME_H_

#include <string>

#include "common/base/status.h"

namespace odyssey::session_file {

// A time of RFC 3339, with any offset and fraction, as agentd writes times: UTC, milliseconds, cut
// off. INVALID_ARGUMENT: it is none.
Result<std::string> NormalTime(const std::string& text);

}  // namespace odyssey::session_file

#endif  // ODYSSEY_AGENTD_SESSION_FILE_FILE_TIME_H_
