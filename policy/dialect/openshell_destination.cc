#include "policy/dialect/openshell_destination.h"

#include <algorithm>

#include "policy/dialect/openshell_empty.h"
#include "policy/egress/pattern.h"
#include "policy/egress/reach.h"

namespace odyssey::dialect::openshell {
namespace {

constexpr size_t kMaxPorts = 64;
constexpr size_t kMaxAllowedIps = 64;
constexpr uint64_t kMaxPort = 65535;

void ReadHost(MapReader* map, egress::Endpoint* out) {
  const std::optional<Text> host = map->String("host");
  if (!host || host->value.empty()) return;
  Result<std::string> normal = egress::NormalizeHost(host->value);
  if (normal.ok()) {
    out->host = std::move(normal).value();
  } else {
    out->host = host->value;
    map->source().Invalid(host->line, host->key, normal.status().message());
  }
}

void AddPort(const MapReader& map, const Node& node, const std::string& key,
             egress::Endpoint* out) {
  uint64_t port = 0;
  const bool number = node.kind == NodeKind::kNumber && node.text.size() <= 5 &&
                      node.text.find_first_not_of("0123456789") == std::string::npos;
  if (number) port = std::stoul(node.text);
  if (port < 1 || port > kMaxPort) {
    const bool quoted = node.kind == NodeKind::kString;
    map.source().Syntax(node.line, key,
                        "must be a port from 1 to 65535" +
                            (quoted ? ", a number without quotes, not `" + node.text + "`"
                             : node.text.empty() ? ", not " + Found(node)
                                                 : ", not " + node.text));
    return;
  }
  const uint16_t value = static_cast<uint16_t>(port);
  if (egress::IsControlPlanePort(value)) {
    map.source().Warn(node.line, key,
                      "port " + std::to_string(port) +
                          " belongs to cluster control planes: connections to it are refused");
  }
  out->ports.push_back(value);
}

void ReadPorts(MapReader* map, egress::Endpoint* out) {
  const Node* one = map->Any("port");
  const Node* many = map->Any("ports");
  const Source& source = map->source();
  if ((one != nullptr) == (many != nullptr)) {
    source.Invalid(map->line(), map->KeyOf("port"),
                   one != nullptr ? "and `ports` exclude each other: give one"
                                  : "missing: `port` or `ports` is required");
    return;
  }
  if (one != nullptr) return AddPort(*map, *one, map->KeyOf("port"), out);
  const std::string key = map->KeyOf("ports");
  if (many->kind != NodeKind::kList || many->items.empty() || many->items.size() > kMaxPorts) {
    const bool list = many->kind == NodeKind::kList;
    source.Syntax(many->line, key,
                  "must be a list of 1 to 64 ports, not " +
                      (list ? "of " + std::to_string(many->items.size()) : Found(*many)));
    return;
  }
  for (size_t i = 0; i < many->items.size(); ++i) {
    AddPort(*map, many->items[i], key + "[" + std::to_string(i) + "]", out);
  }
  std::sort(out->ports.begin(), out->ports.end());
  const auto twice = std::adjacent_find(out->ports.begin(), out->ports.end());
  if (twice != out->ports.end()) {
    source.Invalid(many->line, key, "the port " + std::to_string(*twice) + " is there twice");
  }
}

void ReadAllowedIps(MapReader* map, egress::Endpoint* out) {
  RefuseEmpty(*map, "allowed_ips");
  const std::vector<Text> texts = map->Strings("allowed_ips");
  for (const Text& text : texts) {
    const Result<egress::AddressRange> range = egress::ParseRange(text.value);
    if (range.ok()) {
      out->allowed_ips.push_back(*range);
    } else {
      map->source().Invalid(text.line, text.key, range.status().message());
    }
  }
  if (texts.size() > kMaxAllowedIps) {
    map->source().Invalid(map->line(), map->KeyOf("allowed_ips"), "more than 64 entries");
  }
  if (texts.empty() && egress::IsHostPattern(out->host) &&
      !egress::KnownPrivate(out->host).empty()) {
    map->source().Warn(map->line(), map->KeyOf("host"),
                       "`" + out->host + "` matches nothing without allowed_ips: " +
                           egress::KnownPrivate(out->host) + ", and a pattern opens none");
  }
  const auto says = [&](const char* name) {
    const Node* node = map->Any(name);
    return node != nullptr && !(node->kind == NodeKind::kString && node->text.empty());
  };
  if (!says("host") && !says("allowed_ips")) {
    map->source().Invalid(map->line(), map->KeyOf("host"),
                          "missing: an endpoint has a host, or allowed_ips, or both");
  }
}

}  // namespace

void ReadDestination(MapReader* map, egress::Endpoint* endpoint) {
  ReadHost(map, endpoint);
  ReadPorts(map, endpoint);
  ReadAllowedIps(map, endpoint);
}

}  // namespace odyssey::dialect::openshell
