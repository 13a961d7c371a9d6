#include "supervisor/egress/inference/ask.h"

#include <algorithm>
#include <iterator>

#include "policy/egress/json.h"
#include "supervisor/egress/inference/json_text.h"

namespace odyssey::egress::inference {
namespace {

constexpr int kBadRequest = 400, kForbidden = 403, kMethodNotAllowed = 405;

struct Known {
  std::string_view path;
  RouteProtocol protocol;
  bool lists_models = false;
  bool counts = true;
  bool usage_on_request = false;
};

constexpr Known kKnown[] = {
    {.path = "/v1/chat/completions", .protocol = RouteProtocol::kOpenAi, .usage_on_request = true},
    {.path = "/v1/completions", .protocol = RouteProtocol::kOpenAi, .usage_on_request = true},
    {.path = "/v1/responses", .protocol = RouteProtocol::kOpenAi},
    {.path = "/v1/embeddings", .protocol = RouteProtocol::kOpenAi},
    {.path = "/v1/models", .protocol = RouteProtocol::kOpenAi, .lists_models = true},
    {.path = "/v1/messages", .protocol = RouteProtocol::kAnthropic},
    {.path = "/v1/messages/count_tokens", .protocol = RouteProtocol::kAnthropic, .counts = false},
    {.path = "/v1beta/models", .protocol = RouteProtocol::kGemini, .lists_models = true},
};

// Of Gemini, behind the model and a colon.
struct Action {
  std::string_view name;
  bool counts = true;
  bool stream = false;
};

constexpr Action kActions[] = {{.name = "generateContent"},
                               {.name = "streamGenerateContent", .stream = true},
                               {.name = "countTokens", .counts = false},
                               {.name = "embedContent"}};

constexpr std::string_view kGeminiModels = "/v1beta/models/";

std::optional<Ask> ReadPath(std::string_view path) {
  for (const Known& known : kKnown) {
    if (path != known.path) continue;
    return Ask{.protocol = known.protocol,
               .operation = known.path,
               .lists_models = known.lists_models,
               .counts = known.counts,
               .usage_on_request = known.usage_on_request};
  }
  if (path.substr(0, kGeminiModels.size()) != kGeminiModels) return std::nullopt;
  path.remove_prefix(kGeminiModels.size());
  const size_t colon = path.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  for (const Action& action : kActions) {
    if (path.substr(colon + 1) != action.name) continue;
    return Ask{.protocol = RouteProtocol::kGemini,
               .operation = action.name,
               .counts = action.counts,
               .stream = action.stream,
               .model = std::string(path.substr(0, colon))};
  }
  return std::nullopt;
}

AskRefusal Malformed(std::string reason) {
  return {kBadRequest, "malformed_request", std::move(reason)};
}

std::optional<AskRefusal> CheckModel(const Ask& ask) {
  if (IsModelName(ask.model, ask.protocol)) return std::nullopt;
  return Malformed("the request names no model, or one that is no name");
}

bool IsTrue(std::string_view object, std::string_view key) {
  const auto found = FindMember(object, key);
  return found && found->Of(object) == "true";
}

}  // namespace

bool IsModelName(std::string_view name, RouteProtocol protocol) {
  constexpr std::string_view kMarks = "._-:/@+";
  const auto good = [&](char c) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (protocol == RouteProtocol::kGemini && (c == '/' || c == ':')) return false;
    return plain || kMarks.find(c) != std::string_view::npos;
  };
  return !name.empty() && name.size() <= egress_wire::kMaxModelBytes &&
         std::all_of(name.begin(), name.end(), good);
}

std::variant<Ask, AskRefusal> ReadTarget(std::string_view method, std::string_view path) {
  std::optional<Ask> ask = ReadPath(path);
  if (!ask) {
    return AskRefusal{kForbidden, "policy_denied", "inference.local serves no such path"};
  }
  if (method != (ask->lists_models ? "GET" : "POST")) {
    return AskRefusal{kMethodNotAllowed, "method_not_allowed",
                      std::string("the path takes ") + (ask->lists_models ? "GET" : "POST")};
  }
  if (ask->protocol == RouteProtocol::kGemini && !ask->lists_models) {
    if (auto refusal = CheckModel(*ask)) return *refusal;
  }
  return *std::move(ask);
}

std::optional<AskRefusal> ReadBody(std::string_view body, Ask* ask) {
  const Result<Json> json = ParseJson(body);
  if (!json.ok()) return Malformed(json.status().message());
  if (!json->IsObject()) return Malformed("the body is no JSON object");
  // Servers that ignore the case of keys would read another model than the one that is allowed.
  const std::string alike = LookAlike(*json, {"model", "stream", "stream_options"});
  if (!alike.empty()) return Malformed("a key of the body differs from `model` by its case alone");
  // A model by another way: some servers take the first of the list that answers.
  if (json->Find("models") != nullptr) return Malformed("the body has a list of models");
  if (ask->protocol == RouteProtocol::kGemini) return std::nullopt;
  const Json* const model = json->Find("model");
  ask->model = model != nullptr ? model->text : "";
  ask->stream = IsTrue(body, "stream");
  if (const auto options = FindMember(body, "stream_options")) {
    ask->asks_for_usage = IsTrue(options->Of(body), "include_usage");
  }
  return CheckModel(*ask);
}

}  // namespace odyssey::egress::inference
