#ifndef ODYSSEY_POLICY_EGRESS_DECISION_H_
#define ODYSSEY_POLICY_EGRESS_DECISION_H_

// What is asked of a network policy, and its answer.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policy/egress/network_policy.h"

namespace odyssey::egress {

// The program that connects, as it was recorded when it called connect(2).
struct Program {
  std::string path;                    // of the executable file, symbolic links resolved
  std::vector<std::string> ancestors;  // likewise, from its parent up to the command of the exec
  bool known = false;                  // false: only rules for any program (`/**`) match
  std::string sha256;                  // of the file in hex; "": not known, no pin is met
  friend bool operator==(const Program&, const Program&) = default;
};

struct Connection {
  std::string host;  // as the client named it, normalised: a name or an address
  uint16_t port = 0;
  Program program;
  friend bool operator==(const Connection&, const Connection&) = default;
};

// A part of a request: a header (its name in lower case), a value of the query (decoded once).
struct Field {
  std::string name;
  std::string value;
  friend bool operator==(const Field&, const Field&) = default;
};

struct Request {
  std::string method;
  std::string path;            // decoded, canonical: what is forwarded says the same
  std::vector<Field> query;    // in order
  std::vector<Field> headers;  // in order
  std::string body;            // without framing; see BodyLimit
  friend bool operator==(const Request&, const Request&) = default;
};

enum class Refusal {
  kNone,
  kPolicyDenied,
  kSsrfDenied,
  kUninspectedCredentials,
  kUnsupportedProtocol,
  kMalformed,
  kMethodNotAllowed,
  kBodyTooLarge,
  kUnsupportedEncoding,
  kUnreachable,
};

// "policy_denied"; "" for kNone.
std::string_view CodeOf(Refusal refusal);

// The status of HTTP that a client gets: 403.
int HttpStatusOf(Refusal refusal);

// An endpoint, and the rule whose programs may use it. Both are the policy's, and live as long.
struct Pair {
  const Rule* rule = nullptr;
  const Endpoint* endpoint = nullptr;
  friend bool operator==(const Pair&, const Pair&) = default;
};

struct Decision {
  bool allowed = false;
  bool audited = false;     // it would be refused, and `enforcement: audit` lets it through
  bool inspected = false;   // requests are decided one by one
  std::vector<Pair> pairs;  // what allows it, or decides the next step
  Refusal refusal = Refusal::kNone;
  std::string reason;        // of a refusal, also of an audited one
  std::string rule_missing;  // the smallest policy that would allow it, as YAML; "": there is none
};

// For a reason: cut to 200 bytes, with `?` for control characters.
std::string Shown(std::string_view text);

}  // namespace odyssey::egress

#endif  // ODYSSEY_POLICY_EGRESS_DECISION_H_
