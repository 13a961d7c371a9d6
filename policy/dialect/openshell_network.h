#ifndef ODYSSEY_POLICY_DIALECT_OPENSHELL_NETWORK_H_
#define ODYSSEY_POLICY_DIALECT_OPENSHELL_NETWORK_H_

// `network_policies` and `network_middlewares` of an OpenShell policy as values: what a proxy would
// need to decide every connection and request. Hosts are normalised, patterns are checked.

#include <cstdint>
#include <string>
#include <vector>

#include "policy/dialect/openshell_address.h"

namespace odyssey::dialect::openshell {

inline constexpr uint64_t kDefaultBodyBytes = 65536;

// kL4: bytes, uninspected. kTcp: the same, with the name resolved for the program.
enum class Protocol { kL4, kTcp, kRest, kWebSocket, kGraphQl, kMcp, kJsonRpc, kSql };
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

// What a program of ours would do with credentials for an endpoint.
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

struct Endpoint {
  std::string host;             // "": any, in allowed_ips
  std::vector<uint16_t> ports;  // at least one, sorted
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
  int line = 0;     // where it stands
  std::string key;  // "network_policies.x.endpoints[0]"
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

struct Rule {
  std::string key;   // in the map
  std::string name;  // the label; the key if there is none
  std::vector<Endpoint> endpoints;
  std::vector<std::string> binaries;  // patterns; empty: nothing matches
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
  friend bool operator==(const NetworkPolicy&, const NetworkPolicy&) = default;
};

// "api.example.com:443, rest, enforce, access full, for /usr/bin/curl".
std::string Describe(const Rule& rule, const Endpoint& endpoint);

// A line for each endpoint and each middleware: "network_policies.x.endpoints[0] on line 5:
// api.example.com:443, …".
std::vector<std::string> Describe(const NetworkPolicy& policy);

}  // namespace odyssey::dialect::openshell

#endif  // ODYSSEY_POLICY_DIALECT_OPENSHELL_NETWORK_H_
