#ifndef ODYSSEY_POLICY_LATTICE_ENDPOINTS_H_
#define ODYSSEY_POLICY_LATTICE_ENDPOINTS_H_

#include <map>
#include <string>

#include "policy/egress/network_policy.h"

namespace odyssey::lattice {

// What a policy gives one program on one port of one endpoint, each encoded with all that is denied
// there, and in words. Where it stands in a file is no part of it.
using Pieces = std::map<std::string, std::string>;

Pieces PiecesOf(const egress::NetworkPolicy& policy);

// Of the policy what gives these pieces alone.
egress::NetworkPolicy Only(const egress::NetworkPolicy& policy, const Pieces& pieces);

}  // namespace odyssey::lattice

#endif  // ODYSSEY_POLICY_LATTICE_ENDPOINTS_H_
