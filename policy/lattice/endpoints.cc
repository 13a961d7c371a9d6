#include "policy/lattice/endpoints.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "common/base/field_codec.h"
#include "policy/egress/pattern.h"
#include "policy/egress/policy_fields.h"

namespace odyssey::lattice {
namespace {

using egress::Binary;
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
Rule RuleOf(const NetworkPolicy& policy, const Binary& program, const Endpoint& endpoint,
            uint16_t port) {
  Rule out{.endpoints = {endpoint}, .binaries = {program}};
  out.endpoints[0].ports = {port};
  out.endpoints[0].deny = DeniedAt(policy, endpoint, port);
  out.endpoints[0].key.clear();
  return out;
}

// For the same path, and less strict.
std::vector<Binary> WiderThan(const Binary& program) {
  std::vector<Binary> out;
  if (!program.sha256.empty()) out.push_back({.path = program.path, .only_itself = true});
  if (program.only_itself) out.push_back({.path = program.path});
  return out;
}

Piece PieceOf(const Rule& rule) {
  Piece out{.words = Describe(rule, rule.endpoints[0]), .program = rule.binaries[0]};
  Rule wider = rule;
  for (const Binary& program : WiderThan(rule.binaries[0])) {
    wider.binaries = {program};
    out.wider.push_back(EncodeFields(wider));
  }
  return out;
}

bool GivesWider(const Pieces& pieces, const Piece& piece) {
  return std::any_of(piece.wider.begin(), piece.wider.end(),
                     [&](const std::string& key) { return pieces.count(key) != 0; });
}

// The program, or what of it the pieces are for.
std::vector<Binary> PartsOf(const Binary& program, const Pieces& pieces) {
  std::vector<Binary> out;
  for (const auto& [key, piece] : pieces) {
    const Binary& part = piece.program;
    if (part.path != program.path || !IsAsStrict(part, program)) continue;
    if (std::find(out.begin(), out.end(), part) == out.end()) out.push_back(part);
  }
  return out;
}

}  // namespace

Pieces PiecesOf(const NetworkPolicy& policy) {
  Pieces all;
  for (const Rule& rule : policy.rules) {
    for (const Endpoint& endpoint : rule.endpoints) {
      for (const uint16_t port : endpoint.ports) {
        for (const Binary& program : rule.binaries) {
          const Rule one = RuleOf(policy, program, endpoint, port);
          all[EncodeFields(one)] = PieceOf(one);
        }
      }
    }
  }
  Pieces out;
  std::copy_if(all.begin(), all.end(), std::inserter(out, out.end()),
               [&](const auto& piece) { return !GivesWider(all, piece.second); });
  return out;
}

bool Give(const Pieces& pieces, const Pieces::value_type& piece) {
  return pieces.count(piece.first) != 0 || GivesWider(pieces, piece.second);
}

Pieces Meet(const Pieces& a, const Pieces& b) {
  Pieces out;
  const auto add = [&](const Pieces& of, const Pieces& in) {
    std::copy_if(of.begin(), of.end(), std::inserter(out, out.end()),
                 [&](const auto& piece) { return Give(in, piece); });
  };
  add(a, b);
  add(b, a);
  return out;
}

NetworkPolicy Only(const NetworkPolicy& policy, const Pieces& pieces) {
  NetworkPolicy out{.middlewares = policy.middlewares};
  for (const Rule& rule : policy.rules) {
    for (const Binary& program : rule.binaries) {
      for (const Binary& part : PartsOf(program, pieces)) {
        Rule kept{.key = rule.key, .name = rule.name, .binaries = {part}};
        for (const Endpoint& whole : rule.endpoints) {
          Endpoint endpoint = whole;
          std::erase_if(endpoint.ports, [&](uint16_t port) {
            return pieces.count(EncodeFields(RuleOf(policy, part, whole, port))) == 0;
          });
          if (!endpoint.ports.empty()) kept.endpoints.push_back(std::move(endpoint));
        }
        if (!kept.endpoints.empty()) out.rules.push_back(std::move(kept));
      }
    }
  }
  return out;
}

}  // namespace odyssey::lattice
