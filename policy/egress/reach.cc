#include "policy/egress/reach.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "common/base/control.h"
#include "policy/egress/glob.h"
#include "policy/egress/pattern.h"

namespace odyssey::egress {
namespace {

constexpr uint16_t kControlPlanePorts[] = {2379, 2380, 6443, 10250, 10255};
constexpr size_t kShownBytes = 100;
constexpr unsigned kMaxPort = 65535;

struct Parts {
  std::string host;
  std::optional<std::string> port;
};

// A colon separates the port if it is the only one, or comes after brackets.
Parts Split(const std::string& text) {
  const size_t bracket = text.rfind(']');
  const size_t colon = text.rfind(':');
  const bool after_brackets = bracket != std::string::npos && colon == bracket + 1;
  const bool only = colon != std::string::npos && text.find(':') == colon;
  if (!after_brackets && !only) return {.host = text, .port = {}};
  return {.host = text.substr(0, colon), .port = text.substr(colon + 1)};
}

std::optional<uint16_t> ParsePort(const std::string& text) {
  unsigned port = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, port);
  if (error != std::errc() || stop != end || port < 1 || port > kMaxPort) return std::nullopt;
  return static_cast<uint16_t>(port);
}

bool InRanges(const std::string& address, const std::vector<AddressRange>& ranges) {
  const std::optional<AddressRange> single = ParseAddress(address);
  return single && std::any_of(ranges.begin(), ranges.end(),
                               [&](const AddressRange& range) { return Contains(range, *single); });
}

// Without regard to ports; nullopt: the endpoint does not name it.
std::optional<MatchKind> MatchKindOf(const Endpoint& endpoint, const Destination& destination) {
  const std::string& host = destination.host;
  if (!endpoint.host.empty() && !HostMatches(endpoint.host, host)) return std::nullopt;
  if (endpoint.allowed_ips.empty()) {
    const bool pattern = IsHostPattern(endpoint.host);
    return pattern && !destination.is_private.empty() ? MatchKind::kPrivate : MatchKind::kNamed;
  }
  if (!IsAddress(host)) return MatchKind::kIfInRange;
  if (!InRanges(host, endpoint.allowed_ips)) return std::nullopt;
  return MatchKind::kNamed;
}

enum class Patterns { kRefused, kAllowed };

Result<Destination> Parse(const std::string& text, Patterns patterns) {
  const auto refuse = [&](const std::string& why) {
    return InvalidArgument("\"" + text.substr(0, kShownBytes) + "\": " + why +
                           "; allowed: HOST or HOST:PORT, such as api.example.com:443 or "
                           "[2001:db8::1]:443");
  };
  if (text.empty()) return refuse("is empty");
  if (HasControl(text)) return refuse("holds a control character");
  const Parts parts = Split(text);
  Destination out;
  if (parts.port) {
    const std::optional<uint16_t> port = ParsePort(*parts.port);
    if (!port) return refuse("the port is a number from 1 to 65535");
    out.port = *port;
  }
  const bool pattern = IsHostPattern(parts.host);
  if (pattern && patterns == Patterns::kRefused) return refuse("is a pattern, not a host");
  Result<std::string> host =
      parts.host == "*" ? Result<std::string>(kEveryHost) : NormalizeHost(parts.host);
  if (host.ok()) {
    out.host = std::move(host).value();
    out.is_private = KnownPrivate(out.host);
  } else if (host.status().code() == Code::kPermissionDenied) {
    out.host = parts.host;
    out.never = host.status().message();
  } else {
    return refuse(
        pattern
            ? host.status().message()
            : "is no host: labels of 1 to 63 of a-z, 0-9, - and _, 253 together, or an address");
  }
  if (out.never.empty() && IsControlPlanePort(out.port)) {
    out.never = "port " + std::to_string(out.port) + " belongs to cluster control planes";
  }
  return out;
}

}  // namespace

bool IsControlPlanePort(uint16_t port) {
  return std::find(std::begin(kControlPlanePorts), std::end(kControlPlanePorts), port) !=
         std::end(kControlPlanePorts);
}

Result<Destination> ParseDestination(const std::string& text) {
  return Parse(text, Patterns::kRefused);
}

Result<Destination> ParseDestinationPattern(const std::string& text) {
  return Parse(text, Patterns::kAllowed);
}

Result<Destination> ParseReachable(const std::string& text) {
  ODY_ASSIGN_OR_RETURN(Destination to, ParseDestination(text));
  if (to.port == 0) return InvalidArgument("HOST:PORT is allowed");
  if (!to.never.empty()) return PermissionDenied("no policy opens it: " + to.never);
  return to;
}

std::vector<Match> MatchesOf(const NetworkPolicy& policy, const Destination& destination) {
  std::vector<Match> matches;
  for (const Rule& rule : policy.rules) {
    for (const Endpoint& endpoint : rule.endpoints) {
      std::optional<MatchKind> kind = MatchKindOf(endpoint, destination);
      if (!kind) continue;
      const bool port = destination.port == 0 || HasPort(endpoint, destination.port);
      matches.push_back({&rule, &endpoint, port ? *kind : MatchKind::kOtherPort});
    }
  }
  return matches;
}

bool NamesDestination(const NetworkPolicy& policy, const Destination& destination) {
  const std::vector<Match> matches = MatchesOf(policy, destination);
  return std::any_of(matches.begin(), matches.end(),
                     [](const Match& match) { return match.kind != MatchKind::kOtherPort; });
}

}  // namespace odyssey::egress
