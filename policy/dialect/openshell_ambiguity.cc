#include "policy/dialect/openshell_ambiguity.h"

#include <algorithm>
#include <optional>

#include "policy/dialect/openshell_endpoint.h"
#include "policy/egress/pattern.h"

namespace odyssey::dialect::openshell {
namespace {

bool Meet(const egress::AddressRange& a, const egress::AddressRange& b) {
  return egress::Contains(a, b) || egress::Contains(b, a);
}

// Some address of the range is one that the endpoint opens. A name that is no pattern opens
// whatever it leads to.
bool OpensSomeOf(egress::AddressRange range, const egress::Endpoint& endpoint) {
  if (const std::optional<egress::AddressRange> address = egress::ParseAddress(endpoint.host)) {
    if (!egress::Contains(range, *address)) return false;
    range = *address;
  }
  const auto& allowed = endpoint.allowed_ips;
  if (allowed.empty())
    return !egress::IsHostPattern(endpoint.host) || egress::PrivateUse(range).empty();
  return std::any_of(allowed.begin(), allowed.end(),
                     [&](const egress::AddressRange& other) { return Meet(range, other); });
}

// Some host at some address is a destination of both. An endpoint without a host is for every one
// that leads into its allowed_ips.
bool DestinationsOverlap(const egress::Endpoint& a, const egress::Endpoint& b) {
  if (!a.host.empty() && !b.host.empty()) return egress::HostsOverlap(a.host, b.host);
  const egress::Endpoint& any_host = a.host.empty() ? a : b;
  const egress::Endpoint& other = a.host.empty() ? b : a;
  return std::any_of(any_host.allowed_ips.begin(), any_host.allowed_ips.end(),
                     [&](const egress::AddressRange& range) { return OpensSomeOf(range, other); });
}

bool PortsOverlap(const egress::Endpoint& a, const egress::Endpoint& b) {
  return std::any_of(a.ports.begin(), a.ports.end(), [&](uint16_t port) {
    return std::find(b.ports.begin(), b.ports.end(), port) != b.ports.end();
  });
}

// What is decided before the first request is seen, so that no path can tell the two apart.
std::string ConnectionDifference(const egress::Endpoint& a, const egress::Endpoint& b) {
  if (egress::IsInspected(a.protocol) != egress::IsInspected(b.protocol)) return "protocol";
  if (!egress::IsInspected(a.protocol) && a.protocol != b.protocol) return "protocol";
  if (a.tls != b.tls) return "tls";
  const auto same = std::is_permutation(a.allowed_ips.begin(), a.allowed_ips.end(),
                                        b.allowed_ips.begin(), b.allowed_ips.end());
  return same ? "" : "allowed_ips";
}

std::string RequestDifference(const egress::Endpoint& a, const egress::Endpoint& b) {
  if (a.protocol != b.protocol) return "protocol";
  if (a.enforcement != b.enforcement) return "enforcement";
  if (a.allow_encoded_slash != b.allow_encoded_slash) return "allow_encoded_slash";
  if (a.credentials != b.credentials) return "treatment of credentials";
  if (a.graphql != b.graphql) return "graphql settings";
  return a.rpc == b.rpc ? "" : "mcp or json_rpc settings";
}

bool IsWhole(const std::string& path) { return path.empty() || path == "**" || path == "/**"; }

// The more particular path wins: one that is no pattern over one that is, any over all paths.
bool PathDecides(const egress::Endpoint& a, const egress::Endpoint& b) {
  if (!egress::PathsOverlap(a.path, b.path)) return true;
  if (IsWhole(a.path) != IsWhole(b.path)) return true;
  const auto pattern = [](const egress::Endpoint& e) {
    return IsWhole(e.path) || e.path.find('*') != std::string::npos;
  };
  return pattern(a) != pattern(b);
}

std::string Difference(const egress::Endpoint& a, const egress::Endpoint& b) {
  if (!PortsOverlap(a, b) || !DestinationsOverlap(a, b)) return "";
  std::string difference = ConnectionDifference(a, b);
  if (difference.empty() && !PathDecides(a, b)) difference = RequestDifference(a, b);
  return difference;
}

}  // namespace

void CheckAmbiguity(const egress::NetworkPolicy& policy, const Source& source) {
  std::vector<const egress::Endpoint*> endpoints;
  for (const egress::Rule& rule : policy.rules) {
    for (const egress::Endpoint& endpoint : rule.endpoints) endpoints.push_back(&endpoint);
  }
  for (size_t i = 0; i < endpoints.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const std::string difference = Difference(*endpoints[i], *endpoints[j]);
      if (difference.empty()) continue;
      source.Invalid(endpoints[i]->line, endpoints[i]->key,
                     "network endpoint ambiguity validation failed: overlaps " + endpoints[j]->key +
                         " on line " + std::to_string(endpoints[j]->line) + ", with another " +
                         difference);
    }
  }
}

}  // namespace odyssey::dialect::openshell
