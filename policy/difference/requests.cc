#include "policy/difference/requests.h"

#include <algorithm>
#include <string>

#include "policy/difference/globs.h"

namespace odyssey::difference {
namespace {

using egress::AccessLevel;
using egress::Endpoint;
using egress::Enforcement;
using egress::Matcher;
using egress::Protocol;
using egress::QueryMatch;
using Names = std::vector<std::string>;

// Of `access`, as an OpenShell proxy reads it.
std::vector<Matcher> MatchersOf(AccessLevel access, Protocol protocol) {
  if (access == AccessLevel::kFull) return {Matcher()};
  const bool write = access == AccessLevel::kReadWrite;
  std::vector<Matcher> out;
  if (protocol == Protocol::kGraphQl) {
    out.push_back({.operation_type = "query"});
    if (write) out.push_back({.operation_type = "mutation"});
    return out;
  }
  for (const char* method : {"GET", "HEAD", "OPTIONS"}) out.push_back({.method = method});
  for (const char* method : {"POST", "PUT", "PATCH"}) {
    if (write) out.push_back({.method = method});
  }
  return out;
}

bool IsAny(const std::string& text) { return text.empty() || text == "*"; }

bool IsSubset(const Names& inner, const Names& outer) {
  return std::all_of(inner.begin(), inner.end(), [&](const std::string& name) {
    return std::find(outer.begin(), outer.end(), name) != outer.end();
  });
}

bool MethodCovers(const std::string& outer, const std::string& inner) {
  return IsAny(outer) || outer == inner || (outer == "GET" && inner == "HEAD");
}

// Each key that `outer` asks for, `inner` asks for, with values of the same.
bool QueryCovers(const std::vector<QueryMatch>& outer, const std::vector<QueryMatch>& inner) {
  return std::all_of(outer.begin(), outer.end(), [&](const QueryMatch& wanted) {
    return std::any_of(inner.begin(), inner.end(), [&](const QueryMatch& own) {
      return own.name == wanted.name && IsSubset(own.any, wanted.any);
    });
  });
}

}  // namespace

Requests RequestsOf(const Endpoint& endpoint) {
  const Protocol protocol = endpoint.protocol;
  const bool bytes = protocol == Protocol::kL4 || protocol == Protocol::kTcp;
  if (bytes || endpoint.enforcement == Enforcement::kAudit) return {{Matcher()}, {}};
  if (endpoint.rpc.allow_all_known_methods && endpoint.allow.empty()) {
    return {{Matcher()}, endpoint.deny};
  }
  if (endpoint.access == AccessLevel::kByRules) return {endpoint.allow, endpoint.deny};
  return {MatchersOf(endpoint.access, protocol), endpoint.deny};
}

bool Covers(const Matcher& outer, const Matcher& inner) {
  const auto same = [](const std::string& a, const std::string& b) { return IsAny(a) || a == b; };
  const bool fields =
      outer.fields.empty() || (!inner.fields.empty() && IsSubset(inner.fields, outer.fields));
  return MethodCovers(outer.method, inner.method) && PathCovers(outer.path, inner.path) &&
         QueryCovers(outer.query, inner.query) &&
         same(outer.operation_type, inner.operation_type) &&
         TextCovers(outer.operation_name, inner.operation_name) && fields &&
         TextCovers(outer.tool, inner.tool) && TextCovers(outer.params_name, inner.params_name) &&
         same(outer.command, inner.command);
}

}  // namespace odyssey::difference
