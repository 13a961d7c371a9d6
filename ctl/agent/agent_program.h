#ifndef ODYSSEY_CTL_AGENT_AGENT_PROGRAM_H_
#define ODYSSEY_CTL_AGENT_AGENT_PROGRAM_H_

// Where the program of an agent is on this host, and what of the host it needs.

#include <string>
#include <vector>

#include "common/base/status.h"
#include "ctl/agent/agent_profile.h"
#include "ctl/file/named_place.h"

namespace odyssey::ctl {

struct ProgramSearch {
  std::string program;  // --program: a file, a node_modules, or a directory with one; "": none
  std::string node;     // --node; "": as `path` has it
  std::string path;     // $PATH
  NamedPlaces* places = nullptr;
};

struct AgentProgram {
  std::vector<std::string> argv;   // the program, or Node and the script
  std::string executable;          // what the kernel executes: argv[0]
  std::vector<std::string> trees;  // what a cell has to show beside the system's trees
};

// --program, else `command` in $PATH, else what `npm root -g` of the system's npm prints. NOT_FOUND
// says what to install; FAILED_PRECONDITION: Node is missing, or the system's is too old.
Result<AgentProgram> FindAgentProgram(const AgentProfile& profile, const ProgramSearch& search);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_AGENT_AGENT_PROGRAM_H_
