#ifndef ODYSSEY_POLICY_ANSWER_PATH_ANSWER_H_
#define ODYSSEY_POLICY_ANSWER_PATH_ANSWER_H_

#include <string>

#include "policy/explain/explain.h"
#include "policy/explain/links.h"

namespace odyssey::answer {

// The answer about one path of the host.
struct PathAnswer {
  bool allowed = true;
  std::string rule;
  std::string reason;
  explain::Grant grant;  // what would allow it; of what is allowed, to write it
  std::string host;      // what decides is shown there on the host; "": nowhere
  bool through_link = false;
};

// Would a command in this cell see `path`, absolute and normalised, and where, once links are
// followed as they lead in the cell. The rule is what decides; the reason says under which name it
// is there, and whether it may be written and executed. Pure.
PathAnswer DecidePath(const explain::Cell& cell, const explain::ReadLink& read_link,
                      const std::string& path);

}  // namespace odyssey::answer

#endif  // ODYSSEY_POLICY_ANSWER_PATH_ANSWER_H_
