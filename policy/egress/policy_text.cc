#include "policy/egress/policy_text.h"

#include <algorithm>

#include "common/base/join.h"
#include "policy/egress/names.h"
#include "policy/egress/pattern.h"

namespace odyssey::egress {
namespace {

bool IsPlain(const std::string& text) {
  const auto plain = [](char c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return letter || (c >= '0' && c <= '9') || c == '/' || c == '.' || c == '-' || c == '_';
  };
  if (text.empty() || !std::all_of(text.begin(), text.end(), plain)) return false;
  // Not `yes` and its like.
  return text[0] == '/' || (text[0] >= 'a' && text[0] <= 'z' && text.size() > 5);
}

std::string MatcherText(const Matcher& matcher) {
  std::vector<std::string> parts;
  const auto add = [&](const char* key, const std::string& value) {
    if (!value.empty()) parts.push_back(key + (": " + Scalar(value)));
  };
  add("method", matcher.method);
  add("path", matcher.path);
  std::vector<std::string> query;
  for (const QueryMatch& match : matcher.query) {
    query.push_back(Scalar(match.name) + ": {any: " + Sequence(match.any) + "}");
  }
  if (!query.empty()) parts.push_back("query: {" + Join(query, ", ") + "}");
  add("operation_type", matcher.operation_type);
  add("operation_name", matcher.operation_name);
  if (!matcher.fields.empty()) parts.push_back("fields: " + Sequence(matcher.fields));
  add("tool", matcher.tool);
  if (!matcher.params_name.empty()) {
    parts.push_back("params: {name: " + Scalar(matcher.params_name) + "}");
  }
  return "{" + Join(parts, ", ") + "}";
}

// Where the secrets of its requests come from.
std::string CredentialsText(const Credentials& credentials) {
  std::string out;
  const auto line = [&](const std::string& text) { out += kEndpointIndent + text + "\n"; };
  if (credentials.rewrite_websocket) line("websocket_credential_rewrite: true");
  if (credentials.rewrite_body) line("request_body_credential_rewrite: true");
  if (credentials.allow_uninspected) line("allow_uninspected_credentials: true");
  if (credentials.signing != Signing::kNone) {
    line("credential_signing: " + Scalar(NameOf(credentials.signing, SigningNames())));
    line("signing_service: " + Scalar(credentials.signing_service));
    if (!credentials.signing_region.empty()) {
      line("signing_region: " + Scalar(credentials.signing_region));
    }
  }
  if (!credentials.provider.empty()) {
    line("credential_binding: {provider: " + Scalar(credentials.provider) + "}");
  }
  return out;
}

std::string RegisteredText(const GraphQl& graphql) {
  if (!graphql.allow_registered) return "";
  std::string out = std::string(kEndpointIndent) + "persisted_queries: allow_registered\n" +
                    kEndpointIndent + "graphql_persisted_queries:\n";
  for (const PersistedQuery& query : graphql.registered) {
    const Matcher matcher{.operation_type = query.operation_type,
                          .operation_name = query.operation_name,
                          .fields = query.fields};
    out += std::string(kEndpointIndent) + "  " + Scalar(query.hash) + ": " + MatcherText(matcher) +
           "\n";
  }
  return out;
}

std::string BudgetText(const Budget& budget) {
  std::vector<std::string> parts;
  for (const BudgetKey& key : kBudgetKeys) {
    const uint64_t most = budget.*key.member;
    if (most != 0) parts.push_back(std::string(key.name) + ": " + std::to_string(most));
  }
  return "{" + Join(parts, ", ") + "}\n";
}

std::string PortsText(const Endpoint& endpoint) {
  if (endpoint.ports.size() == 1) return "port: " + std::to_string(endpoint.ports[0]) + "\n";
  std::vector<std::string> ports;
  for (const uint16_t port : endpoint.ports) ports.push_back(std::to_string(port));
  return "ports: [" + Join(ports, ", ") + "]\n";
}

std::string RuleText(const Rule& rule, Defaults defaults) {
  std::string out = "  " + Scalar(rule.key) + ":\n";
  if (rule.name != rule.key) out += "    name: " + Scalar(rule.name) + "\n";
  out += "    endpoints:\n";
  for (const Endpoint& endpoint : rule.endpoints) {
    out +=
        "    - " +
        (endpoint.host.empty() ? "" : "host: " + Scalar(endpoint.host) + "\n" + kEndpointIndent) +
        PortsText(endpoint) + EndpointText(endpoint, nullptr, defaults) +
        CredentialsText(endpoint.credentials) + RegisteredText(endpoint.graphql);
    if (endpoint.budget != Budget{}) {
      out += kEndpointIndent + ("budget: " + BudgetText(endpoint.budget));
    }
  }
  out += "    binaries:\n";
  for (const Binary& binary : rule.binaries) out += BinaryText(binary);
  return out;
}

}  // namespace

std::string Scalar(const std::string& text) {
  if (IsPlain(text)) return text;
  constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + '"';
}

std::string Sequence(const std::vector<std::string>& texts) {
  std::vector<std::string> scalars;
  for (const std::string& text : texts) scalars.push_back(Scalar(text));
  return "[" + Join(scalars, ", ") + "]";
}

std::string EndpointText(const Endpoint& endpoint, const Matcher* allow, Defaults defaults) {
  std::string out;
  const auto line = [&](const std::string& text) { out += kEndpointIndent + text + "\n"; };
  if (!endpoint.path.empty()) line("path: " + Scalar(endpoint.path));
  if (endpoint.protocol != Protocol::kL4)
    line("protocol: " + NameOf(endpoint.protocol, ProtocolNames()));
  if (endpoint.tls == Tls::kSkip) line("tls: skip");
  if (endpoint.enforcement == Enforcement::kAudit) {
    line("enforcement: audit");
  } else if (defaults == Defaults::kSaid && IsInspected(endpoint.protocol)) {
    line("enforcement: enforce");
  }
  std::vector<std::string> ranges;
  for (const AddressRange& range : endpoint.allowed_ips) ranges.push_back(ToString(range));
  if (!ranges.empty()) line("allowed_ips: " + Sequence(ranges));
  if (endpoint.allow_encoded_slash) line("allow_encoded_slash: true");
  const bool graphql = endpoint.graphql.max_body_bytes != kDefaultBodyBytes;
  if (graphql) line("graphql_max_body_bytes: " + std::to_string(endpoint.graphql.max_body_bytes));
  if (endpoint.rpc != Rpc{}) {
    std::string rpc = "max_body_bytes: " + std::to_string(endpoint.rpc.max_body_bytes);
    if (!endpoint.rpc.strict_tool_names) rpc += ", strict_tool_names: false";
    if (endpoint.rpc.allow_all_known_methods) rpc += ", allow_all_known_mcp_methods: true";
    line((endpoint.protocol == Protocol::kMcp ? "mcp: {" : "json_rpc: {") + rpc + "}");
  }
  if (allow == nullptr && endpoint.access != AccessLevel::kByRules) {
    line("access: " + NameOf(endpoint.access, AccessNames()));
  }
  std::vector<Matcher> rules;
  if (allow != nullptr) rules = {*allow};
  if (allow == nullptr) rules = endpoint.allow;
  if (!rules.empty()) line("rules:");
  for (const Matcher& rule : rules) line("- allow: " + MatcherText(rule));
  if (allow == nullptr && !endpoint.deny.empty()) {
    line("deny_rules:");
    for (const Matcher& deny : endpoint.deny) line("- " + MatcherText(deny));
  }
  return out;
}

std::string BinaryText(const Binary& binary) {
  std::string out = "    - path: " + Scalar(binary.path) + "\n";
  if (!binary.sha256.empty()) return out + "      sha256: " + Scalar(binary.sha256) + "\n";
  return binary.only_itself ? out + "      ancestors: false\n" : out;
}

std::string PolicyText(const NetworkPolicy& policy, Defaults defaults) {
  std::string out = "version: 1\n";
  std::string rules;
  for (const Rule& rule : policy.rules) {
    if (rule.endpoints.empty()) continue;
    if (IsPublic(rule.endpoints[0])) {
      out += "# " + rule.endpoints[0].key + ": every public host and port\n";
    } else {
      rules += RuleText(rule, defaults);
    }
  }
  if (policy.budget != Budget{}) out += "network_budget: " + BudgetText(policy.budget);
  return rules.empty() ? out : out + "network_policies:\n" + rules;
}

}  // namespace odyssey::egress
