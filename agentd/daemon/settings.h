#ifndef ODYSSEY_AGENTD_DAEMON_SETTINGS_H_
#define ODYSSEY_AGENTD_DAEMON_SETTINGS_H_

// What SIGHUP changes: the options that the operator's files say now.

#include <string>

#include "agentd/daemon/options.h"
#include "common/base/status.h"

namespace odyssey::daemon {

// Of `--settings`, by odyssey-start as a child process; without it `current` again. The error is
// that of odyssey-start, with the file and its line.
Result<Options> ReadOptionsAnew(const Options& current);

// The options that differ, but for those that a reload applies: "--workers, --queue".
std::string NeedRestart(const Options& current, const Options& anew);

}  // namespace odyssey::daemon

#endif  // ODYSSEY_AGENTD_DAEMON_SETTINGS_H_
