#include "mcp/protocol/protocol.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace odyssey::mcp {
namespace {

constexpr unsigned kOk = 200, kBadRequest = 400, kNotFound = 404;

Json ServerInfo(const ServerFacts& facts) {
  return {{"name", "odyssey"}, {"title", "Odyssey"}, {"version", facts.version}};
}

// The parameter that Mcp-Name repeats; null: the method has none.
const char* NameParameter(const std::string& method) {
  if (method == "tools/call" || method == "prompts/get") return "name";
  if (method == "resources/read") return "uri";
  return nullptr;
}

std::string TextOf(const Json& object, const char* key) {
  const auto value = object.find(key);
  return value != object.end() && value->is_string() ? value->get<std::string>() : "";
}

RpcError Mismatch(const std::string& field, const std::string& sent, const std::string& body) {
  return {RpcCode::kHeaderMismatch,
          field + ": " + (sent.empty() ? "it is missing" : "it is \"" + sent + "\"") +
              ", and the body has \"" + body + "\""};
}

std::optional<RpcError> CheckFields(const RpcRequest& request, const RoutingFields& fields) {
  const std::string version = TextOf(MetaOf(request.params), kMetaVersion);
  if (fields.version != version) return Mismatch("MCP-Protocol-Version", fields.version, version);
  if (fields.method != request.method) return Mismatch("Mcp-Method", fields.method, request.method);
  const char* const parameter = NameParameter(request.method);
  if (parameter == nullptr) return std::nullopt;
  const std::string name = TextOf(request.params, parameter);
  if (fields.name != name) return Mismatch("Mcp-Name", fields.name, name);
  return std::nullopt;
}

bool MayBeCached(const std::string& method) {
  constexpr std::string_view kCached[] = {"server/discover", "tools/list",
                                          "prompts/list",    "resources/list",
                                          "resources/read",  "resources/templates/list"};
  return std::find(std::begin(kCached), std::end(kCached), method) != std::end(kCached);
}

}  // namespace

bool IsStatefulVersion(std::string_view version) {
  return std::find(std::begin(kStatefulVersions), std::end(kStatefulVersions), version) !=
         std::end(kStatefulVersions);
}

std::string ChooseVersion(const std::string& asked) {
  return IsStatefulVersion(asked) ? asked : kStatefulVersions[0];
}

Json InitializeResult(const ServerFacts& facts, const std::string& version) {
  return {{"protocolVersion", version},
          {"capabilities", facts.capabilities},
          {"serverInfo", ServerInfo(facts)},
          {"instructions", facts.instructions}};
}

Json MetaOf(const Json& params) {
  const auto meta = params.find("_meta");
  return meta != params.end() && meta->is_object() ? *meta : Json::object();
}

bool IsStateless(const RpcRequest& request, std::string_view version_field) {
  const Json meta = MetaOf(request.params);
  return version_field == kStatelessVersion || request.method == "server/discover" ||
         request.method == "subscriptions/listen" || meta.contains(kMetaVersion) ||
         meta.contains(kMetaCapabilities);
}

std::optional<RpcError> CheckStateless(const RpcRequest& request, const RoutingFields* fields) {
  const Json meta = MetaOf(request.params);
  if (!meta.contains(kMetaVersion) || !meta[kMetaVersion].is_string()) {
    return RpcError{RpcCode::kInvalidParams,
                    std::string("_meta: ") + kMetaVersion + ": expected a string"};
  }
  if (!meta.contains(kMetaCapabilities) || !meta[kMetaCapabilities].is_object()) {
    return RpcError{RpcCode::kInvalidParams,
                    std::string("_meta: ") + kMetaCapabilities + ": expected an object"};
  }
  if (fields != nullptr) {
    if (std::optional<RpcError> error = CheckFields(request, *fields)) return error;
  }
  const std::string version = meta[kMetaVersion].get<std::string>();
  if (version == kStatelessVersion) return std::nullopt;
  return RpcError{RpcCode::kUnsupportedVersion,
                  "protocol version " + version + ": it is not served without initialize",
                  {{"supported", Json::array({kStatelessVersion})}, {"requested", version}}};
}

Json StatelessResult(const ServerFacts& facts, const std::string& method, Json result) {
  if (!result.contains("resultType")) result["resultType"] = "complete";
  if (MayBeCached(method) && !IsInputRequired(result)) {
    // Stale at once: another agent's bundle or session may answer the next request.
    if (!result.contains("ttlMs")) result["ttlMs"] = 0;
    if (!result.contains("cacheScope")) result["cacheScope"] = "private";
  }
  result["_meta"][kMetaServer] = ServerInfo(facts);
  return result;
}

Json DiscoverResult(const ServerFacts& facts) {
  return {{"supportedVersions", Json::array({kStatelessVersion})},
          {"capabilities", facts.capabilities},
          {"instructions", facts.instructions}};
}

Json InputRequired(Json requests, const std::string& state) {
  Json out = {{"resultType", "input_required"}, {"inputRequests", std::move(requests)}};
  if (!state.empty()) out["requestState"] = state;
  return out;
}

RpcError MissingCapability(const std::string& method, const std::string& capability) {
  return {RpcCode::kMissingCapability,
          method + ": it needs a client with the capability " + capability,
          {{"requiredCapabilities", {{capability, Json::object()}}}}};
}

unsigned HttpStatusOf(RpcCode code) {
  switch (code) {
    case RpcCode::kMethodNotFound:
      return kNotFound;
    case RpcCode::kParseError:
    case RpcCode::kInvalidRequest:
    case RpcCode::kInvalidParams:
    case RpcCode::kHeaderMismatch:
    case RpcCode::kMissingCapability:
    case RpcCode::kUnsupportedVersion:
      return kBadRequest;
    case RpcCode::kInternalError:
    case RpcCode::kResourceNotFound:
      break;
  }
  return kOk;
}

}  // namespace odyssey::mcp
