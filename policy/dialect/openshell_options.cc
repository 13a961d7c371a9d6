#include "policy/dialect/openshell_options.h"

#include <algorithm>

#include "policy/dialect/openshell_empty.h"
#include "policy/egress/names.h"
#include "policy/egress/pattern.h"

namespace odyssey::dialect::openshell {
namespace {

constexpr size_t kMaxPersistedQueries = 1024;
constexpr size_t kMaxHashBytes = 256;
constexpr uint64_t kMaxBodyBytes = uint64_t{16} << 20;

struct Owned {
  std::string_view key;
  std::vector<egress::Protocol> by;
};

const std::vector<Owned>& OwnedKeys() {
  using P = egress::Protocol;
  static const std::vector<Owned> keys = {
      {"path", {P::kRest, P::kWebSocket, P::kGraphQl, P::kMcp, P::kJsonRpc}},
      {"allow_encoded_slash", {P::kRest, P::kWebSocket, P::kGraphQl, P::kMcp, P::kJsonRpc}},
      {"persisted_queries", {P::kGraphQl, P::kWebSocket}},
      {"graphql_persisted_queries", {P::kGraphQl, P::kWebSocket}},
      {"graphql_max_body_bytes", {P::kGraphQl, P::kWebSocket}},
      {"mcp", {P::kMcp}},
      {"json_rpc", {P::kJsonRpc}},
  };
  return keys;
}

void CheckOwners(const MapReader& map, egress::Protocol protocol) {
  for (const Owned& owned : OwnedKeys()) {
    const Node* node = Find(*map.node(), owned.key);
    const bool fits = std::find(owned.by.begin(), owned.by.end(), protocol) != owned.by.end();
    if (node == nullptr || fits) continue;
    std::string names;
    for (const egress::Protocol owner : owned.by) {
      names += (names.empty() ? "" : ", ") + egress::NameOf(owner, egress::ProtocolNames());
    }
    map.source().Invalid(node->line, map.KeyOf(owned.key), "goes with protocol " + names);
  }
}

egress::PersistedQuery ReadPersistedQuery(const Key& key, MapReader map) {
  egress::PersistedQuery query{.hash = key.name};
  if (key.name.empty() || key.name.size() > kMaxHashBytes) {
    map.source().Invalid(key.line, map.key(), "a hash has 1 to 256 bytes");
  }
  query.operation_type = map.Enum<std::string>(
      "operation_type",
      {{"query", "query"}, {"mutation", "mutation"}, {"subscription", "subscription"}}, "",
      Need::kRequired);
  if (const auto name = map.String("operation_name")) query.operation_name = name->value;
  RefuseEmpty(map, "fields");
  for (Text& field : map.Strings("fields")) query.fields.push_back(std::move(field.value));
  map.Finish();
  return query;
}

void ReadGraphQl(MapReader* map, egress::GraphQl* out) {
  out->allow_registered =
      map->Enum<bool>("persisted_queries", {{"deny", false}, {"allow_registered", true}}, false);
  for (const auto& [key, query] :
       map->MapOfMaps("graphql_persisted_queries", kMaxPersistedQueries)) {
    out->registered.push_back(ReadPersistedQuery(key, query));
  }
  out->max_body_bytes =
      map->Whole("graphql_max_body_bytes", egress::kDefaultBodyBytes, 1, kMaxBodyBytes);
  if (out->allow_registered == out->registered.empty()) {
    if (!out->allow_registered && out->registered.empty()) return;
    map->source().Invalid(map->line(), map->KeyOf("graphql_persisted_queries"),
                          "goes with `persisted_queries: allow_registered`, and it with at least "
                          "one of them");
  }
}

void ReadRpc(MapReader* map, egress::Rpc* out) {
  MapReader mcp = map->Map("mcp");
  if (mcp.present()) {
    out->max_body_bytes = mcp.Whole("max_body_bytes", egress::kDefaultBodyBytes, 1, kMaxBodyBytes);
    out->strict_tool_names = mcp.Bool("strict_tool_names").value_or(true);
    out->allow_all_known_methods = mcp.Bool("allow_all_known_mcp_methods").value_or(false);
  }
  mcp.Finish();
  MapReader json_rpc = map->Map("json_rpc");
  if (json_rpc.present()) {
    out->max_body_bytes =
        json_rpc.Whole("max_body_bytes", egress::kDefaultBodyBytes, 1, kMaxBodyBytes);
  }
  json_rpc.Finish();
}

}  // namespace

void ReadOptions(MapReader* map, egress::Endpoint* endpoint) {
  if (const std::optional<Text> path = map->String("path")) {
    const Status status = egress::CheckPathPattern("path", path->value);
    if (!status.ok()) map->source().Invalid(path->line, path->key, status.message());
    endpoint->path = path->value;
  }
  endpoint->allow_encoded_slash = map->Bool("allow_encoded_slash").value_or(false);
  ReadGraphQl(map, &endpoint->graphql);
  ReadRpc(map, &endpoint->rpc);
  CheckOwners(*map, endpoint->protocol);
}

}  // namespace odyssey::dialect::openshell
