#include "policy/dialect/openshell_rules.h"

#include <optional>
#include <utility>

#include "policy/dialect/openshell_ambiguity.h"
#include "policy/dialect/openshell_budget.h"
#include "policy/dialect/openshell_endpoint.h"
#include "policy/dialect/openshell_middleware.h"
#include "policy/egress/pattern.h"

namespace odyssey::dialect::openshell {
namespace {

constexpr size_t kMaxRules = 256;
constexpr size_t kMaxEndpointsOfRule = 256;
constexpr size_t kMaxEndpoints = 512;
constexpr size_t kMaxBinaries = 256;
constexpr char kReservedPrefix[] = "_provider_";

// A program's file is hashed, and never those of the programs that started it.
void ReadPin(MapReader* map, egress::Binary* binary) {
  const std::optional<Text> sha256 = map->String("sha256");
  const std::optional<bool> ancestors = map->Bool("ancestors");
  binary->only_itself = sha256 || !ancestors.value_or(true);
  if (!sha256) return;
  binary->sha256 = sha256->value;
  if (!egress::IsSha256(sha256->value)) {
    map->source().Invalid(sha256->line, sha256->key,
                          "64 hex digits in lower case are allowed, as sha256sum(1) prints them: "
                          "`" +
                              sha256->value + "`");
  }
  if (ancestors.value_or(false)) {
    map->source().Invalid(map->line(), map->KeyOf("ancestors"),
                          "beside `sha256` only `false` is allowed: a file with that content is "
                          "the program itself, not one that started it");
  }
}

std::vector<egress::Binary> ReadBinaries(MapReader* map) {
  std::vector<egress::Binary> binaries;
  for (MapReader& item : map->Maps("binaries", kMaxBinaries)) {
    const auto path = item.String("path", Need::kRequired);
    egress::Binary binary;
    ReadPin(&item, &binary);
    item.Finish();
    if (!path) continue;
    const Status status = egress::CheckPathPattern("the path of a binary", path->value);
    if (path->value.empty() || path->value[0] != '/') {
      map->source().Invalid(
          path->line, path->key,
          "the path of a binary must begin with `/`; `/**` is any program: `" + path->value + "`");
    } else if (!status.ok()) {
      map->source().Invalid(path->line, path->key, status.message());
    }
    binary.path = path->value;
    binaries.push_back(std::move(binary));
  }
  if (binaries.empty()) {
    map->source().Warn(map->line(), map->KeyOf("binaries"),
                       "names no program: nothing can use these endpoints; `/**` is any program");
  }
  return binaries;
}

egress::Rule ReadRule(const Key& key, MapReader map) {
  egress::Rule rule{.key = key.name, .name = key.name};
  if (key.name.rfind(kReservedPrefix, 0) == 0) {
    map.source().Invalid(key.line, map.key(),
                         "names that begin with `_provider_` are reserved for credential "
                         "providers");
  }
  if (const auto name = map.String("name")) rule.name = name->value;
  for (const MapReader& endpoint : map.Maps("endpoints", kMaxEndpointsOfRule)) {
    rule.endpoints.push_back(ReadEndpoint(endpoint));
  }
  if (rule.endpoints.empty()) {
    map.source().Warn(map.line(), map.KeyOf("endpoints"), "names no endpoint: it allows nothing");
  }
  rule.binaries = ReadBinaries(&map);
  map.Finish();
  return rule;
}

}  // namespace

egress::NetworkPolicy ReadNetwork(MapReader* document) {
  egress::NetworkPolicy policy;
  size_t endpoints = 0;
  for (const auto& [key, map] : document->MapOfMaps("network_policies", kMaxRules)) {
    policy.rules.push_back(ReadRule(key, map));
    endpoints += policy.rules.back().endpoints.size();
  }
  if (endpoints > kMaxEndpoints) {
    document->source().Invalid(document->line(), document->KeyOf("network_policies"),
                               "more than 512 endpoints together");
  } else {
    CheckAmbiguity(policy, document->source());
  }
  policy.budget = ReadBudget(document->Map("network_budget"));
  ReadMiddlewares(document, &policy);
  return policy;
}

}  // namespace odyssey::dialect::openshell
