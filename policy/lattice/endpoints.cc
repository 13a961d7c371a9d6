#include "policy/lattice/endpoints.h"

#include <utility>
#include <vector>

#include "common/base/field_codec.h"
#include "policy/egress/pattern.h"
#include "policy/egress/policy_fields.h"

namespace odyssey::lattice {
namespace {

using egress::Endpoint;
using egress::NetworkPolicy;
using egress::Rule;

bool Meet(const Endpoint& a, const Endpoint& b, uint16_t port) {
  const bool host = a.host.empty() || b.host.empty() || IsPublic(a) || IsPublic(b) ||
                    egress::HostsOverlap(a.host, b.host);
  return host && HasPort(b, port);
}

// What other endpoints deny counts too: without them the piece would give more.
std::vector<egress::Matcher> DeniedAt(const NetworkPolicy& policy, const Endpoint& endpoint,
                                      uint16_t port) {
  std::vector<egress::Matcher> out;
  for (const Rule& rule : policy.rules) {
    for (const Endpoint& other : rule.endpoints) {
      if (Meet(endpoint, other, port)) out.insert(out.end(), other.deny.begin(), other.deny.end());
    }
  }
  return out;
}

// The rule with that one program, port and endpoint.
Rule PieceOf(const NetworkPolicy& policy, const std::string& program, const Endpoint& endpoint,
             uint16_t port) {
  Rule out{.endpoints = {endpoint}, .binaries = {program}};
  out.endpoints[0].ports = {port};
  out.endpoints[0].deny = DeniedAt(policy, endpoint, port);
  out.endpoints[0].key.clear();
  return out;
}

}  // namespace

Pieces PiecesOf(const NetworkPolicy& policy) {
  Pieces out;
  for (const Rule& rule : policy.rules) {
    for (const Endpoint& endpoint : rule.endpoints) {
      for (const uint16_t port : endpoint.ports) {
        for (const std::string& program : rule.binaries) {
          const Rule piece = PieceOf(policy, program, endpoint, port);
          out[EncodeFields(piece)] = Describe(piece, piece.endpoints[0]);
        }
      }
    }
  }
  return out;
}

NetworkPolicy Only(const NetworkPolicy& policy, const Pieces& pieces) {
  NetworkPolicy out{.middlewares = policy.middlewares};
  for (const Rule& rule : policy.rules) {
    for (const std::string& program : rule.binaries) {
      Rule kept{.key = rule.key, .name = rule.name, .binaries = {program}};
      for (const Endpoint& endpoint : rule.endpoints) {
        Endpoint part = endpoint;
        std::erase_if(part.ports, [&](uint16_t port) {
          return pieces.count(EncodeFields(PieceOf(policy, program, endpoint, port))) == 0;
        });
        if (!part.ports.empty()) kept.endpoints.push_back(std::move(part));
      }
      if (!kept.endpoints.empty()) out.rules.push_back(std::move(kept));
    }
  }
  return out;
}

}  // namespace odyssey::lattice
