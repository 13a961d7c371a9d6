#ifndef ODYSSEY_CTL_HOST_FACTS_H_
#define ODYSSEY_CTL_HOST_FACTS_H_

#include <map>
#include <optional>
#include <string>

#include "policy/compile/compile.h"

namespace odyssey::ctl {

// What the compiler must know about this host. The state directory, and Odyssey's other ones, are
// marked as never to be shown in a cell.
compile::HostFacts GatherHostFacts(const std::string& state);

// What the workspace, the sources of mounts and the executables with a path are, as far as whoever
// runs this may look.
std::map<std::string, compile::PlaceKind> LookAtPlaces(const policy::SandboxRequest& request);

// What the symbolic link there says; nullopt: it is none, or whoever runs this may not look at it.
std::optional<std::string> LinkOfHost(const std::string& path);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_HOST_FACTS_H_
