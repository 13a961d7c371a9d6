#ifndef ODYSSEY_POLICY_EGRESS_NAMES_H_
#define ODYSSEY_POLICY_EGRESS_NAMES_H_

// How the enums of a network policy are spelled in a file.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/egress/network_policy.h"

namespace odyssey::egress {

template <typename E>
using Names = std::vector<std::pair<std::string_view, E>>;

const Names<Protocol>& ProtocolNames();
const Names<Enforcement>& EnforcementNames();
const Names<AccessLevel>& AccessNames();
const Names<Signing>& SigningNames();
const Names<OnError>& OnErrorNames();

// "" for a value that is not spelled.
template <typename E>
std::string NameOf(E value, const Names<E>& names) {
  for (const auto& [name, known] : names) {
    if (known == value) return std::string(name);
  }
  return "";
}

}  // namespace odyssey::egress

#endif  // ODYSSEY_POLICY_EGRESS_NAMES_H_
