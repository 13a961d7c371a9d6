#ifndef ODYSSEY_CTL_PATH_CHECK_H_
#define ODYSSEY_CTL_PATH_CHECK_H_

#include <string>

#include "common/base/status.h"
#include "policy/model/request.h"
#include "policy/rules/tool_rules.h"

namespace odyssey::ctl {

// Would a command in this sandbox see `path`, a path of the host, and where. The rule is the mount
// that shows it; the reason says under which name and whether it may be written. INVALID_ARGUMENT
// if the path is not absolute and normalised. Pure.
Result<rules::Decision> DecidePath(const policy::SandboxRequest& request, const std::string& path);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_PATH_CHECK_H_
