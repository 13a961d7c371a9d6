#include "policy/egress/rpc.h"

#include <algorithm>
#include <optional>

#include "policy/egress/glob.h"
#include "policy/egress/json.h"
#include "policy/egress/rest.h"

namespace odyssey::egress {
namespace {

constexpr size_t kMaxBatch = 64;
constexpr size_t kMaxToolBytes = 128;
constexpr char kToolsCall[] = "tools/call";

// What clients send to servers of MCP.
constexpr std::string_view kMcpMethods[] = {"initialize",
                                            "ping",
                                            "notifications/initialized",
                                            "notifications/cancelled",
                                            "notifications/progress",
                                            "notifications/roots/list_changed",
                                            "tools/list",
                                            kToolsCall,
                                            "resources/list",
                                            "resources/templates/list",
                                            "resources/read",
                                            "resources/subscribe",
                                            "resources/unsubscribe",
                                            "prompts/list",
                                            "prompts/get",
                                            "completion/complete",
                                            "logging/setLevel"};

// A request or a notification.
struct Call {
  std::string method;
  std::optional<std::string> name;  // params.name, or params.uri of a resource
};

// What refuses the message, or what it calls.
struct Reading {
  Verdict verdict;
  Call call;
};

Reading Unreadable(const std::string& why) {
  return {Refuse(Refusal::kPolicyDenied, "the message cannot be read as JSON-RPC: " + why), {}};
}

Verdict NotJson(const Status& status) {
  const bool twice = status.code() == Code::kAlreadyExists;
  return Refuse(twice ? Refusal::kMalformed : Refusal::kPolicyDenied,
                "the message cannot be read as JSON-RPC: " + status.message());
}

// ── what it calls ──

// The string member, if there is one. `params` of JSON-RPC may be a list.
std::optional<std::string> TextOf(const Json* object, std::string_view name) {
  const Json* member = object == nullptr ? nullptr : object->Find(name);
  if (member == nullptr || !member->IsString()) return std::nullopt;
  return member->text;
}

Reading ReadCall(const Json& message) {
  if (!message.IsObject()) return Unreadable("not an object");
  const std::string look_alike =
      LookAlike(message, {"jsonrpc", "method", "params", "id", "result", "error"});
  if (!look_alike.empty()) return Unreadable("the key `" + Shown(look_alike) + "`");
  if (message.Find("result") != nullptr || message.Find("error") != nullptr) {
    return {Refuse(Refusal::kPolicyDenied, "the message is a response, which no rule allows"), {}};
  }
  const Json* method = message.Find("method");
  if (method == nullptr || !method->IsString() || method->text.empty()) {
    return Unreadable("`method` is not a string");
  }
  Reading out{{}, {.method = method->text}};
  const Json* params = message.Find("params");
  if (params == nullptr || !params->IsObject()) return out;
  const std::string_view name = method->text.rfind("resources/", 0) == 0 ? "uri" : "name";
  if (!LookAlike(*params, {name}).empty()) return Unreadable("a key like `params.name`");
  out.call.name = TextOf(params, name);
  return out;
}

// ── whether it is allowed ──

using MatchesCall = bool (*)(const Matcher& matcher, const Call& call);

std::string DeniedBy(const std::vector<Pair>& pairs, const Call& call, MatchesCall matches) {
  for (const Pair& pair : pairs) {
    const auto& deny = pair.endpoint->deny;
    for (size_t i = 0; i < deny.size(); ++i) {
      if (matches(deny[i], call)) return DenyRule(*pair.endpoint, i);
    }
  }
  return "";
}

bool AnyAllows(const std::vector<Matcher>& allow, const Call& call, MatchesCall matches) {
  return std::any_of(allow.begin(), allow.end(),
                     [&](const Matcher& matcher) { return matches(matcher, call); });
}

std::string What(const Call& call) {
  const std::string name = call.name ? " `" + Shown(*call.name) + "`" : "";
  return "`" + Shown(call.method) + "`" + name;
}

bool MatchesMethod(const Matcher& matcher, const Call& call) {
  return matcher.method.empty() || matcher.method == "*" || matcher.method == call.method;
}

Verdict JudgeRpcCall(const std::vector<Pair>& pairs, const Call& call) {
  const std::string denied_by = DeniedBy(pairs, call, MatchesMethod);
  if (!denied_by.empty()) return Deny(What(call) + " is denied by " + denied_by);
  for (const Pair& pair : pairs) {
    if (AnyAllows(pair.endpoint->allow, call, MatchesMethod)) return {};
  }
  return Deny("no rule allows the method " + What({.method = call.method, .name = {}}),
              {.method = call.method});
}

bool MatchesMcp(const Matcher& matcher, const Call& call) {
  const bool tools = matcher.method == "tools/*" && call.method.rfind("tools/", 0) == 0;
  if (!tools && !MatchesMethod(matcher, call)) return false;
  if (!matcher.tool.empty()) {
    return call.method == kToolsCall && call.name && TextMatches(matcher.tool, *call.name);
  }
  return matcher.params_name.empty() || (call.name && TextMatches(matcher.params_name, *call.name));
}

bool NamesTools(const Endpoint& endpoint) {
  return std::any_of(endpoint.allow.begin(), endpoint.allow.end(), [](const Matcher& matcher) {
    const bool calls =
        matcher.method.empty() || matcher.method == kToolsCall || matcher.method == "tools/*";
    return !matcher.tool.empty() || (calls && !matcher.params_name.empty());
  });
}

// All methods of MCP, but for tools where rules name some.
bool AllowsAsKnown(const Endpoint& endpoint, const std::string& method) {
  if (!endpoint.rpc.allow_all_known_methods) return false;
  if (method == kToolsCall && NamesTools(endpoint)) return false;
  return std::find(std::begin(kMcpMethods), std::end(kMcpMethods), method) != std::end(kMcpMethods);
}

bool IsStrictToolName(const std::string& name) {
  const auto valid = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
  };
  return !name.empty() && name.size() <= kMaxToolBytes &&
         std::all_of(name.begin(), name.end(), valid);
}

Verdict JudgeMcpCall(const std::vector<Pair>& pairs, const Call& call) {
  const bool tool = call.method == kToolsCall;
  if (tool && !call.name) {
    return Refuse(Refusal::kPolicyDenied, "a call of a tool without `params.name`");
  }
  const bool strict = std::any_of(pairs.begin(), pairs.end(), [](const Pair& pair) {
    return pair.endpoint->rpc.strict_tool_names;
  });
  if (tool && strict && !IsStrictToolName(*call.name)) {
    return Deny("the name of the tool `" + Shown(*call.name) +
                "` is not of [A-Za-z0-9_.-]{1,128}, and mcp.strict_tool_names is set");
  }
  const std::string denied_by = DeniedBy(pairs, call, MatchesMcp);
  if (!denied_by.empty()) return Deny(What(call) + " is denied by " + denied_by);
  for (const Pair& pair : pairs) {
    if (AllowsAsKnown(*pair.endpoint, call.method)) return {};
    if (AnyAllows(pair.endpoint->allow, call, MatchesMcp)) return {};
  }
  return Deny("no rule allows " + What(call),
              {.method = call.method, .tool = tool ? *call.name : ""});
}

// What a header says, if it is there, is what the message says.
bool Agrees(const Request& request, std::string_view name, const std::optional<std::string>& said) {
  const bool present = std::any_of(request.headers.begin(), request.headers.end(),
                                   [&](const Field& header) { return header.name == name; });
  const HeaderValue header = FindHeader(request, name);
  return !present || (!header.twice && said && header.value == *said);
}

Verdict CheckJsonPost(const Request& request) {
  if (request.method != "POST") {
    return Deny("a message of JSON-RPC is sent by POST, not by " + Shown(request.method));
  }
  if (MediaTypeOf(request) == "application/json") return {};
  return Refuse(Refusal::kUnsupportedEncoding,
                "a message of JSON-RPC is application/json in UTF-8");
}

}  // namespace

Verdict JudgeJsonRpc(const std::vector<Pair>& pairs, const Request& request) {
  Verdict verdict = CheckJsonPost(request);
  if (!verdict.allowed()) return verdict;
  const Result<Json> json = ParseJson(request.body);
  if (!json.ok()) return NotJson(json.status());
  const std::vector<Json> one = json->IsArray() ? std::vector<Json>{} : std::vector<Json>{*json};
  const std::vector<Json>& messages = json->IsArray() ? json->items : one;
  if (messages.empty() || messages.size() > kMaxBatch) {
    return Unreadable("a batch has 1 to 64 members").verdict;
  }
  for (const Json& message : messages) {
    const Reading reading = ReadCall(message);
    if (!reading.verdict.allowed()) return reading.verdict;
    Verdict member = JudgeRpcCall(pairs, reading.call);
    if (verdict.allowed()) verdict = std::move(member);
  }
  return verdict;
}

Verdict JudgeMcp(const std::vector<Pair>& pairs, const Request& request) {
  if (request.method == "GET") return {};
  Verdict verdict = CheckJsonPost(request);
  if (!verdict.allowed()) return verdict;
  const Result<Json> json = ParseJson(request.body);
  if (!json.ok()) return NotJson(json.status());
  if (json->IsArray()) {
    return Refuse(Refusal::kPolicyDenied, "MCP has no batches");
  }
  const Reading reading = ReadCall(*json);
  if (!reading.verdict.allowed()) return reading.verdict;
  if (!Agrees(request, "mcp-method", reading.call.method) ||
      !Agrees(request, "mcp-name", reading.call.name)) {
    return Refuse(Refusal::kMalformed,
                  "the headers Mcp-Method or Mcp-Name differ from the message");
  }
  return JudgeMcpCall(pairs, reading.call);
}

}  // namespace odyssey::egress
