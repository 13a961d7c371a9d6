#include "supervisor/egress/inference/routes.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "policy/egress/glob.h"
#include "supervisor/egress/inference/json_text.h"

namespace odyssey::egress::inference {
namespace {

using AsJson = nlohmann::ordered_json;

constexpr int kBadRequest = 400, kForbidden = 403;

constexpr std::string_view kRequestFields[] = {
    "accept",         "content-type", "user-agent",      "anthropic-version",
    "anthropic-beta", "openai-beta",  "idempotency-key", "x-goog-api-client"};
constexpr std::string_view kPrivateFields[] = {"set-cookie", "openai-organization",
                                               "openai-project", "anthropic-organization-id"};

// A parameter of the query that is sent on, with the one value that it may have.
constexpr std::pair<std::string_view, std::string_view> kParameters[] = {{"alt", "sse"},
                                                                         {"beta", "true"}};

bool IsOneOf(const std::string_view* begin, const std::string_view* end, std::string_view name) {
  return std::any_of(begin, end,
                     [&](std::string_view known) { return http::SameText(known, name); });
}

bool Allows(const Route& route, const std::string& model) {
  return route.models.empty() ||
         std::any_of(route.models.begin(), route.models.end(),
                     [&](const std::string& pattern) { return TextMatches(pattern, model); });
}

std::string QueryOf(const http::CanonicalPath& path) {
  std::string out;
  for (const auto& known : kParameters) {
    const bool asked = std::any_of(path.pairs.begin(), path.pairs.end(), [&](const auto& pair) {
      return pair.name == known.first && pair.value == known.second;
    });
    if (asked)
      out.append(out.empty() ? "" : "&").append(known.first).append("=").append(known.second);
  }
  return out;
}

std::string PathOf(const Route& route, const Ask& ask) {
  const std::string operation(ask.operation);
  if (ask.protocol != RouteProtocol::kGemini) return route.base_path + operation;
  return route.base_path + "/v1beta/models/" + ModelOf(route, ask) + ":" + operation;
}

std::string KeyValueOf(const Route& route) {
  return (http::SameText(route.key_field, "authorization") ? "Bearer " : "") + route.key;
}

// In the operator's order, each with the first route that names it.
std::vector<std::pair<std::string, std::string>> NamedModels(const std::vector<Route>& routes,
                                                             bool gemini) {
  std::vector<std::pair<std::string, std::string>> out;
  std::set<std::string> seen;
  const auto add = [&](const std::string& model, const Route& route) {
    const bool pattern = model.empty() || model.find('*') != std::string::npos;
    if (!pattern && seen.insert(model).second) out.emplace_back(model, route.name);
  };
  for (const Route& route : routes) {
    if ((route.protocol == RouteProtocol::kGemini) != gemini) continue;
    for (const std::string& model : route.models) add(model, route);
    if (Allows(route, route.model)) add(route.model, route);
  }
  return out;
}

std::string TypeOf(int status) {
  switch (status) {
    case 400:
    case 413:
      return "invalid_request_error";
    case 403:
      return "permission_error";
    case 429:
      return "rate_limit_error";
    default:
      return "api_error";
  }
}

std::string GeminiStatus(int status) {
  switch (status) {
    case 400:
    case 413:
      return "INVALID_ARGUMENT";
    case 403:
      return "PERMISSION_DENIED";
    case 429:
      return "RESOURCE_EXHAUSTED";
    default:
      return "UNAVAILABLE";
  }
}

std::string Text(const AsJson& json) {
  return json.dump(-1, ' ', false, AsJson::error_handler_t::replace) + "\n";
}

}  // namespace

std::variant<std::vector<const Route*>, AskRefusal> RoutesFor(const std::vector<Route>& routes,
                                                              const Ask& ask) {
  if (routes.empty()) {
    return AskRefusal{kForbidden, "policy_denied", "the operator gives this sandbox no route"};
  }
  std::vector<const Route*> out;
  bool spoken = false;
  for (const Route& route : routes) {
    if (route.protocol != ask.protocol) continue;
    spoken = true;
    if (Allows(route, ask.model)) out.push_back(&route);
  }
  if (!out.empty()) return out;
  if (!spoken) {
    return AskRefusal{kBadRequest, "unsupported_protocol",
                      "no route of this sandbox speaks this protocol"};
  }
  return AskRefusal{kForbidden, "model_not_allowed",
                    "no route of this sandbox allows the model " + ask.model};
}

const std::string& ModelOf(const Route& route, const Ask& ask) {
  return route.model.empty() ? ask.model : route.model;
}

Outgoing Rewrite(const Route& route, const Ask& ask, const http::RequestHead& head,
                 const http::CanonicalPath& path, std::string_view body) {
  Outgoing out;
  out.body = body;
  if (ask.protocol != RouteProtocol::kGemini && ModelOf(route, ask) != ask.model) {
    out.body = WithMember(out.body, "model", Quoted(route.model));
  }
  if (ask.usage_on_request && ask.stream && !ask.asks_for_usage) {
    const auto options = FindMember(out.body, "stream_options");
    out.body =
        WithMember(out.body, "stream_options",
                   WithMember(options ? options->Of(out.body) : "{}", "include_usage", "true"));
    out.hides_usage = true;
  }
  out.head.method = "POST";
  out.head.framing = {http::FramingKind::kLength, out.body.size()};
  for (const http::Field& field : head.fields) {
    if (IsOneOf(std::begin(kRequestFields), std::end(kRequestFields), field.name)) {
      out.head.fields.push_back(field);
    }
  }
  // What is compressed tells no usage.
  out.head.fields.push_back({"Accept-Encoding", "identity"});
  if (!route.key.empty()) out.head.fields.push_back({route.key_field, KeyValueOf(route)});
  out.path.path = out.path.wire = PathOf(route, ask);
  out.path.query = QueryOf(path);
  return out;
}

std::string ModelsBody(const std::vector<Route>& routes, const Ask& ask) {
  const bool gemini = ask.protocol == RouteProtocol::kGemini;
  AsJson list = AsJson::array();
  for (const auto& [model, route] : NamedModels(routes, gemini)) {
    if (gemini) {
      list.push_back({{"name", "models/" + model}, {"displayName", model}});
    } else {
      list.push_back({{"id", model}, {"object", "model"}, {"created", 0}, {"owned_by", route}});
    }
  }
  return gemini ? Text({{"models", list}}) : Text({{"object", "list"}, {"data", list}});
}

std::string ErrorBody(RouteProtocol protocol, int status, const std::string& code,
                      const std::string& message) {
  switch (protocol) {
    case RouteProtocol::kAnthropic:
      return Text({{"type", "error"}, {"error", {{"type", TypeOf(status)}, {"message", message}}}});
    case RouteProtocol::kGemini:
      return Text(
          {{"error", {{"code", status}, {"message", message}, {"status", GeminiStatus(status)}}}});
    default:
      return Text(
          {{"error",
            {{"message", message}, {"type", TypeOf(status)}, {"param", nullptr}, {"code", code}}}});
  }
}

bool IsPrivateToRoute(const http::Field& field) {
  return IsOneOf(std::begin(kPrivateFields), std::end(kPrivateFields), field.name);
}

}  // namespace odyssey::egress::inference
