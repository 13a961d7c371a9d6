#ifndef ODYSSEY_SUPERVISOR_RPC_HOST_FACTS_H_
#define ODYSSEY_SUPERVISOR_RPC_HOST_FACTS_H_

#include <string>
#include <vector>

#include "policy/compile/compile.h"
#include "supervisor/wire/root_wire.h"

namespace odyssey::supervisor {

// What the compiler must know about this host: read once, at start.
compile::HostFacts GatherHostFacts(const wire::Hello& hello);

struct Feature {
  std::string name;
  bool in_force = false;
  std::string detail;
};

// The layers of confinement on this host, for GetInfo, DescribeCell and doctor.
std::vector<Feature> DescribeFeatures(const wire::Hello& hello, const compile::HostFacts& facts);

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_HOST_FACTS_H_
