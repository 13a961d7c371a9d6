#ifndef ODYSSEY_CTL_AGENT_AGENT_PROFILES_H_
#define ODYSSEY_CTL_AGENT_AGENT_PROFILES_H_

// Where profiles are: the user's own, the operator's, those of Odyssey. The first of a name counts.

#include <string>
#include <vector>

#include "common/base/status.h"
#include "ctl/agent/agent_profile.h"
#include "ctl/file/named_place.h"

namespace odyssey::ctl {

// $XDG_CONFIG_HOME/odyssey/agents or ~/.config/odyssey/agents, /etc/odyssey/agents, and
// ../share/odyssey/agents from the directory of this program.
std::vector<std::string> ProfileDirectories();

// NAME of each NAME.yaml in the directories, sorted.
Result<std::vector<std::string>> ProfileNames(const std::vector<std::string>& directories);

struct NamedProfile {
  std::string name;
  std::string text;
  AgentProfile profile;
};

// `name`: of a file in one of the directories, or a path, which has a slash. NOT_FOUND names what
// there is; INVALID_ARGUMENT is the first problem of the file.
Result<NamedProfile> FindProfile(const std::string& name,
                                 const std::vector<std::string>& directories, NamedPlaces* places);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_AGENT_AGENT_PROFILES_H_
