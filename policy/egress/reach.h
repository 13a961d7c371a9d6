#ifndef ODYSSEY_POLICY_EGRESS_REACH_H_
#define ODYSSEY_POLICY_EGRESS_REACH_H_

// What a network policy says of one destination, as a proxy would decide it: before a request is
// seen, and for whichever program asks.

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "policy/egress/network_policy.h"

namespace odyssey::egress {

struct Destination {
  std::string host;   // normalised, no pattern
  uint16_t port = 0;  // 0: any
  std::string never;  // why no policy opens it; "" if one may
  // Why it is in a private network, which a pattern of hosts does not open; "" = not known to be.
  std::string is_private;
};

// Of the software that runs clusters: closed whatever a policy says.
bool IsControlPlanePort(uint16_t port);

// "HOST", "HOST:PORT"; an IPv6 address with a port is in brackets.
Result<Destination> ParseDestination(const std::string& text);

// The same of a host or a pattern of hosts; "*" is every host, kEveryHost.
Result<Destination> ParseDestinationPattern(const std::string& text);

// One that a policy may open: INVALID_ARGUMENT, if the text is not "HOST:PORT"; PERMISSION_DENIED,
// if no policy opens it. The message does not name what asked.
Result<Destination> ParseReachable(const std::string& text);

enum class MatchKind {
  kNamed,
  kIfInRange,  // where the name leads to decides: the endpoint opens some addresses only
  kOtherPort,  // the endpoint names the host, and not this port
  kPrivate,    // the endpoint's host is a pattern, without allowed_ips for a private network
};

struct Match {
  const Rule* rule = nullptr;
  const Endpoint* endpoint = nullptr;
  MatchKind kind = MatchKind::kNamed;
};

// The endpoints that name the host, in the order of the file. Which of them decides, a program's
// path tells: they belong to rules with programs of their own.
std::vector<Match> MatchesOf(const NetworkPolicy& policy, const Destination& destination);

// Whether an endpoint names the host with the port, for whichever program.
bool NamesDestination(const NetworkPolicy& policy, const Destination& destination);

}  // namespace odyssey::egress

#endif  // ODYSSEY_POLICY_EGRESS_REACH_H_
