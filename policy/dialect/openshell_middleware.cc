#include "policy/dialect/openshell_middleware.h"

#include <algorithm>
#include <charconv>

#include "policy/egress/names.h"
#include "policy/egress/pattern.h"

namespace odyssey::dialect::openshell {
namespace {

constexpr size_t kMaxMiddlewares = 10;
constexpr size_t kMaxPatterns = 32;
constexpr size_t kMaxNameBytes = 128;
constexpr int64_t kMaxOrder = 1'000'000;
constexpr char kAllHosts[] = "**";

bool IsName(const std::string& name) {
  return !name.empty() && name.size() <= kMaxNameBytes &&
         std::all_of(name.begin(), name.end(), [](char c) {
           const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
           return letter || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-' || c == '/';
         });
}

int64_t ReadOrder(MapReader* map) {
  const Node* node = map->Any("order");
  if (node == nullptr) return 0;
  int64_t order = 0;
  const char* const end = node->text.data() + node->text.size();
  const auto [stop, error] = std::from_chars(node->text.data(), end, order);
  const bool whole = node->kind == NodeKind::kNumber && error == std::errc() && stop == end;
  if (whole && order >= -kMaxOrder && order <= kMaxOrder) return order;
  map->source().Syntax(node->line, map->KeyOf("order"),
                       "must be a whole number from -1000000 to 1000000");
  return 0;
}

std::vector<std::string> ReadHosts(MapReader* endpoints, std::string_view name) {
  std::vector<std::string> hosts;
  const std::vector<Text> texts = endpoints->Strings(name);
  if (texts.size() > kMaxPatterns) {
    endpoints->source().Invalid(endpoints->line(), endpoints->KeyOf(name), "more than 32 patterns");
  }
  for (const Text& text : texts) {
    const Result<std::string> host = text.value == kAllHosts ? Result<std::string>(kAllHosts)
                                                             : egress::NormalizeHost(text.value);
    if (host.ok()) {
      hosts.push_back(*host);
    } else {
      endpoints->source().Invalid(text.line, text.key, host.status().message());
    }
  }
  return hosts;
}

egress::Middleware ReadMiddleware(const Key& key, MapReader map) {
  egress::Middleware out{.key = key.name, .name = key.name};
  if (const auto name = map.String("name")) out.name = name->value;
  if (const auto text = map.String("middleware", Need::kRequired)) {
    out.middleware = text->value;
    if (!IsName(text->value)) {
      map.source().Invalid(text->line, text->key,
                           "must be `openshell/regex` or the name of one that an operator "
                           "registered, of letters, digits and _.-/: `" +
                               text->value + "`");
    }
  }
  out.order = ReadOrder(&map);
  const MapReader config = map.Map("config");
  if (config.present()) out.config = ToJson(*config.node());
  out.on_error =
      map.Enum<egress::OnError>("on_error", egress::OnErrorNames(), egress::OnError::kFailClosed);
  MapReader endpoints = map.Map("endpoints");
  out.include = ReadHosts(&endpoints, "include");
  out.exclude = ReadHosts(&endpoints, "exclude");
  endpoints.Finish();
  map.Finish();
  return out;
}

bool Selects(const std::vector<std::string>& patterns, const std::string& host) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return pattern == kAllHosts || egress::HostsOverlap(pattern, host);
  });
}

// An excluded host is surely out only if the pattern covers all of it; for one host that is so.
bool Selects(const egress::Middleware& middleware, const egress::Endpoint& endpoint) {
  const bool single = !egress::IsHostPattern(endpoint.host);
  if (single && Selects(middleware.exclude, endpoint.host)) return false;
  for (const std::string& excluded : middleware.exclude) {
    if (excluded == endpoint.host || excluded == kAllHosts) return false;
  }
  return middleware.include.empty() || Selects(middleware.include, endpoint.host);
}

void CheckSkipped(const egress::NetworkPolicy& policy, const egress::Middleware& middleware,
                  const MapReader& map) {
  for (const egress::Rule& rule : policy.rules) {
    for (const egress::Endpoint& endpoint : rule.endpoints) {
      if (endpoint.tls != egress::Tls::kSkip || !Selects(middleware, endpoint)) continue;
      map.source().Invalid(map.line(), map.key(),
                           "selects " + endpoint.key +
                               ", whose `tls: skip` keeps its traffic from every middleware; "
                               "exclude its host");
    }
  }
}

}  // namespace

void ReadMiddlewares(MapReader* document, egress::NetworkPolicy* policy) {
  for (const auto& [key, map] : document->MapOfMaps("network_middlewares", kMaxMiddlewares)) {
    egress::Middleware middleware = ReadMiddleware(key, map);
    for (const egress::Middleware& other : policy->middlewares) {
      if (other.order != middleware.order) continue;
      map.source().Invalid(map.line(), map.KeyOf("order"),
                           std::to_string(other.order) + " is the order of `" + other.key +
                               "` already: each needs its own");
    }
    CheckSkipped(*policy, middleware, map);
    policy->middlewares.push_back(std::move(middleware));
  }
}

}  // namespace odyssey::dialect::openshell
