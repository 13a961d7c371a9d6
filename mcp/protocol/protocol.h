#ifndef ODYSSEY_MCP_PROTOCOL_PROTOCOL_H_
#define ODYSSEY_MCP_PROTOCOL_PROTOCOL_H_

// The Model Context Protocol's two eras. Pure.
//
//   stateful   2025-11-25 and before: initialize makes a session; the server sends requests
//   stateless  2026-07-28: each request has version and capabilities of its client in _meta; what
//              the server asks for is a result, and the client repeats its request with the answer

#include <optional>
#include <string>
#include <string_view>

#include "common/json_rpc/json_rpc.h"

namespace odyssey::mcp {

// The newest first: what a client is answered that asks for one that is not here.
inline constexpr const char* kStatefulVersions[] = {"2025-11-25", "2025-06-18", "2025-03-26",
                                                    "2024-11-05"};
inline constexpr char kStatelessVersion[] = "2026-07-28";

bool IsStatefulVersion(std::string_view version);
// Of a stateful version, or of the newest one.
std::string ChooseVersion(const std::string& asked);

// What a server says of itself in both eras.
struct ServerFacts {
  std::string version;
  std::string instructions;
  Json capabilities = Json::object();
};
Json InitializeResult(const ServerFacts& facts, const std::string& version);

// Keys of _meta.
inline constexpr char kMetaVersion[] = "io.modelcontextprotocol/protocolVersion";
inline constexpr char kMetaCapabilities[] = "io.modelcontextprotocol/clientCapabilities";
inline constexpr char kMetaServer[] = "io.modelcontextprotocol/serverInfo";
inline constexpr char kMetaSubscription[] = "io.modelcontextprotocol/subscriptionId";

// params._meta; an empty object if there is none.
Json MetaOf(const Json& params);

// Header fields of a request by HTTP that repeat its body, so that a proxy can route by them.
struct RoutingFields {
  std::string version;  // MCP-Protocol-Version
  std::string method;   // Mcp-Method
  std::string name;     // Mcp-Name
};

// `version_field`: MCP-Protocol-Version; empty on stdio.
bool IsStateless(const RpcRequest& request, std::string_view version_field = {});

// What is wrong with a stateless request's _meta; by HTTP, with its header fields (null: stdio).
std::optional<RpcError> CheckStateless(const RpcRequest& request, const RoutingFields* fields);

// Adds what each result of the stateless era has: its type, the server, and of what may be cached
// for how long.
Json StatelessResult(const ServerFacts& facts, const std::string& method, Json result);
Json DiscoverResult(const ServerFacts& facts);

// `requests`: by keys that the client answers with. `state`: what it sends back as it is.
Json InputRequired(Json requests, const std::string& state);
inline bool IsInputRequired(const Json& result) {
  return result.value("resultType", Json()) == "input_required";
}

RpcError MissingCapability(const std::string& method, const std::string& capability);

// The status of an answer by HTTP whose body is this error.
unsigned HttpStatusOf(RpcCode code);

}  // namespace odyssey::mcp

#endif  // ODYSSEY_MCP_PROTOCOL_PROTOCOL_H_
