#ifndef ODYSSEY_CTL_PATH_CHECK_H_
#define ODYSSEY_CTL_PATH_CHECK_H_

#include <string>

#include "common/base/status.h"
#include "policy/dialect/policy.h"
#include "policy/explain/explain.h"
#include "policy/explain/links.h"
#include "policy/rules/tool_rules.h"

namespace odyssey::ctl {

// Where it is asked.
struct PathView {
  explain::Cell cell;
  explain::ReadLink read_link;                            // of the host
  dialect::Dialect dialect = dialect::Dialect::kOdyssey;  // whose keys are named
};

// The answer about one path.
struct PathAnswer {
  rules::Decision decision;
  std::string host;  // what decides is shown there on the host; "": nowhere
};

// INVALID_ARGUMENT for a path that cannot be asked about: not absolute, or with "..".
Status CheckAskedPath(const std::string& path);

// Would a command in this cell see `path`, a path of the host, and where, once links are followed
// as they lead in the cell. The rule is what decides; the reason says under which name it is there,
// whether it may be written and executed, and what would have to be asked for. INVALID_ARGUMENT if
// the path is not absolute and normalised. Pure.
Result<PathAnswer> DecidePath(const PathView& view, const std::string& path);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_PATH_CHECK_H_
