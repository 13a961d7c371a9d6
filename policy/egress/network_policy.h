#ifndef ODYSSEY_POLICY_EGRESS_NETWORK_POLICY_H_
#define ODYSSEY_POLICY_EGRESS_NETWORK_POLICY_H_

// What a cell with egress may reach: the endpoints, and for which programs. Every connection and
// request is decided by it. Hosts are normalised, patterns are checked.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policy/egress/address.h"

namespace odyssey::egress {

inline constexpr uint64_t kDefaultBodyBytes = 65536;

// kL4: bytes, uninspected. kTcp: the same, with the name resolved for the program.
enum class Protocol { kL4, kTcp, kRest, kWebSocket, kGraphQl, kMcp, kJsonRpc, kSql };
// Requests are looked into: neither bytes nor TCP.
inline bool IsInspected(Protocol protocol) {
  return protocol != Protocol::kL4 && protocol != Protocol::kTcp;
}
enum class Tls { kAuto, kSkip };
enum class Enforcement { kEnforce, kAudit };
enum class AccessLevel { kByRules, kReadOnly, kReadWrite, kFull };
enum class Signing { kNone, kSigV4, kSigV4Body, kSigV4NoBody };
enum class OnError { kFailClosed, kFailOpen };

// All values of the key must match one of the patterns (in a deny rule: one value is enough).
struct QueryMatch {
  std::string name;
  std::vector<std::string> any;
  friend bool operator==(const QueryMatch&, const QueryMatch&) = default;
};

// What a request has to be; "" = anything.
struct Matcher {
  std::string method;
  std::string path;
  std::vector<QueryMatch> query;
  std::string operation_type;
  std::string operation_name;
  std::vector<std::string> fields;
  std::string tool;
  std::string params_name;
  std::string command;
  friend bool operator==(const Matcher&, const Matcher&) = default;
};

struct PersistedQuery {
  std::string hash;
  std::string operation_type;
  std::string operation_name;
  std::vector<std::string> fields;
  friend bool operator==(const PersistedQuery&, const PersistedQuery&) = default;
};

// What is done with credentials for an endpoint.
struct Credentials {
  bool rewrite_websocket = false;
  bool rewrite_body = false;
  bool allow_uninspected = false;
  Signing signing = Signing::kNone;
  std::string signing_service;
  std::string signing_region;
  std::string provider;  // credential_binding.provider
  friend bool operator==(const Credentials&, const Credentials&) = default;
};

struct GraphQl {
  uint64_t max_body_bytes = kDefaultBodyBytes;
  bool allow_registered = false;  // persisted_queries
  std::vector<PersistedQuery> registered;
  friend bool operator==(const GraphQl&, const GraphQl&) = default;
};

struct Rpc {  // mcp and json_rpc
  uint64_t max_body_bytes = kDefaultBodyBytes;
  bool strict_tool_names = true;
  bool allow_all_known_methods = false;
  friend bool operator==(const Rpc&, const Rpc&) = default;
};

inline constexpr char kEveryHost[] = "**";
inline constexpr uint16_t kEveryPort = 0;
inline constexpr char kEveryProgram[] = "/**";

// What may be used; 0: as much as is asked for. Bytes are those of the cell's whole life, sent to
// servers (up) and received from them.
struct Budget {
  uint64_t max_connections = 0;  // open at a time
  uint64_t connections_per_minute = 0;
  uint64_t requests_per_minute = 0;
  uint64_t bytes_up = 0;
  uint64_t bytes_down = 0;
  friend bool operator==(const Budget&, const Budget&) = default;
};

// Its limits, by their names in a policy file and in messages.
struct BudgetKey {
  const char* name;
  uint64_t Budget::*member;
  const char* unit;  // for people
};
inline constexpr BudgetKey kBudgetKeys[] = {
    {"max_connections", &Budget::max_connections, "connections at a time"},
    {"connections_per_minute", &Budget::connections_per_minute, "connections a minute"},
    {"requests_per_minute", &Budget::requests_per_minute, "requests a minute"},
    {"bytes_up", &Budget::bytes_up, "bytes up"},
    {"bytes_down", &Budget::bytes_down, "bytes down"}};
inline constexpr uint64_t kMaxBudget = uint64_t{1} << 53;

// One of a budget's limits lets through more than the other, 0 being none.
inline bool IsMore(uint64_t limit, uint64_t other) {
  return other != 0 && (limit == 0 || limit > other);
}

struct Endpoint {
  std::string host;             // "": any, in allowed_ips; kEveryHost: any that is public
  std::vector<uint16_t> ports;  // at least one, sorted; with kEveryHost: kEveryPort alone
  std::string path;             // a pattern; "" = all
  Protocol protocol = Protocol::kL4;
  Tls tls = Tls::kAuto;
  Enforcement enforcement = Enforcement::kEnforce;
  AccessLevel access = AccessLevel::kByRules;
  std::vector<Matcher> allow;
  std::vector<Matcher> deny;
  std::vector<AddressRange> allowed_ips;
  bool allow_encoded_slash = false;
  Credentials credentials;
  GraphQl graphql;
  Rpc rpc;
  Budget budget;    // of what goes to it
  int line = 0;     // where it stands
  std::string key;  // "network_policies.x.endpoints[0]"
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

// kEveryPort is first where it is.
inline bool HasPort(const Endpoint& endpoint, uint16_t port) {
  return std::binary_search(endpoint.ports.begin(), endpoint.ports.end(), port) ||
         (!endpoint.ports.empty() && endpoint.ports[0] == kEveryPort);
}

// The policy has a credential put into its requests.
inline bool IsCredentialed(const Endpoint& endpoint) {
  return !endpoint.credentials.provider.empty() || endpoint.credentials.signing != Signing::kNone;
}

// Its requests are seen here.
inline bool IsOpenToRequests(const Endpoint& endpoint) {
  return IsInspected(endpoint.protocol) && endpoint.tls != Tls::kSkip;
}

// Programs of a rule.
struct Binary {
  std::string path;          // a pattern
  std::string sha256;        // of the executable file, in hex; "": any
  bool only_itself = false;  // not what it started; so with every sha256
  friend bool operator==(const Binary&, const Binary&) = default;
};

// 64 hex digits in lower case.
bool IsSha256(std::string_view text);

// Whatever the paths are, `inner` asks for as much as `outer` does.
bool IsAsStrict(const Binary& inner, const Binary& outer);

// "/usr/bin/curl with sha256 9f86…", "/usr/bin/git itself".
std::string Describe(const Binary& binary);

struct Rule {
  std::string key;   // in the map
  std::string name;  // the label; the key if there is none
  std::vector<Endpoint> endpoints;
  std::vector<Binary> binaries;  // empty: nothing matches
  friend bool operator==(const Rule&, const Rule&) = default;
};

struct Middleware {
  std::string key;
  std::string name;
  std::string middleware;
  int64_t order = 0;
  std::string config = "null";  // JSON text
  OnError on_error = OnError::kFailClosed;
  std::vector<std::string> include;  // hosts; empty: all
  std::vector<std::string> exclude;
  friend bool operator==(const Middleware&, const Middleware&) = default;
};

struct NetworkPolicy {
  std::vector<Rule> rules;
  std::vector<Middleware> middlewares;
  Budget budget;  // of the whole cell
  friend bool operator==(const NetworkPolicy&, const NetworkPolicy&) = default;
};

// One host and port for every program, uninspected. `key`: what asks for it.
Rule RuleFor(const std::string& key, const std::string& host, uint16_t port);

bool HasEndpoints(const NetworkPolicy& policy);

// Some rule is for a file with one content alone.
bool HasPins(const NetworkPolicy& policy);

// Everything public for every program, and nothing else. `key`: what asks for it.
NetworkPolicy PublicPolicy(const std::string& key);
inline bool IsPublic(const Endpoint& endpoint) { return endpoint.host == kEveryHost; }
// It has what PublicPolicy has.
bool IsPublic(const NetworkPolicy& policy);

// "api.example.com:443, rest, enforce, access full, for /usr/bin/curl".
std::string Describe(const Rule& rule, const Endpoint& endpoint);

// A line for each endpoint and each middleware: "network_policies.x.endpoints[0] on line 5:
// api.example.com:443, …".
std::vector<std::string> Describe(const NetworkPolicy& policy);

}  // namespace odyssey::egress

#endif  // ODYSSEY_POLICY_EGRESS_NETWORK_POLICY_H_
