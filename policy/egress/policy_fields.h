#ifndef ODYSSEY_POLICY_EGRESS_POLICY_FIELDS_H_
#define ODYSSEY_POLICY_EGRESS_POLICY_FIELDS_H_

// The fields of a network policy, for the private codec (common/base/field_codec.h) in the order of
// the encoding, and by their names in egress.proto. Where they stand in a file is not among them.
// Bounds are those of a policy file that is read.

#include <cstdint>

#include "policy/egress/network_policy.h"

namespace odyssey::egress {

inline constexpr uint32_t kMaxRules = 1024;
inline constexpr uint32_t kMaxItems = 1024;      // of one list in a rule
inline constexpr uint32_t kMaxTextBytes = 4096;  // of a name, a pattern, a key
inline constexpr uint32_t kMaxConfigBytes = 64 * 1024;
inline constexpr uint32_t kMaxSha256Digits = 64;

void VisitFields(auto& v, QueryMatch& m) {
  v.Text("name", m.name, kMaxTextBytes);
  v.Texts("any", m.any, kMaxItems, kMaxTextBytes);
}

void VisitFields(auto& v, Matcher& m) {
  v.Text("method", m.method, kMaxTextBytes);
  v.Text("path", m.path, kMaxTextBytes);
  v.List("query", m.query, kMaxItems);
  v.Text("operation_type", m.operation_type, kMaxTextBytes);
  v.Text("operation_name", m.operation_name, kMaxTextBytes);
  v.Texts("fields", m.fields, kMaxItems, kMaxTextBytes);
  v.Text("tool", m.tool, kMaxTextBytes);
  v.Text("params_name", m.params_name, kMaxTextBytes);
  v.Text("command", m.command, kMaxTextBytes);
}

void VisitFields(auto& v, PersistedQuery& m) {
  v.Text("hash", m.hash, kMaxTextBytes);
  v.Text("operation_type", m.operation_type, kMaxTextBytes);
  v.Text("operation_name", m.operation_name, kMaxTextBytes);
  v.Texts("fields", m.fields, kMaxItems, kMaxTextBytes);
}

void VisitFields(auto& v, AddressRange& m) {
  v.Bool("v6", m.v6);
  for (uint8_t& byte : m.bytes) v.U8("byte", byte);
  v.I32("prefix", m.prefix);
}

template <typename V>
void VisitBudget(V& v, Budget& m) {
  for (const BudgetKey& key : kBudgetKeys) v.U64(key.name, m.*key.member);
}

void VisitFields(auto& v, Endpoint& m) {
  v.Text("host", m.host, kMaxTextBytes);
  v.List("ports", m.ports, kMaxItems);
  v.Text("path", m.path, kMaxTextBytes);
  v.Enum("protocol", m.protocol, Protocol::kSql);
  v.Enum("tls", m.tls, Tls::kSkip);
  v.Enum("enforcement", m.enforcement, Enforcement::kAudit);
  v.Enum("access", m.access, AccessLevel::kFull);
  v.List("allow", m.allow, kMaxItems);
  v.List("deny", m.deny, kMaxItems);
  v.List("allowed_ips", m.allowed_ips, kMaxItems);
  v.Bool("allow_encoded_slash", m.allow_encoded_slash);
  v.Bool("websocket_credential_rewrite", m.credentials.rewrite_websocket);
  v.Bool("request_body_credential_rewrite", m.credentials.rewrite_body);
  v.Bool("allow_uninspected_credentials", m.credentials.allow_uninspected);
  v.Enum("credential_signing", m.credentials.signing, Signing::kSigV4NoBody);
  v.Text("signing_service", m.credentials.signing_service, kMaxTextBytes);
  v.Text("signing_region", m.credentials.signing_region, kMaxTextBytes);
  v.Text("credential_provider", m.credentials.provider, kMaxTextBytes);
  v.U64("graphql_max_body_bytes", m.graphql.max_body_bytes);
  v.Bool("allow_registered_queries", m.graphql.allow_registered);
  v.List("persisted_queries", m.graphql.registered, kMaxItems);
  v.U64("rpc_max_body_bytes", m.rpc.max_body_bytes);
  v.Bool("strict_tool_names", m.rpc.strict_tool_names);
  v.Bool("allow_all_known_methods", m.rpc.allow_all_known_methods);
  v.Text("key", m.key, kMaxTextBytes);
  VisitBudget(v, m.budget);
}

void VisitFields(auto& v, Binary& m) {
  v.Text("path", m.path, kMaxTextBytes);
  v.Text("sha256", m.sha256, kMaxSha256Digits);
  v.Bool("only_itself", m.only_itself);
}

void VisitFields(auto& v, Rule& m) {
  v.Text("key", m.key, kMaxTextBytes);
  v.Text("name", m.name, kMaxTextBytes);
  v.List("endpoints", m.endpoints, kMaxItems);
  v.List("binaries", m.binaries, kMaxItems);
}

void VisitFields(auto& v, Middleware& m) {
  v.Text("key", m.key, kMaxTextBytes);
  v.Text("name", m.name, kMaxTextBytes);
  v.Text("middleware", m.middleware, kMaxTextBytes);
  v.U64("order", reinterpret_cast<uint64_t&>(m.order));
  v.Text("config", m.config, kMaxConfigBytes);
  v.Enum("on_error", m.on_error, OnError::kFailOpen);
  v.Texts("include", m.include, kMaxItems, kMaxTextBytes);
  v.Texts("exclude", m.exclude, kMaxItems, kMaxTextBytes);
}

void VisitFields(auto& v, NetworkPolicy& m) {
  v.List("rules", m.rules, kMaxRules);
  v.List("middlewares", m.middlewares, kMaxItems);
  VisitBudget(v, m.budget);
}

}  // namespace odyssey::egress

#endif  // ODYSSEY_POLICY_EGRESS_POLICY_FIELDS_H_
