#include "supervisor/egress/broker/inference_file.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "policy/dialect/node.h"
#include "policy/dialect/schema.h"
#include "policy/egress/pattern.h"
#include "policy/egress/reach.h"
#include "policy/model/budget.h"
#include "supervisor/egress/inference/ask.h"

namespace odyssey::egress {
namespace {

using dialect::MapReader;
using dialect::Need;
using dialect::Node;
using dialect::NodeKind;
using dialect::Text;
using egress_wire::Route;
using egress_wire::RouteProtocol;

constexpr char kVersion[] = "odyssey.inference/v1";
constexpr size_t kMaxFileRoutes = 64, kMaxGrants = 256;
constexpr uint16_t kHttpPort = 80, kHttpsPort = 443;
constexpr uint64_t kMaxSeconds = 3600, kMaxRequests = 10'000;
constexpr std::string_view kNameCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

// Of a route's name, a credential's, a header field's.
bool IsName(std::string_view text) {
  return !text.empty() && text.size() <= 128 && text[0] != '.' &&
         text.find_first_not_of(kNameCharacters) == std::string_view::npos;
}

// A model's name with any number of `*`.
bool IsModelPattern(std::string text) {
  if (text.size() > egress_wire::kMaxModelBytes) return false;
  const bool any = std::erase(text, '*') != 0 && text.empty();
  return any || inference::IsModelName(text, RouteProtocol::kOpenAi);
}

const char* DefaultField(RouteProtocol protocol) {
  switch (protocol) {
    case RouteProtocol::kAnthropic:
      return "x-api-key";
    case RouteProtocol::kGemini:
      return "x-goog-api-key";
    default:
      return "authorization";
  }
}

// Reports once what the text must be, if it is not.
void Require(bool good, MapReader* map, const std::optional<Text>& text, const char* must) {
  if (text && !good) map->source().Invalid(text->line, text->key, must);
}

std::string ReadName(MapReader* map, std::string_view name, Need need) {
  const std::optional<Text> text = map->String(name, need);
  Require(text && IsName(text->value), map, text,
          "must be a name of letters, digits, `-`, `_` and `.`");
  return text ? text->value : "";
}

// "" or why the address is none.
std::string ReadUrl(std::string url, Route* route) {
  constexpr std::string_view kHttps = "https://", kHttp = "http://";
  route->tls = url.substr(0, kHttps.size()) == kHttps;
  if (!route->tls && url.substr(0, kHttp.size()) != kHttp) return "must begin with https://";
  url.erase(0, route->tls ? kHttps.size() : kHttp.size());
  const size_t slash = std::min(url.find('/'), url.size());
  route->base_path = url.substr(slash);
  while (!route->base_path.empty() && route->base_path.back() == '/') route->base_path.pop_back();
  if (route->base_path.find_first_not_of(std::string(kNameCharacters) + "~/") !=
          std::string::npos ||
      route->base_path.find("//") != std::string::npos ||
      route->base_path.find("/.") != std::string::npos) {
    return "has a path that is none, or a query";
  }
  const Result<Destination> to = ParseDestination(url.substr(0, slash));
  if (!to.ok()) return to.status().message();
  route->host = to->host;
  route->port = to->port != 0 ? to->port : (route->tls ? kHttpsPort : kHttpPort);
  const bool address = IsAddress(to->host);
  if (!route->tls && !address) return "is http:// to a name; write its address, or https://";
  if (!to->never.empty() && !(address && to->port != 0)) {
    return to->never + "; only an address with its port opens that";
  }
  return "";
}

uint64_t ReadDollars(MapReader* map, std::string_view name) {
  const Node* node = map->Any(name);
  if (node == nullptr) return 0;
  const std::optional<uint64_t> dollars =
      node->kind == NodeKind::kNumber ? policy::ParseDollars(node->text) : std::nullopt;
  if (!dollars) {
    map->source().Invalid(node->line, map->KeyOf(name),
                          std::string("must be ") + policy::kDollarsRule);
  }
  return dollars.value_or(0);
}

void ReadModels(MapReader* map, Route* route) {
  const std::optional<Text> model = map->String("model");
  if (model) route->model = model->value;
  Require(inference::IsModelName(route->model, route->protocol), map, model,
          "must be a model's name");
  for (const Text& pattern : map->Strings("models")) {
    Require(IsModelPattern(pattern.value), map, pattern, "must be a model's name or a pattern");
    route->models.push_back(pattern.value);
  }
  if (route->models.size() > egress_wire::kMaxModels) {
    map->source().Invalid(map->line(), map->KeyOf("models"), "has more than 32 models");
  }
}

void ReadKey(MapReader* map, RouteEntry* entry) {
  const std::optional<Text> file = map->String("key_file");
  if (file) entry->key_file = file->value;
  Require(!entry->key_file.empty() && entry->key_file[0] == '/', map, file,
          "must be an absolute path");
  entry->key_credential = ReadName(map, "key_credential", Need::kOptional);
  if (file && !entry->key_credential.empty()) {
    map->source().Invalid(map->line(), map->key(), "has both key_file and key_credential");
  }
  entry->route.key_field = ReadName(map, "header", Need::kOptional);
  if (entry->route.key_field.empty()) entry->route.key_field = DefaultField(entry->route.protocol);
}

RouteEntry ReadRoute(MapReader map) {
  RouteEntry out;
  Route& route = out.route;
  route.name = ReadName(&map, "name", Need::kRequired);
  route.protocol = map.Enum<RouteProtocol>("protocol",
                                           {{"openai", RouteProtocol::kOpenAi},
                                            {"anthropic", RouteProtocol::kAnthropic},
                                            {"gemini", RouteProtocol::kGemini}},
                                           RouteProtocol::kOpenAi, Need::kRequired);
  if (const auto url = map.String("base_url", Need::kRequired)) {
    const std::string wrong = ReadUrl(url->value, &route);
    if (!wrong.empty()) map.source().Invalid(url->line, url->key, wrong);
  }
  ReadModels(&map, &route);
  ReadKey(&map, &out);
  MapReader price = map.Map("price");
  route.price = {.input = ReadDollars(&price, "input"), .output = ReadDollars(&price, "output")};
  price.Finish();
  const auto seconds = [&](std::string_view name) {
    return static_cast<uint32_t>(map.Whole(name, 120, 1, kMaxSeconds));
  };
  route.first_byte_seconds = seconds("first_byte_seconds");
  route.idle_seconds = seconds("idle_seconds");
  map.Finish();
  return out;
}

std::optional<size_t> FindRoute(const InferenceFile& file, const std::string& name) {
  for (size_t i = 0; i < file.routes.size(); ++i) {
    if (file.routes[i].route.name == name) return i;
  }
  return std::nullopt;
}

RouteGrant ReadGrant(MapReader map, const InferenceFile& file) {
  RouteGrant out;
  for (const Text& user : map.Strings("users")) {
    const Status good = ceiling::CheckUserRule(user.value);
    if (!good.ok()) map.source().Invalid(user.line, user.key, good.message());
    out.users.push_back(user.value);
  }
  for (const Text& name : map.Strings("routes")) {
    const std::optional<size_t> route = FindRoute(file, name.value);
    if (!route) map.source().Invalid(name.line, name.key, "there is no route of this name");
    out.routes.push_back(route.value_or(0));
  }
  if (out.users.empty()) map.source().Invalid(map.line(), map.KeyOf("users"), "missing");
  if (out.routes.size() > egress_wire::kMaxRoutes) {
    map.source().Invalid(map.line(), map.KeyOf("routes"), "has more than 8 routes");
  }
  MapReader budget = map.Map("budget");
  out.budget.tokens = budget.Whole("tokens", 0, 1, policy::kMaxBudget);
  out.budget.cost = ReadDollars(&budget, "cost_usd");
  out.budget.requests_per_minute =
      static_cast<uint32_t>(budget.Whole("requests_per_minute", 0, 1, kMaxRequests));
  budget.Finish();
  map.Finish();
  return out;
}

}  // namespace

Result<InferenceFile> ParseInferenceFile(const std::string& file, std::string_view yaml) {
  InferenceFile out;
  dialect::Problems problems;
  const std::optional<Node> root =
      dialect::ParseDocument(dialect::Format::kYaml, file, yaml, &problems);
  if (!root) return dialect::ToStatus(problems);
  const dialect::Source source{file, dialect::ProblemKind::kYaml, &problems};
  MapReader map(&source, &*root, "");
  const std::optional<Text> version = map.String("version", Need::kRequired);
  Require(version && version->value == kVersion, &map, version, "must be odyssey.inference/v1");
  for (MapReader& route : map.Maps("routes", kMaxFileRoutes)) {
    RouteEntry entry = ReadRoute(route);
    if (FindRoute(out, entry.route.name)) {
      source.Invalid(route.line(), route.key(), "another route has the same name");
    }
    out.routes.push_back(std::move(entry));
  }
  for (MapReader& grant : map.Maps("grants", kMaxGrants)) {
    out.grants.push_back(ReadGrant(grant, out));
  }
  map.Finish();
  if (!problems.empty()) return dialect::ToStatus(problems);
  return out;
}

const RouteGrant* GrantOf(const InferenceFile& file, const ceiling::Owner& owner) {
  for (const RouteGrant& grant : file.grants) {
    const bool named =
        std::any_of(grant.users.begin(), grant.users.end(),
                    [&](const std::string& rule) { return ceiling::NamesOwner(rule, owner); });
    if (named) return &grant;
  }
  return nullptr;
}

}  // namespace odyssey::egress
