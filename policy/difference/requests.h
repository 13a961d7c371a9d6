#ifndef ODYSSEY_POLICY_DIFFERENCE_REQUESTS_H_
#define ODYSSEY_POLICY_DIFFERENCE_REQUESTS_H_

// The requests that an endpoint lets through, once a program is connected to it.

#include <vector>

#include "policy/dialect/openshell_network.h"

namespace odyssey::difference {

struct Requests {
  std::vector<dialect::openshell::Matcher> allow;  // any of them
  std::vector<dialect::openshell::Matcher> deny;   // and none of these
};

// Its access or its rules. What is not looked into, or is only recorded, lets everything through.
Requests RequestsOf(const dialect::openshell::Endpoint& endpoint);

// Every request that `inner` matches, `outer` matches; false where that cannot be told. Pure.
bool Covers(const dialect::openshell::Matcher& outer, const dialect::openshell::Matcher& inner);

}  // namespace odyssey::difference

#endif  // ODYSSEY_POLICY_DIFFERENCE_REQUESTS_H_
