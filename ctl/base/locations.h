#ifndef ODYSSEY_CTL_BASE_LOCATIONS_H_
#define ODYSSEY_CTL_BASE_LOCATIONS_H_

// Where the state and the sockets are.

#include <functional>
#include <string>

namespace odyssey::ctl {

struct Locations {
  std::string state;
  std::string agentd_socket;
  std::string supervisor_socket;
  std::string policy_directory;  // of the operator's ceiling
  std::string bundle_store;      // of agentd: its trees
  friend bool operator==(const Locations&, const Locations&) = default;
};

// What the choice depends on; the process's own by default (MakeLocationInputs).
struct LocationInputs {
  std::string state_option;                             // --state, "" if not given
  std::string socket_option;                            // --socket
  std::function<std::string(const char*)> environment;  // "" if unset
  std::function<bool(const std::string&)> exists;
  bool is_root = false;
  std::string cwd;
};

LocationInputs MakeLocationInputs(std::string state_option, std::string socket_option);

// --socket, then ODYSSEY_SOCKET, then the state directory's run/agentd.sock, then, unless --state
// was given, /run/odyssey/agentd.sock if only that exists. The supervisor's likewise, with
// ODYSSEY_SUPERVISOR_SOCKET. The policy directory is that of the supervisor that is meant: of the
// state directory whose run/ has its socket, else /etc/odyssey/policy.d; the bundle store likewise,
// of that state directory, else of the one that is meant. All absolute. Pure.
Locations ResolveLocations(const LocationInputs& inputs);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_BASE_LOCATIONS_H_
