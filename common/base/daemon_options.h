#ifndef ODYSSEY_COMMON_BASE_DAEMON_OPTIONS_H_
#define ODYSSEY_COMMON_BASE_DAEMON_OPTIONS_H_

// The command line of a daemon that serves clients: how it is read, and kinds of values that
// several daemons take. Pure. Errors are INVALID_ARGUMENT and name the option, the value and what
// is allowed.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace odyssey {

// kHelp and kVersion: the option stood there, and no later one was read.
enum class AskedOfDaemon { kRun, kHelp, kVersion };

// Calls `set` for each "--name VALUE" and "--name=VALUE", in order, up to the first error.
Result<AskedOfDaemon> ReadDaemonOptions(
    const std::vector<std::string>& arguments,
    const std::function<bool(const std::string& option)>& is_option,
    const std::function<Status(const std::string& option, const std::string& value)>& set);

Result<uint64_t> ParseNumber(const std::string& option, const std::string& text, uint64_t low,
                             uint64_t high);
// A descriptor that the parent passed on.
Result<int> ParseInheritedFd(const std::string& option, const std::string& text);
Status SetPath(const std::string& option, const std::string& value, std::string* out);

}  // namespace odyssey

#endif  // ODYSSEY_COMMON_BASE_DAEMON_OPTIONS_H_
