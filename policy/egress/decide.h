#ifndef ODYSSEY_POLICY_EGRESS_DECIDE_H_
#define ODYSSEY_POLICY_EGRESS_DECIDE_H_

// Every decision on what leaves a cell, whichever way it came in. A connection passes three steps,
// each from the pairs that the one before left:
//
//   DecideConnection   host, port and program; no name server is asked before it
//   DecideAddresses    all that the name resolves to
//   DecideRequest      each request of a connection that is inspected, DecideMessage each message
//
// Pure: no I/O, and what a cell sends throws nothing.

#include "policy/egress/decision.h"

namespace odyssey::egress {

// Pairs of a rule's endpoint and the programs of the same rule. Closed whatever the policy says:
// hosts that NormalizeHost refuses, ports of cluster control planes.
Decision DecideConnection(const NetworkPolicy& policy, const Connection& connection);

// Some rule is for a file at this path with one content alone: its hash decides.
bool IsPinned(const NetworkPolicy& policy, const std::string& path);

// Allowed: each of the addresses may be dialled, and no other. One that may not refuses them all.
// `own`: of this machine's interfaces, closed like the ranges of Never. An address of a private
// network needs allowed_ips that hold it, or an endpoint that names the host itself.
Decision DecideAddresses(const Connection& connection, const std::vector<Pair>& pairs,
                         const std::vector<AddressRange>& addresses,
                         const std::vector<AddressRange>& own);

// Those of the pairs whose endpoint is for the path: one without a pattern over one with a pattern,
// and that over one for all paths.
std::vector<Pair> PairsFor(const std::vector<Pair>& pairs, const std::string& path);

// How many bytes of the body DecideRequest needs: the caller passes all of it, or so many and one
// more. 0: none. Does not look at `request.body`.
uint64_t BodyLimit(const std::vector<Pair>& pairs, const Request& request);

// A request of HTTP. Its pairs are those for its path. The path has no percent-encoding but, of a
// slash, `%2F` where all of them have allow_encoded_slash. Under `enforcement: audit` a refused
// request is allowed and `audited`, unless the request cannot be read in one way only.
Decision DecideRequest(const Connection& connection, const std::vector<Pair>& pairs,
                       const Request& request);

// A text message of the client on a WebSocket that `upgrade` opened.
Decision DecideMessage(const Connection& connection, const std::vector<Pair>& pairs,
                       const Request& upgrade, const std::string& text);

}  // namespace odyssey::egress

#endif  // ODYSSEY_POLICY_EGRESS_DECIDE_H_
