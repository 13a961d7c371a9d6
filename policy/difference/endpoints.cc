#include "policy/difference/endpoints.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "common/base/join.h"
#include "policy/difference/globs.h"
#include "policy/difference/requests.h"
#include "policy/egress/pattern.h"

namespace odyssey::difference {
namespace {

using egress::AddressRange;
using egress::Binary;
using egress::Budget;
using egress::Endpoint;
using egress::Matcher;
using egress::Middleware;
using egress::NetworkPolicy;
using egress::Protocol;
using egress::Rpc;
using egress::Rule;

// An endpoint with the programs that it is for.
struct Place {
  const Rule* rule = nullptr;
  const Endpoint* endpoint = nullptr;
};

// In what one endpoint goes beyond another.
struct Beyond {
  std::vector<std::string> more;     // what is let through there and not here
  std::vector<std::string> unknown;  // what is not the same, and has no order
  bool none() const { return more.empty() && unknown.empty(); }
};

std::vector<Place> PlacesOf(const NetworkPolicy& policy) {
  std::vector<Place> places;
  for (const Rule& rule : policy.rules) {
    // Without programs nothing matches.
    for (const Endpoint& endpoint : rule.endpoints) {
      if (!rule.binaries.empty()) places.push_back({&rule, &endpoint});
    }
  }
  return places;
}

template <typename T, typename Predicate>
bool Any(const std::vector<T>& items, Predicate holds) {
  return std::any_of(items.begin(), items.end(), holds);
}

bool HasProgram(const Rule& rule, const Binary& program) {
  return Any(rule.binaries, [&](const Binary& other) {
    return PathCovers(other.path, program.path) && IsAsStrict(program, other);
  });
}

void ComparePrograms(const Place& own, const Place& other, Beyond* out) {
  for (const Binary& program : own.rule->binaries) {
    if (!HasProgram(*other.rule, program)) out->more.push_back("for " + Describe(program));
  }
}

void ComparePlaces(const Endpoint& own, const Endpoint& other, Beyond* out) {
  if (!HostCovers(other.host, own.host)) {
    const bool address = other.host.empty() && egress::IsAddress(own.host);
    (address ? out->unknown : out->more)
        .push_back("host " + (own.host.empty() ? "any" : own.host) + ", where the other has " +
                   (other.host.empty() ? "any of its allowed_ips" : other.host));
  }
  for (const uint16_t port : own.ports) {
    if (!HasPort(other, port)) out->more.push_back("port " + std::to_string(port));
  }
  if (!PathCovers(other.path, own.path)) {
    out->more.push_back("path " + (own.path.empty() ? "**" : own.path) + ", where the other has " +
                        other.path);
  }
}

// Without allowed_ips an endpoint opens public addresses; with them, those and no others.
void CompareAddresses(const Endpoint& own, const Endpoint& other, Beyond* out) {
  if (own.allowed_ips.empty() != other.allowed_ips.empty()) {
    out->unknown.push_back("allowed_ips, which only one of them has");
    return;
  }
  for (const AddressRange& range : own.allowed_ips) {
    if (Any(other.allowed_ips, [&](const AddressRange& o) { return Contains(o, range); })) continue;
    out->more.push_back("allowed_ips " + ToString(range));
  }
}

bool IsBytes(const Endpoint& endpoint) {
  return endpoint.protocol == Protocol::kL4 || endpoint.protocol == Protocol::kTcp;
}

// `own` lets through more of something than `other`.
bool IsWider(const Budget& own, const Budget& other) {
  return std::any_of(std::begin(egress::kBudgetKeys), std::end(egress::kBudgetKeys),
                     [&](const egress::BudgetKey& key) {
                       return egress::IsMore(own.*key.member, other.*key.member);
                     });
}

// What connections may carry.
void CompareProtocols(const Endpoint& own, const Endpoint& other, Beyond* out) {
  if (own.protocol != other.protocol) {
    if (IsBytes(own) && !IsBytes(other)) {
      out->more.push_back("any bytes, where the other looks into requests");
    } else if (!IsBytes(other) || IsBytes(own)) {
      out->unknown.push_back("protocol");
    }
  }
  if (own.tls != other.tls) out->unknown.push_back("tls");
  if (own.credentials != other.credentials) out->unknown.push_back("treatment of credentials");
  const Rpc &a = own.rpc, &b = other.rpc;
  const auto& g = own.graphql;
  const auto& h = other.graphql;
  const std::pair<const char*, bool> wider[] = {
      {"allow_encoded_slash", own.allow_encoded_slash && !other.allow_encoded_slash},
      {"strict_tool_names false", !a.strict_tool_names && b.strict_tool_names},
      {"a longer body", a.max_body_bytes > b.max_body_bytes || g.max_body_bytes > h.max_body_bytes},
      {"a larger budget", IsWider(own.budget, other.budget)},
      {"persisted_queries allow_registered", g.allow_registered && !h.allow_registered}};
  for (const auto& [what, more] : wider) {
    if (more) out->more.push_back(what);
  }
  if (g.allow_registered && h.allow_registered && g.registered != h.registered) {
    out->unknown.push_back("graphql_persisted_queries");
  }
}

std::string Describe(const Matcher& matcher) {
  if (matcher == Matcher()) return "every request";
  std::string out;
  for (const std::string& word : {matcher.method, matcher.path, matcher.operation_type,
                                  matcher.operation_name, matcher.tool, matcher.command}) {
    if (!word.empty()) out += (out.empty() ? "" : " ") + word;
  }
  return out.empty() ? "some requests" : out;
}

void CompareRequests(const Endpoint& own, const Endpoint& other, Beyond* out) {
  const Requests mine = RequestsOf(own), theirs = RequestsOf(other);
  for (const Matcher& matcher : mine.allow) {
    if (Any(theirs.allow, [&](const Matcher& o) { return Covers(o, matcher); })) continue;
    out->more.push_back(Describe(matcher));
  }
  for (const Matcher& matcher : theirs.deny) {
    if (Any(mine.deny, [&](const Matcher& o) { return Covers(o, matcher); })) continue;
    out->more.push_back("no denial of " + Describe(matcher));
  }
}

Beyond Compare(const Place& own, const Place& other) {
  Beyond out;
  ComparePrograms(own, other, &out);
  ComparePlaces(*own.endpoint, *other.endpoint, &out);
  CompareAddresses(*own.endpoint, *other.endpoint, &out);
  CompareProtocols(*own.endpoint, *other.endpoint, &out);
  CompareRequests(*own.endpoint, *other.endpoint, &out);
  return out;
}

// One program on one port with one kind of request.
struct Piece {
  Rule rule;
  Endpoint endpoint;
};

std::vector<Piece> PiecesOf(const Place& place) {
  std::vector<Piece> pieces;
  const Requests requests = RequestsOf(*place.endpoint);
  for (const Binary& program : place.rule->binaries) {
    for (const uint16_t port : place.endpoint->ports) {
      for (const Matcher& matcher : requests.allow) {
        Piece piece{*place.rule, *place.endpoint};
        piece.rule.endpoints.clear();
        piece.rule.binaries = {program};
        piece.endpoint.ports = {port};
        piece.endpoint.allow = {matcher};
        piece.endpoint.access = egress::AccessLevel::kByRules;
        pieces.push_back(std::move(piece));
      }
    }
  }
  return pieces;
}

// Some program may reach something by both.
bool Meet(const Place& a, const Place& b) {
  const bool port = Any(a.endpoint->ports, [&](uint16_t p) { return HasPort(*b.endpoint, p); });
  const bool program = Any(a.rule->binaries, [&](const Binary& one) {
    return Any(b.rule->binaries, [&](const Binary& other) {
      const bool content = one.sha256.empty() || other.sha256.empty() || one.sha256 == other.sha256;
      return content && egress::PathsOverlap(one.path, other.path);
    });
  });
  const std::string &host = a.endpoint->host, &other = b.endpoint->host;
  return port && program && (host.empty() || other.empty() || egress::HostsOverlap(host, other));
}

// What one policy lets through of `own`, held against the endpoints of the other one.
void Judge(const Place& own, const std::vector<Place>& others, std::vector<std::string>* more,
           std::vector<std::string>* undecided) {
  if (Any(others, [&](const Place& other) { return Compare(own, other).none(); })) return;
  const std::vector<Piece> pieces = PiecesOf(own);
  const bool covered = std::all_of(pieces.begin(), pieces.end(), [&](const Piece& piece) {
    const Place place{&piece.rule, &piece.endpoint};
    return Any(others, [&](const Place& other) { return Compare(place, other).none(); });
  });
  if (covered) return;
  const std::string line = own.endpoint->key + " on line " + std::to_string(own.endpoint->line) +
                           ": " + Describe(*own.rule, *own.endpoint);
  std::vector<Place> near;
  std::copy_if(others.begin(), others.end(), std::back_inserter(near),
               [&](const Place& other) { return Meet(own, other); });
  const bool alone = Any(pieces, [&](const Piece& piece) {
    return !Any(near, [&](const Place& other) {
      return Meet({&piece.rule, &piece.endpoint}, other);
    });
  });
  if (near.size() != 1 && alone) return more->push_back(line);
  if (near.size() > 1) {
    undecided->push_back(line + ": " + std::to_string(near.size()) +
                         " endpoints of the other are about the same");
    return;
  }
  const Beyond beyond = Compare(own, near[0]);
  const std::string than = " than " + near[0].endpoint->key + " of the other: ";
  if (!beyond.more.empty()) {
    more->push_back(line + ": more" + than + Join(beyond.more, "; "));
  } else {
    undecided->push_back(line + ": otherwise" + than + Join(beyond.unknown, "; "));
  }
}

void CompareMiddlewares(const NetworkPolicy& first, const NetworkPolicy& second, Difference* out) {
  const auto missing = [&](const NetworkPolicy& of, const NetworkPolicy& in, const char* who) {
    for (const Middleware& one : of.middlewares) {
      if (Any(in.middlewares, [&](const Middleware& other) { return other == one; })) continue;
      out->undecided.push_back("network_middlewares." + one.key + ": only the " + who +
                               " has it so");
    }
  };
  missing(first, second, "first");
  missing(second, first, "second");
}

}  // namespace

Difference CompareEndpoints(const NetworkPolicy& first, const NetworkPolicy& second) {
  const std::vector<Place> a = PlacesOf(first), b = PlacesOf(second);
  Difference out;
  for (const Place& place : a) Judge(place, b, &out.only_first, &out.undecided);
  for (const Place& place : b) Judge(place, a, &out.only_second, &out.undecided);
  CompareMiddlewares(first, second, &out);
  const std::string budget = "a larger budget of the whole cell";
  if (IsWider(first.budget, second.budget)) out.only_first.push_back(budget);
  if (IsWider(second.budget, first.budget)) out.only_second.push_back(budget);
  return out;
}

}  // namespace odyssey::difference
