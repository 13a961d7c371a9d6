#ifndef ODYSSEY_CTL_PATH_CHECK_H_
#define ODYSSEY_CTL_PATH_CHECK_H_

#include <string>

#include "common/base/status.h"
#include "policy/explain/explain.h"
#include "policy/rules/tool_rules.h"

namespace odyssey::ctl {

// Would a command in this cell see `path`, a path of the host, and where. The rule is what decides;
// the reason says under which name it is there, whether it may be written and executed, and what
// would have to be asked for. INVALID_ARGUMENT if the path is not absolute and normalised. Pure.
Result<rules::Decision> DecidePath(const explain::Cell& cell, const std::string& path);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_PATH_CHECK_H_
