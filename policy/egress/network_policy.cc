#include "policy/egress/network_policy.h"

#include "common/base/join.h"
#include "policy/egress/names.h"
#include "policy/egress/pattern.h"

namespace odyssey::egress {
namespace {

std::string DescribeMatcher(const Matcher& matcher) {
  std::vector<std::string> parts;
  if (!matcher.method.empty()) parts.push_back(matcher.method);
  if (!matcher.path.empty()) parts.push_back(matcher.path);
  for (const QueryMatch& match : matcher.query) {
    parts.push_back("?" + match.name + "=" + Join(match.any, "|"));
  }
  if (!matcher.operation_type.empty()) parts.push_back(matcher.operation_type);
  if (!matcher.operation_name.empty()) parts.push_back(matcher.operation_name);
  if (!matcher.fields.empty()) parts.push_back("{" + Join(matcher.fields, " ") + "}");
  if (!matcher.tool.empty()) parts.push_back("tool " + matcher.tool);
  if (!matcher.params_name.empty()) parts.push_back("name " + matcher.params_name);
  if (!matcher.command.empty()) parts.push_back(matcher.command);
  return Join(parts, " ");
}

std::string DescribeAll(const std::vector<Matcher>& matchers) {
  std::vector<std::string> texts;
  for (const Matcher& matcher : matchers) texts.push_back(DescribeMatcher(matcher));
  return Join(texts, "; ");
}

std::vector<std::string> DescribeCredentials(const Credentials& credentials) {
  std::vector<std::string> parts;
  if (!credentials.provider.empty()) parts.push_back("credentials of " + credentials.provider);
  if (credentials.signing != Signing::kNone) {
    parts.push_back("signed " + NameOf(credentials.signing, SigningNames()) + " for " +
                    credentials.signing_service);
  }
  if (credentials.rewrite_body) parts.push_back("credentials in bodies");
  if (credentials.rewrite_websocket) parts.push_back("credentials in websocket messages");
  if (credentials.allow_uninspected) parts.push_back("credentials uninspected");
  return parts;
}

std::vector<std::string> DescribeBudget(const Budget& budget) {
  std::vector<std::string> parts;
  for (const BudgetKey& key : kBudgetKeys) {
    const uint64_t limit = budget.*key.member;
    if (limit != 0) parts.push_back("at most " + std::to_string(limit) + " " + key.unit);
  }
  return parts;
}

std::string DescribeDestination(const Endpoint& endpoint) {
  if (IsPublic(endpoint)) return "every public host and port";
  std::vector<std::string> ports;
  for (const uint16_t port : endpoint.ports) ports.push_back(std::to_string(port));
  std::string out = endpoint.host.empty() ? "any host" : BeforePort(endpoint.host);
  out += ":" + Join(ports, ",") + endpoint.path;
  std::vector<std::string> ranges;
  for (const AddressRange& range : endpoint.allowed_ips) ranges.push_back(ToString(range));
  if (!ranges.empty()) out += " in " + Join(ranges, " ");
  return out;
}

}  // namespace

bool IsSha256(std::string_view text) {
  constexpr size_t kDigits = 64;
  return text.size() == kDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool IsAsStrict(const Binary& inner, const Binary& outer) {
  const bool pinned = outer.sha256.empty() || inner.sha256 == outer.sha256;
  return pinned && (inner.only_itself || !outer.only_itself);
}

std::string Describe(const Binary& binary) {
  if (!binary.sha256.empty()) return binary.path + " with sha256 " + binary.sha256;
  return binary.path + (binary.only_itself ? " itself" : "");
}

Rule RuleFor(const std::string& key, const std::string& host, uint16_t port) {
  Endpoint endpoint;
  endpoint.host = host;
  endpoint.ports = {port};
  endpoint.key = key;
  return {.key = key, .name = key, .endpoints = {endpoint}, .binaries = {{.path = kEveryProgram}}};
}

bool HasEndpoints(const NetworkPolicy& policy) {
  return std::any_of(policy.rules.begin(), policy.rules.end(),
                     [](const Rule& rule) { return !rule.endpoints.empty(); });
}

bool HasPins(const NetworkPolicy& policy) {
  return std::any_of(policy.rules.begin(), policy.rules.end(), [](const Rule& rule) {
    return std::any_of(rule.binaries.begin(), rule.binaries.end(),
                       [](const Binary& binary) { return !binary.sha256.empty(); });
  });
}

NetworkPolicy PublicPolicy(const std::string& key) {
  return {.rules = {RuleFor(key, kEveryHost, kEveryPort)}};
}

bool IsPublic(const NetworkPolicy& policy) {
  return std::any_of(policy.rules.begin(), policy.rules.end(), [](const Rule& rule) {
    return std::any_of(rule.endpoints.begin(), rule.endpoints.end(),
                       [](const Endpoint& endpoint) { return IsPublic(endpoint); });
  });
}

std::string Describe(const Rule& rule, const Endpoint& endpoint) {
  std::vector<std::string> parts = {DescribeDestination(endpoint)};
  const bool l4 = endpoint.protocol == Protocol::kL4;
  parts.push_back(l4 ? "bytes" : NameOf(endpoint.protocol, ProtocolNames()));
  parts.push_back(NameOf(endpoint.enforcement, EnforcementNames()));
  if (endpoint.tls == Tls::kSkip) parts.push_back("tls skip");
  if (endpoint.access != AccessLevel::kByRules) {
    parts.push_back("access " + NameOf(endpoint.access, AccessNames()));
  }
  if (!endpoint.allow.empty()) parts.push_back("allow " + DescribeAll(endpoint.allow));
  if (!endpoint.deny.empty()) parts.push_back("deny " + DescribeAll(endpoint.deny));
  if (endpoint.rpc.allow_all_known_methods) parts.push_back("allow all known methods");
  if (endpoint.graphql.allow_registered) {
    parts.push_back(std::to_string(endpoint.graphql.registered.size()) + " persisted queries");
  }
  for (std::string& part : DescribeCredentials(endpoint.credentials)) {
    parts.push_back(std::move(part));
  }
  for (std::string& part : DescribeBudget(endpoint.budget)) parts.push_back(std::move(part));
  std::vector<std::string> programs;
  for (const Binary& binary : rule.binaries) programs.push_back(Describe(binary));
  parts.push_back(programs.empty() ? "for no program" : "for " + Join(programs, " "));
  return Join(parts, ", ");
}

std::vector<std::string> Describe(const NetworkPolicy& policy) {
  std::vector<std::string> lines;
  for (const Rule& rule : policy.rules) {
    for (const Endpoint& endpoint : rule.endpoints) {
      lines.push_back(endpoint.key + " on line " + std::to_string(endpoint.line) + ": " +
                      Describe(rule, endpoint));
    }
  }
  for (const Middleware& middleware : policy.middlewares) {
    lines.push_back("network_middlewares." + middleware.key + ": " + middleware.middleware +
                    ", order " + std::to_string(middleware.order) + ", " +
                    NameOf(middleware.on_error, OnErrorNames()));
  }
  if (policy.budget != Budget{}) {
    lines.push_back("of the whole cell: " + Join(DescribeBudget(policy.budget), ", "));
  }
  return lines;
}

}  // namespace odyssey::egress
