#ifndef ODYSSEY_POLICY_DIFFERENCE_REQUESTS_H_
#define ODYSSEY_POLICY_DIFFERENCE_REQUESTS_H_

// The requests that an endpoint lets through, once a program is connected to it.

#include <vector>

#include "policy/egress/network_policy.h"

namespace odyssey::difference {

struct Requests {
  std::vector<egress::Matcher> allow;  // any of them
  std::vector<egress::Matcher> deny;   // and none of these
};

// Its access or its rules. What is not looked into, or is only recorded, lets everything through.
Requests RequestsOf(const egress::Endpoint& endpoint);

// Every request that `inner` matches, `outer` matches; false where that cannot be told. Pure.
bool Covers(const egress::Matcher& outer, const egress::Matcher& inner);

}  // namespace odyssey::difference

#endif  // ODYSSEY_POLICY_DIFFERENCE_REQUESTS_H_
