#include "policy/dialect/openshell_matcher.h"

#include <algorithm>

#include "policy/dialect/openshell_empty.h"
#include "policy/egress/names.h"
#include "policy/egress/pattern.h"

namespace odyssey::dialect::openshell {
namespace {

constexpr size_t kMaxMatchers = 256;
constexpr size_t kMaxToolBytes = 128;
constexpr char kToolsCall[] = "tools/call";

using FieldNames = std::vector<std::string_view>;

// What a protocol's requests can be matched by.
FieldNames FieldsOf(egress::Protocol protocol) {
  switch (protocol) {
    case egress::Protocol::kRest:
      return {"method", "path", "query"};
    case egress::Protocol::kWebSocket:
      return {"method", "path", "query", "operation_type", "operation_name", "fields"};
    case egress::Protocol::kGraphQl:
      return {"operation_type", "operation_name", "fields"};
    case egress::Protocol::kMcp:
      return {"method", "tool", "params"};
    case egress::Protocol::kJsonRpc:
      return {"method"};
    case egress::Protocol::kSql:
      return {"command"};
    case egress::Protocol::kL4:
    case egress::Protocol::kTcp:
      break;
  }
  return {};
}

std::string ReadText(MapReader* map, std::string_view name) {
  const std::optional<Text> text = map->String(name);
  if (!text) return "";
  if (text->value.empty()) map->source().Invalid(text->line, text->key, "cannot be empty");
  return text->value;
}

std::vector<std::string> ReadTexts(MapReader* map, std::string_view name) {
  std::vector<std::string> texts;
  for (Text& text : map->Strings(name)) {
    if (text.value.empty()) map->source().Invalid(text.line, text.key, "cannot be empty");
    texts.push_back(std::move(text.value));
  }
  return texts;
}

// query: {key: PATTERN} or {key: {any: [PATTERN, …]}}.
std::vector<egress::QueryMatch> ReadQuery(MapReader* map) {
  std::vector<egress::QueryMatch> matches;
  const Node* node = map->Any("query");
  if (node == nullptr) return matches;
  MapReader query(&map->source(), node, map->KeyOf("query"));
  for (size_t i = 0; query.present() && i < node->keys.size(); ++i) {
    const Key& key = node->keys[i];
    egress::QueryMatch match{.name = key.name};
    if (node->items[i].kind == NodeKind::kMap) {
      MapReader member = query.Map(key.name);
      match.any = ReadTexts(&member, "any");
      member.Finish();
    } else if (std::optional<Text> text = query.String(key.name, Need::kRequired)) {
      match.any.push_back(std::move(text->value));
    }
    matches.push_back(std::move(match));
  }
  return matches;
}

egress::Matcher ReadFields(MapReader* map) {
  egress::Matcher matcher;
  matcher.method = ReadText(map, "method");
  if (const std::optional<Text> path = map->String("path")) {
    const Status status = egress::CheckPathPattern("path", path->value);
    if (!status.ok()) map->source().Invalid(path->line, path->key, status.message());
    matcher.path = path->value;
  }
  matcher.query = ReadQuery(map);
  matcher.operation_type = map->Enum<std::string>(
      "operation_type",
      {{"query", "query"}, {"mutation", "mutation"}, {"subscription", "subscription"}, {"*", "*"}},
      "");
  matcher.operation_name = ReadText(map, "operation_name");
  matcher.fields = ReadTexts(map, "fields");
  matcher.tool = ReadText(map, "tool");
  MapReader params = map->Map("params");
  matcher.params_name = ReadText(&params, "name");
  params.Finish();
  matcher.command = ReadText(map, "command");
  return matcher;
}

bool IsOneOf(std::string_view name, const FieldNames& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Every field that is there belongs to the protocol, and there is one.
void CheckFields(const MapReader& map, egress::Protocol protocol) {
  static const FieldNames all = {"method", "path", "query",  "operation_type", "operation_name",
                                 "fields", "tool", "params", "command"};
  const FieldNames allowed = FieldsOf(protocol);
  if (IsEmpty(*map.node())) {
    map.source().Invalid(map.line(), map.key(),
                         "matches everything: name what it matches by (" + Quoted(allowed) +
                             "), or use `access: full`");
  }
  for (const Key& key : map.node()->keys) {
    RefuseEmpty(map, key.name);
    if (IsOneOf(key.name, allowed) || !IsOneOf(key.name, all)) continue;
    map.source().Invalid(key.line, map.KeyOf(key.name),
                         "protocol " + egress::NameOf(protocol, egress::ProtocolNames()) +
                             " does not match by it, but by " + Quoted(allowed));
  }
}

bool IsHttpMethod(const std::string& method) {
  static constexpr std::string_view kMethods[] = {"GET",     "HEAD",           "POST",    "PUT",
                                                  "PATCH",   "DELETE",         "OPTIONS", "TRACE",
                                                  "CONNECT", "WEBSOCKET_TEXT", "*"};
  return std::find(std::begin(kMethods), std::end(kMethods), method) != std::end(kMethods);
}

bool HasStar(const std::string& text) { return text.find('*') != std::string::npos; }

bool IsToolName(const std::string& name) {
  return name.size() <= kMaxToolBytes && std::all_of(name.begin(), name.end(), [](char c) {
           const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
           return letter || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-' || c == '*';
         });
}

// Of the methods only tools/call names a tool.
bool MayCallATool(const std::string& method) {
  return method.empty() || method == kToolsCall || method == "tools/*";
}

void CheckMcp(const MapReader& map, const egress::Matcher& matcher, bool strict) {
  const auto refuse = [&](const char* name, const std::string& why) {
    map.source().Invalid(map.line(), map.KeyOf(name), why);
  };
  if (HasStar(matcher.method) && matcher.method != "*" && matcher.method != "tools/*") {
    refuse("method", "a method is exact, `*` or `tools/*`: `" + matcher.method + "`");
  }
  if (!matcher.tool.empty() && !matcher.params_name.empty()) {
    refuse("tool", "is the same as `params.name` of tools/call: give one");
  }
  if (!matcher.tool.empty() && !MayCallATool(matcher.method)) {
    refuse("tool", "goes with the method tools/call, not with `" + matcher.method + "`");
  }
  if (HasStar(matcher.params_name) && !MayCallATool(matcher.method)) {
    refuse("params.name", "a pattern goes with tools/call only: `" + matcher.params_name + "`");
  }
  const std::string& name = matcher.tool.empty() ? matcher.params_name : matcher.tool;
  if (strict && MayCallATool(matcher.method) && !IsToolName(name)) {
    refuse(matcher.tool.empty() ? "params.name" : "tool",
           "must match [A-Za-z0-9_.-]{1,128}, or have `*` for any part, unless "
           "mcp.strict_tool_names is false: `" +
               name + "`");
  }
}

void CheckMatcher(const MapReader& map, const egress::Matcher& matcher,
                  const egress::Endpoint& endpoint) {
  const Source& source = map.source();
  switch (endpoint.protocol) {
    case egress::Protocol::kRest:
    case egress::Protocol::kWebSocket:
      if (matcher.method.empty() || IsHttpMethod(matcher.method)) return;
      source.Warn(map.line(), map.KeyOf("method"),
                  "`" + matcher.method + "` is no method of HTTP; their case counts");
      return;
    case egress::Protocol::kJsonRpc:
      if (!HasStar(matcher.method) || matcher.method == "*") return;
      source.Invalid(map.line(), map.KeyOf("method"),
                     "a method is exact or `*`: `" + matcher.method + "`");
      return;
    case egress::Protocol::kMcp:
      CheckMcp(map, matcher, endpoint.rpc.strict_tool_names);
      return;
    default:
      return;
  }
}

egress::Matcher ReadMatcher(MapReader map, const egress::Endpoint& endpoint) {
  egress::Matcher matcher = ReadFields(&map);
  map.Finish();
  CheckFields(map, endpoint.protocol);
  CheckMatcher(map, matcher, endpoint);
  return matcher;
}

// The entries of a list; one that is there and empty is reported.
std::vector<MapReader> ListOf(MapReader* map, std::string_view name, const std::string& instead) {
  const Node* node = Find(*map->node(), name);
  if (node != nullptr && node->kind == NodeKind::kList && node->items.empty()) {
    map->source().Invalid(node->line, map->KeyOf(name), "is empty: " + instead);
  }
  return map->Maps(name, kMaxMatchers);
}

bool IsBareToolsCall(const egress::Matcher& matcher) {
  const std::string& method = matcher.method;
  const bool calls = method == kToolsCall || method == "tools/*" || method == "*";
  return calls && matcher.tool.empty() && matcher.params_name.empty();
}

bool NamesATool(const egress::Matcher& matcher) {
  if (!matcher.tool.empty()) return true;
  return MayCallATool(matcher.method) && !matcher.params_name.empty();
}

// A rule for every tools/call beside rules for some tools: one of them has no effect.
void CheckToolsCall(const MapReader& map, const egress::Endpoint& endpoint) {
  if (endpoint.protocol != egress::Protocol::kMcp) return;
  const auto any = [](const std::vector<egress::Matcher>& matchers,
                      bool (*is)(const egress::Matcher&)) {
    return std::any_of(matchers.begin(), matchers.end(), is);
  };
  if (!any(endpoint.allow, NamesATool)) return;
  if (any(endpoint.allow, IsBareToolsCall)) {
    map.source().Invalid(map.line(), map.KeyOf("rules"),
                         "a rule for tools/call without a tool conflicts with the rules that name "
                         "tools: it allows them all");
  }
  if (any(endpoint.deny, IsBareToolsCall)) {
    map.source().Invalid(map.line(), map.KeyOf("deny_rules"),
                         "a rule for tools/call without a tool conflicts with the rules that name "
                         "tools: it denies them all");
  }
}

}  // namespace

void ReadMatchers(MapReader* map, egress::Endpoint* endpoint) {
  for (MapReader& rule : ListOf(map, "rules", "it would allow nothing; use `access`, or rules")) {
    const MapReader allow = rule.Map("allow", Need::kRequired);
    if (allow.present()) endpoint->allow.push_back(ReadMatcher(allow, *endpoint));
    rule.Finish();
  }
  for (const MapReader& deny : ListOf(map, "deny_rules", "leave it out to deny nothing")) {
    endpoint->deny.push_back(ReadMatcher(deny, *endpoint));
  }
  CheckToolsCall(*map, *endpoint);
}

}  // namespace odyssey::dialect::openshell
