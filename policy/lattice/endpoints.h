#ifndef ODYSSEY_POLICY_LATTICE_ENDPOINTS_H_
#define ODYSSEY_POLICY_LATTICE_ENDPOINTS_H_

#include <map>
#include <string>
#include <vector>

#include "policy/egress/network_policy.h"

namespace odyssey::lattice {

// What a policy gives one program on one port of one endpoint.
struct Piece {
  std::string words;
  egress::Binary program;
  std::vector<std::string> wider;  // by which others give it too: the same without a pin
  friend bool operator==(const Piece&, const Piece&) = default;
};

// Each by its encoding with all that is denied there. Where it stands in a file is no part of it.
// None gives another.
using Pieces = std::map<std::string, Piece>;

Pieces PiecesOf(const egress::NetworkPolicy& policy);

bool Give(const Pieces& pieces, const Pieces::value_type& piece);

// The most that both give.
Pieces Meet(const Pieces& a, const Pieces& b);

// Of the policy what gives these pieces alone; its programs may be narrower there.
egress::NetworkPolicy Only(const egress::NetworkPolicy& policy, const Pieces& pieces);

}  // namespace odyssey::lattice

#endif  // ODYSSEY_POLICY_LATTICE_ENDPOINTS_H_
