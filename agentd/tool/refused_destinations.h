#ifndef ODYSSEY_AGENTD_TOOL_REFUSED_DESTINATIONS_H_
#define ODYSSEY_AGENTD_TOOL_REFUSED_DESTINATIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "odyssey/supervisor/v1/supervisor.pb.h"

namespace odyssey::tools {

// To which a program of a command was refused a connection.
struct RefusedDestination {
  std::string host;  // normalised
  uint16_t port = 0;
  std::string why;  // a sentence that names the program
  friend bool operator==(const RefusedDestination&, const RefusedDestination&) = default;
};

// Those that no endpoint of the cell's policy let through, each once, in order. Not what is refused
// whatever a policy says, nor a name that was looked up, which has no port, nor a request on a
// connection that an endpoint allowed. Pure.
std::vector<RefusedDestination> RefusedDestinations(const supervisor::v1::ExecOutcome& ended);

}  // namespace odyssey::tools

#endif  // ODYSSEY_AGENTD_TOOL_REFUSED_DESTINATIONS_H_
