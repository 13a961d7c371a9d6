#include "policy/egress/decide.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/base/join.h"
#include "policy/egress/glob.h"
#include "policy/egress/grant.h"
#include "policy/egress/pattern.h"
#include "policy/egress/reach.h"

namespace odyssey::egress {
namespace {

constexpr size_t kShownPins = 4;

Decision Refuse(const Connection& connection, Refusal refusal, const std::string& why,
                std::string rule_missing = "") {
  const std::string program =
      connection.program.known ? Shown(connection.program.path) : "a program that is not known";
  return {.refusal = refusal,
          .reason = program + " may not connect to " + BeforePort(Shown(connection.host)) + ":" +
                    std::to_string(connection.port) + ": " + why,
          .rule_missing = std::move(rule_missing)};
}

// ── by host, port and program ──

// An endpoint without a host has allowed_ips, which decide later.
bool NamesHost(const Endpoint& endpoint, const std::string& host) {
  if (endpoint.host.empty()) return !endpoint.allowed_ips.empty();
  return HostMatches(endpoint.host, host);
}

bool IsFor(const Binary& binary, const std::string& path, const std::string& sha256) {
  return (binary.sha256.empty() || binary.sha256 == sha256) && PathMatches(binary.path, path);
}

// The hash of an ancestor's file is never known, so that it meets no pin.
bool IsForProgram(const Rule& rule, const Program& program) {
  const auto& binaries = rule.binaries;
  return std::any_of(binaries.begin(), binaries.end(), [&](const Binary& binary) {
    if (!program.known || binary.path.empty() || binary.path[0] != '/') {
      return binary.path == kEveryProgram && binary.sha256.empty();
    }
    if (IsFor(binary, program.path, program.sha256)) return true;
    return !binary.only_itself &&
           std::any_of(program.ancestors.begin(), program.ancestors.end(),
                       [&](const std::string& ancestor) { return IsFor(binary, ancestor, ""); });
  });
}

std::vector<Pair> PairsOf(const NetworkPolicy& policy, const Connection& connection) {
  std::vector<Pair> pairs;
  for (const Rule& rule : policy.rules) {
    std::optional<bool> for_program;
    for (const Endpoint& endpoint : rule.endpoints) {
      if (!HasPort(endpoint, connection.port) || !NamesHost(endpoint, connection.host)) continue;
      if (!for_program) for_program = IsForProgram(rule, connection.program);
      if (!*for_program) break;
      pairs.push_back({&rule, &endpoint});
    }
  }
  return pairs;
}

// A pattern of hosts without allowed_ips.
bool OpensNothingPrivate(const Pair& pair) {
  return pair.endpoint->allowed_ips.empty() && IsHostPattern(pair.endpoint->host);
}

// No pattern, so that it is not taken for the pattern of an endpoint.
bool IsNamed(const std::vector<Pair>& pairs, const std::string& host) {
  return !host.empty() && !IsHostPattern(host) &&
         std::any_of(pairs.begin(), pairs.end(),
                     [&](const Pair& pair) { return pair.endpoint->host == host; });
}

// A host that an endpoint names was judged when the policy was read; others are judged here.
Decision JudgeHost(const Connection& connection) {
  const Result<std::string> host = NormalizeHost(connection.host);
  if (host.ok() && *host == connection.host && !IsHostPattern(*host)) return {.allowed = true};
  if (host.status().code() == Code::kPermissionDenied) {
    return Refuse(connection, Refusal::kSsrfDenied, Shown(host.status().message()));
  }
  return Refuse(connection, Refusal::kMalformed,
                "the host is not a name or an address in its one spelling");
}

// Allowed, unless nothing could inspect what must be.
Decision Allow(const Connection& connection, std::vector<Pair> pairs) {
  Decision out{.allowed = true, .pairs = std::move(pairs)};
  for (const Pair& pair : out.pairs) {
    const Endpoint& endpoint = *pair.endpoint;
    if (endpoint.protocol == Protocol::kSql) {
      return Refuse(connection, Refusal::kUnsupportedProtocol,
                    endpoint.key + " has protocol sql, which nothing inspects");
    }
    if (IsCredentialed(endpoint) && !IsOpenToRequests(endpoint) &&
        !endpoint.credentials.allow_uninspected) {
      return Refuse(connection, Refusal::kUninspectedCredentials,
                    endpoint.key + " has a credential, and its requests are not inspected");
    }
    out.inspected = out.inspected || IsInspected(endpoint.protocol);
  }
  return out;
}

// ── why no pair is left ──

enum class Near { kNone, kOtherPort, kPrivate, kOtherProgram };

struct Nearest {
  Near near = Near::kNone;
  std::vector<Pair> pairs;  // all that are as near
};

Near NearnessOf(const Endpoint& endpoint, const Connection& connection, bool is_private) {
  if (!NamesHost(endpoint, connection.host)) return Near::kNone;
  // Without a host, another port says nothing of this host.
  if (!HasPort(endpoint, connection.port)) {
    return endpoint.host.empty() ? Near::kNone : Near::kOtherPort;
  }
  const bool closed = endpoint.allowed_ips.empty() && IsHostPattern(endpoint.host) && is_private;
  return closed ? Near::kPrivate : Near::kOtherProgram;
}

Nearest FindNearest(const NetworkPolicy& policy, const Connection& connection, bool is_private) {
  Nearest out;
  for (const Rule& rule : policy.rules) {
    for (const Endpoint& endpoint : rule.endpoints) {
      const Near near = NearnessOf(endpoint, connection, is_private);
      if (near == Near::kNone || near < out.near) continue;
      if (near > out.near) out.pairs.clear();
      out.near = near;
      out.pairs.push_back({&rule, &endpoint});
    }
  }
  return out;
}

std::string ListOf(const std::vector<std::string>& texts, const std::string& none) {
  return texts.empty() ? none : Join(texts, " ");
}

std::string OtherPorts(const Nearest& nearest) {
  std::string out;
  for (const Pair& pair : nearest.pairs) {
    std::vector<std::string> ports;
    for (const uint16_t port : pair.endpoint->ports) ports.push_back(std::to_string(port));
    out += (out.empty() ? "" : "; ") + pair.endpoint->key +
           " names the host with other ports: " + ListOf(ports, "none");
  }
  return out;
}

// "" if no pin is why.
std::string OtherContent(const Nearest& nearest, const Program& program) {
  std::vector<std::string> pins;
  for (const Pair& pair : nearest.pairs) {
    for (const Binary& binary : pair.rule->binaries) {
      const bool pinned = !binary.sha256.empty() && PathMatches(binary.path, program.path);
      const bool listed = std::find(pins.begin(), pins.end(), binary.sha256) != pins.end();
      if (pinned && !listed && pins.size() < kShownPins) pins.push_back(binary.sha256);
    }
  }
  if (pins.empty()) return "";
  const std::string file = "; the file of " + Shown(program.path);
  const std::string pinned = ", the rule pins " + Join(pins, " or ");
  if (!program.sha256.empty()) return file + " has sha256 " + program.sha256 + pinned;
  return file + " was not hashed while it was executed" + pinned;
}

std::string OtherPrograms(const Nearest& nearest, const Program& program) {
  std::string out;
  for (const Pair& pair : nearest.pairs) {
    std::vector<std::string> programs;
    for (const Binary& binary : pair.rule->binaries) {
      const char* note = binary.only_itself ? " itself" : "";
      programs.push_back(binary.path + (binary.sha256.empty() ? note : " (pinned)"));
    }
    out += (out.empty() ? "" : "; ") + pair.endpoint->key + " is for " +
           ListOf(programs, "no program");
  }
  if (!program.known) return out + "; only a rule for any program (`/**`) matches an unknown one";
  const std::string content = OtherContent(nearest, program);
  if (!content.empty()) return out + content;
  return out + "; the program is " + Shown(program.path) +
         ", as the kernel names it: symbolic links are resolved, and argv does not count";
}

// None for a program whose hash the policy asks for and that has none: it would drop the pin.
std::string GrantFor(const NetworkPolicy& policy, const Connection& connection,
                     const Endpoint* like) {
  const Program& program = connection.program;
  if (program.sha256.empty() && program.known && IsPinned(policy, program.path)) return "";
  return SmallestGrant(connection, like, nullptr);
}

Decision Explain(const NetworkPolicy& policy, const Connection& connection) {
  const std::string why_private = KnownPrivate(connection.host);
  const Nearest nearest = FindNearest(policy, connection, !why_private.empty());
  const Endpoint* like = nearest.pairs.empty() ? nullptr : nearest.pairs[0].endpoint;
  switch (nearest.near) {
    case Near::kNone:
      return Refuse(connection, Refusal::kPolicyDenied,
                    policy.rules.empty() ? "the policy has no rules for the network"
                                         : "no rule names the host",
                    GrantFor(policy, connection, nullptr));
    case Near::kOtherPort:
      return Refuse(connection, Refusal::kPolicyDenied, OtherPorts(nearest),
                    GrantFor(policy, connection, nullptr));
    case Near::kPrivate:
      return Refuse(connection, Refusal::kSsrfDenied,
                    like->key + " names the host by a pattern, which opens no private network: " +
                        why_private,
                    GrantFor(policy, connection, like));
    case Near::kOtherProgram:
      break;
  }
  return Refuse(connection, Refusal::kPolicyDenied, OtherPrograms(nearest, connection.program),
                GrantFor(policy, connection, like));
}

// ── by address ──

// Why the pair does not open all of them, "" if it does.
std::string WhyClosed(const Endpoint& endpoint, const std::vector<AddressRange>& addresses) {
  size_t private_ones = 0;
  std::string which;
  for (const AddressRange& address : addresses) {
    const auto& allowed = endpoint.allowed_ips;
    const bool in_range =
        std::any_of(allowed.begin(), allowed.end(),
                    [&](const AddressRange& range) { return Contains(range, address); });
    if (!allowed.empty() && !in_range) {
      return "allowed_ips check failed: " + ToString(address) +
             " is in none of the allowed_ips of " + endpoint.key;
    }
    const std::string why = in_range ? "" : PrivateUse(address);
    if (why.empty()) continue;
    ++private_ones;
    which = ToString(address) + " is in " + why;
    if (IsHostPattern(endpoint.host)) {
      return which + ", which a pattern of hosts does not open without allowed_ips";
    }
  }
  const bool mixed = private_ones > 0 && private_ones < addresses.size();
  return mixed ? which + ", and other addresses of the name are not" : "";
}

}  // namespace

bool IsPinned(const NetworkPolicy& policy, const std::string& path) {
  return std::any_of(policy.rules.begin(), policy.rules.end(), [&](const Rule& rule) {
    return std::any_of(rule.binaries.begin(), rule.binaries.end(), [&](const Binary& binary) {
      return !binary.sha256.empty() && PathMatches(binary.path, path);
    });
  });
}

Decision DecideConnection(const NetworkPolicy& policy, const Connection& connection) {
  if (IsControlPlanePort(connection.port)) {
    return Refuse(connection, Refusal::kSsrfDenied,
                  "the port belongs to cluster control planes, which no policy opens");
  }
  std::vector<Pair> pairs = PairsOf(policy, connection);
  if (!IsNamed(pairs, connection.host)) {
    Decision judged = JudgeHost(connection);
    if (!judged.allowed) return judged;
  }
  if (std::any_of(pairs.begin(), pairs.end(), OpensNothingPrivate) &&
      !KnownPrivate(connection.host).empty()) {
    pairs.erase(std::remove_if(pairs.begin(), pairs.end(), OpensNothingPrivate), pairs.end());
  }
  if (pairs.empty()) return Explain(policy, connection);
  return Allow(connection, std::move(pairs));
}

Decision DecideAddresses(const Connection& connection, const std::vector<Pair>& pairs,
                         const std::vector<AddressRange>& addresses,
                         const std::vector<AddressRange>& own) {
  if (addresses.empty()) {
    return Refuse(connection, Refusal::kUnreachable, "the name has no address");
  }
  if (IsControlPlanePort(connection.port)) {
    return Refuse(connection, Refusal::kSsrfDenied,
                  "the port belongs to cluster control planes, which no policy opens");
  }
  for (const AddressRange& address : addresses) {
    std::string never = Never(address);
    const bool ours = std::any_of(own.begin(), own.end(), [&](const AddressRange& range) {
      return Contains(range, address);
    });
    if (ours) never = "this machine";
    if (never.empty()) continue;
    return Refuse(connection, Refusal::kSsrfDenied,
                  ToString(address) + " is an address that no policy opens: " + never);
  }
  std::vector<Pair> open;
  std::string closed;
  for (const Pair& pair : pairs) {
    std::string why = WhyClosed(*pair.endpoint, addresses);
    if (why.empty()) open.push_back(pair);
    if (closed.empty()) closed = std::move(why);
  }
  if (!open.empty()) return Allow(connection, std::move(open));
  return Refuse(connection, Refusal::kSsrfDenied, closed.empty() ? "no rule is for it" : closed);
}

}  // namespace odyssey::egress
