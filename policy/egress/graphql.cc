#include "policy/egress/graphql.h"

#include <algorithm>
#include <optional>
#include <set>

#include "common/base/sha256.h"
#include "policy/egress/glob.h"
#include "policy/egress/graphql_document.h"
#include "policy/egress/json.h"
#include "policy/egress/rest.h"

namespace odyssey::egress {
namespace {

constexpr size_t kMaxBatch = 64;

// One operation as the client asked for it.
struct Asked {
  std::optional<std::string> document;
  std::string operation_name;
  std::string hash;  // of a persisted query
};

// What refuses the request, or the operations of all its members.
struct Reading {
  Verdict verdict;
  std::vector<GraphQlOperation> operations;
};

Reading Malformed(const std::string& why) {
  return {Refuse(Refusal::kPolicyDenied, "the request cannot be read as GraphQL: " + why), {}};
}

Reading BadRequest(const std::string& why) {
  return {Refuse(Refusal::kMalformed, "the request cannot be read as GraphQL: " + why), {}};
}

Reading NotJson(const Status& status) {
  return status.code() == Code::kAlreadyExists ? BadRequest(status.message())
                                               : Malformed(status.message());
}

// ── which operation it is ──

const PersistedQuery* FindRegistered(const std::vector<Pair>& pairs, const std::string& hash) {
  for (const Pair& pair : pairs) {
    const GraphQl& graphql = pair.endpoint->graphql;
    if (!graphql.allow_registered) continue;
    for (const PersistedQuery& query : graphql.registered) {
      if (query.hash == hash) return &query;
    }
  }
  return nullptr;
}

Reading ReadPersisted(const std::vector<Pair>& pairs, const Asked& asked) {
  const PersistedQuery* query = FindRegistered(pairs, asked.hash);
  if (query == nullptr) {
    return {Deny("the persisted query `" + Shown(asked.hash) + "` is not registered in the policy"),
            {}};
  }
  const bool named = !asked.operation_name.empty() && !query->operation_name.empty();
  if (named && asked.operation_name != query->operation_name) {
    return Malformed("the persisted query has another operation");
  }
  return {{}, {{query->operation_type, query->operation_name, query->fields}}};
}

// The server keeps a document under the hash that comes with it.
bool IsHashOf(const std::string& hash, const std::string& document) {
  return hash == Sha256Hex(document);
}

Reading ReadOperation(const std::vector<Pair>& pairs, const Asked& asked) {
  if (!asked.document) {
    return asked.hash.empty() ? Malformed("no `query`") : ReadPersisted(pairs, asked);
  }
  if (!asked.hash.empty() && !IsHashOf(asked.hash, *asked.document)) {
    return Malformed("the hash of the persisted query is not that of `query`");
  }
  const Result<std::vector<GraphQlOperation>> operations = ParseGraphQl(*asked.document);
  if (!operations.ok()) return Malformed(operations.status().message());
  if (asked.operation_name.empty() && operations->size() > 1) {
    return Malformed("several operations and no operationName");
  }
  if (asked.operation_name.empty()) return {{}, {operations->front()}};
  for (const GraphQlOperation& operation : *operations) {
    if (operation.name == asked.operation_name) return {{}, {operation}};
  }
  return Malformed("no operation has the operationName");
}

// `extensions.persistedQuery.sha256Hash`; false: it has another form.
bool ReadExtensions(const Json* extensions, Asked* out) {
  if (extensions == nullptr || extensions->IsNull()) return true;
  if (!extensions->IsObject() || !LookAlike(*extensions, {"persistedQuery"}).empty()) return false;
  const Json* persisted = extensions->Find("persistedQuery");
  if (persisted == nullptr || persisted->IsNull()) return true;
  if (!persisted->IsObject() || !LookAlike(*persisted, {"sha256Hash"}).empty()) return false;
  const Json* hash = persisted->Find("sha256Hash");
  if (hash == nullptr || !hash->IsString() || hash->text.empty()) return false;
  out->hash = hash->text;
  return true;
}

// A string, or nothing; false: something else.
bool ReadText(const Json* json, std::optional<std::string>* out) {
  if (json == nullptr || json->IsNull()) return true;
  if (!json->IsString()) return false;
  *out = json->text;
  return true;
}

// `{"query": …, "operationName": …, "extensions": …}`. Names by which servers know persisted
// queries otherwise are not read: such a request has no `query`, or another one beside it.
Reading ReadMember(const std::vector<Pair>& pairs, const Json& member) {
  static const std::vector<std::string_view> kNames = {"query", "operationName", "extensions"};
  static const std::vector<std::string_view> kOtherNames = {"id",         "doc_id",  "docId",
                                                            "documentId", "queryId", "hash"};
  if (!member.IsObject()) return Malformed("not an object");
  const std::string look_alike = LookAlike(member, kNames);
  if (!look_alike.empty()) return BadRequest("the key `" + Shown(look_alike) + "`");
  for (const std::string_view name : kOtherNames) {
    if (member.Find(name) == nullptr && LookAlike(member, {name}).empty()) continue;
    return Malformed("a persisted query is named by extensions.persistedQuery.sha256Hash only");
  }
  Asked asked;
  std::optional<std::string> name;
  const bool read = ReadText(member.Find("query"), &asked.document) &&
                    ReadText(member.Find("operationName"), &name) &&
                    ReadExtensions(member.Find("extensions"), &asked);
  if (!read) return Malformed("a member has another type");
  asked.operation_name = name.value_or("");
  return ReadOperation(pairs, asked);
}

Reading ReadBody(const std::vector<Pair>& pairs, const std::string& body) {
  const Result<Json> json = ParseJson(body);
  if (!json.ok()) return NotJson(json.status());
  if (!json->IsArray()) return ReadMember(pairs, *json);
  if (json->items.empty() || json->items.size() > kMaxBatch) {
    return Malformed("a batch has 1 to 64 members");
  }
  Reading all;
  for (const Json& member : json->items) {
    Reading one = ReadMember(pairs, member);
    if (!one.verdict.allowed()) return one;
    all.operations.insert(all.operations.end(), one.operations.begin(), one.operations.end());
  }
  return all;
}

// ── from HTTP ──

bool IsOperationParameter(const std::string& name) {
  static constexpr std::string_view kNames[] = {
      "query",  "operationName", "variables",  "extensions", "id",
      "doc_id", "docId",         "documentId", "queryId",    "hash"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

Reading ReadGet(const std::vector<Pair>& pairs, const Request& request) {
  Asked asked;
  std::set<std::string> seen;
  for (const Field& field : request.query) {
    if (!IsOperationParameter(field.name)) continue;
    if (!seen.insert(field.name).second) {
      return BadRequest("`" + field.name + "` is there twice");
    }
    if (field.name == "query") {
      asked.document = field.value;
    } else if (field.name == "operationName") {
      asked.operation_name = field.value;
    } else if (field.name == "extensions") {
      const Result<Json> extensions = ParseJson(field.value);
      if (!extensions.ok()) return NotJson(extensions.status());
      if (!ReadExtensions(&*extensions, &asked)) return Malformed("`extensions`");
    } else if (field.name != "variables") {
      return Malformed("a persisted query is named by extensions.persistedQuery.sha256Hash only");
    }
  }
  return ReadOperation(pairs, asked);
}

Reading ReadPost(const std::vector<Pair>& pairs, const Request& request) {
  // Servers differ in whether the URL or the body counts.
  const bool in_url =
      std::any_of(request.query.begin(), request.query.end(),
                  [](const Field& field) { return IsOperationParameter(field.name); });
  if (in_url) return BadRequest("a POST with an operation in its URL");
  const std::string type = MediaTypeOf(request);
  if (type == "application/graphql") return ReadOperation(pairs, {.document = request.body});
  if (type == "application/json") return ReadBody(pairs, request.body);
  return {Refuse(Refusal::kUnsupportedEncoding,
                 "GraphQL is read as application/json or application/graphql in UTF-8"),
          {}};
}

Reading ReadRequest(const std::vector<Pair>& pairs, const Request& request) {
  if (request.method == "GET") return ReadGet(pairs, request);
  if (request.method == "POST") return ReadPost(pairs, request);
  return {Deny("GraphQL is sent by GET or POST, not by " + Shown(request.method)), {}};
}

// ── whether it is allowed ──

// The matchers of an endpoint that are about this request of HTTP, or about none in particular.
bool IsAbout(const Matcher& matcher, const GraphQlOperation& operation, const std::string& method,
             const std::string& path) {
  if (!MatchesMethodAndPath(matcher, method, path)) return false;
  const std::string& type = matcher.operation_type;
  if (!type.empty() && type != "*" && type != operation.type) return false;
  return matcher.operation_name.empty() || TextMatches(matcher.operation_name, operation.name);
}

bool NamesField(const Matcher& matcher, const std::string& field) {
  return matcher.fields.empty() ||
         std::any_of(matcher.fields.begin(), matcher.fields.end(),
                     [&](const std::string& pattern) { return TextMatches(pattern, field); });
}

bool AccessAllows(AccessLevel access, const std::string& type) {
  switch (access) {
    case AccessLevel::kByRules:
      return false;
    case AccessLevel::kReadOnly:
      return type == "query";
    case AccessLevel::kReadWrite:
      return type == "query" || type == "mutation";
    case AccessLevel::kFull:
      return true;
  }
  return false;
}

struct Where {
  std::string method;  // as matchers of a WebSocket name it; "": they have none
  std::string path;
};

bool FieldAllowed(const std::vector<Pair>& pairs, const GraphQlOperation& operation,
                  const std::string& field, const Where& where) {
  return std::any_of(pairs.begin(), pairs.end(), [&](const Pair& pair) {
    const Endpoint& endpoint = *pair.endpoint;
    if (AccessAllows(endpoint.access, operation.type)) return true;
    return std::any_of(endpoint.allow.begin(), endpoint.allow.end(), [&](const Matcher& matcher) {
      return IsAbout(matcher, operation, where.method, where.path) && NamesField(matcher, field);
    });
  });
}

// The rule that denies it, "" if none does.
std::string DeniedBy(const std::vector<Pair>& pairs, const GraphQlOperation& operation,
                     const Where& where) {
  for (const Pair& pair : pairs) {
    const auto& deny = pair.endpoint->deny;
    for (size_t i = 0; i < deny.size(); ++i) {
      if (!IsAbout(deny[i], operation, where.method, where.path)) continue;
      const auto& fields = operation.fields;
      const bool some = std::any_of(fields.begin(), fields.end(), [&](const std::string& field) {
        return NamesField(deny[i], field);
      });
      if (some || fields.empty()) return DenyRule(*pair.endpoint, i);
    }
  }
  return "";
}

Verdict JudgeOperation(const std::vector<Pair>& pairs, const GraphQlOperation& operation,
                       const Where& where) {
  const std::string denied_by = DeniedBy(pairs, operation, where);
  if (!denied_by.empty()) return Deny("the " + operation.type + " is denied by " + denied_by);
  // Of a persisted query the policy need not name fields: then a rule for some does not do.
  const std::vector<std::string> unnamed = {""};
  for (const std::string& field : operation.fields.empty() ? unnamed : operation.fields) {
    if (FieldAllowed(pairs, operation, field, where)) continue;
    return Deny(
        "no rule allows the field `" + Shown(field) + "` of the " + operation.type,
        {.method = where.method, .operation_type = operation.type, .fields = operation.fields});
  }
  return {};
}

Verdict JudgeAll(const std::vector<Pair>& pairs, const Reading& reading, const Where& where) {
  if (!reading.verdict.allowed()) return reading.verdict;
  for (const GraphQlOperation& operation : reading.operations) {
    Verdict verdict = JudgeOperation(pairs, operation, where);
    if (!verdict.allowed()) return verdict;
  }
  return {};
}

}  // namespace

Verdict JudgeGraphQl(const std::vector<Pair>& pairs, const Request& request) {
  return JudgeAll(pairs, ReadRequest(pairs, request), {.method = "", .path = request.path});
}

bool HasOperationRules(const std::vector<Pair>& pairs) {
  return std::any_of(pairs.begin(), pairs.end(), [](const Pair& pair) {
    const auto& allow = pair.endpoint->allow;
    const auto& deny = pair.endpoint->deny;
    return std::any_of(allow.begin(), allow.end(), IsAboutOperations) ||
           std::any_of(deny.begin(), deny.end(), IsAboutOperations);
  });
}

Verdict JudgeGraphQlMessage(const std::vector<Pair>& pairs, const Request& upgrade,
                            const std::string& text) {
  static constexpr std::string_view kStarts[] = {"subscribe", "start"};
  static constexpr std::string_view kOthers[] = {
      "connection_init", "connection_terminate", "ping", "pong", "complete", "stop"};
  const Result<Json> json = ParseJson(text);
  if (!json.ok()) return NotJson(json.status()).verdict;
  const Json* type = json->Find("type");
  if (!json->IsObject() || type == nullptr || !type->IsString() ||
      !LookAlike(*json, {"type", "payload"}).empty()) {
    return Malformed("a message has one `type`").verdict;
  }
  const auto is = [&](std::string_view name) { return type->text == name; };
  if (std::any_of(std::begin(kOthers), std::end(kOthers), is)) return {};
  if (std::none_of(std::begin(kStarts), std::end(kStarts), is)) {
    return Malformed("the type of the message is `" + Shown(type->text) + "`").verdict;
  }
  const Json* payload = json->Find("payload");
  if (payload == nullptr) return Malformed("no `payload`").verdict;
  return JudgeAll(pairs, ReadMember(pairs, *payload),
                  {.method = kWebSocketText, .path = upgrade.path});
}

}  // namespace odyssey::egress
