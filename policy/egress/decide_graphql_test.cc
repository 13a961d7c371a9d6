#include <gtest/gtest.h>

#include "common/base/sha256.h"
#include "policy/egress/decide.h"

namespace odyssey::egress {
namespace {

const Connection kConnection{"g.example.com", 443, {}};

Endpoint ByRules(std::vector<Matcher> allow, std::vector<Matcher> deny = {}) {
  return {.host = "g.example.com",
          .ports = {443},
          .protocol = Protocol::kGraphQl,
          .allow = std::move(allow),
          .deny = std::move(deny),
          .key = "e"};
}

Endpoint ByAccess(AccessLevel access) {
  Endpoint endpoint = ByRules({});
  endpoint.access = access;
  return endpoint;
}

int StatusOf(const Decision& decision) {
  if (decision.audited) return 299;
  return decision.allowed ? 200 : HttpStatusOf(decision.refusal);
}

int Status(const Endpoint& endpoint, const Request& request) {
  const Rule rule;
  return StatusOf(DecideRequest(kConnection, {{&rule, &endpoint}}, request));
}

Request Post(const std::string& body, const std::string& type = "application/json") {
  return {.method = "POST",
          .path = "/graphql",
          .query = {},
          .headers = {{"content-type", type}},
          .body = body};
}

// {"query": document, …}. The document has no quotes.
std::string Body(const std::string& document, const std::string& more = "") {
  return R"({"query":")" + document + "\"" + more + "}";
}

const Endpoint& Viewer() {
  static const Endpoint endpoint =
      ByRules({{.operation_type = "query", .fields = {"viewer", "repo*"}},
               {.operation_type = "mutation", .operation_name = "Add*", .fields = {"addStar"}}},
              {{.operation_type = "query", .fields = {"repoSecrets"}}});
  return endpoint;
}

TEST(DecideGraphQlTest, EveryRootFieldIsAllowedAndNoneDenied) {
  const std::pair<std::string, int> cases[] = {
      {Body("{viewer{login}}"), 200},
      {Body("{viewer{login} repository{id}}"), 200},
      {Body("{viewer{login} users{id}}"), 403},
      {Body("{viewer: users{id}}"), 403},
      {Body("{x: viewer{id}}"), 200},
      {Body("{...F} fragment F on Query {users{id}}"), 403},
      {Body("{... on Query {users{id}}}"), 403},
      {Body("{repoSecrets{id}}"), 403},
      {Body("{viewer{id} x: repoSecrets{id}}"), 403},
      {Body("mutation {addStar}"), 403},
      {Body("mutation AddIt {addStar}"), 200},
      {Body("mutation AddIt {deleteAll}"), 403},
      {Body("subscription {viewer{id}}"), 403},
      {Body("{__schema{types{name}}}"), 403},
      {Body("query A{viewer{id}} mutation B{deleteAll}", R"(,"operationName":"A")"), 200},
      {Body("query A{viewer{id}} mutation B{deleteAll}", R"(,"operationName":"B")"), 403},
      {Body("query A{viewer{id}} mutation B{deleteAll}", R"(,"operationName":"C")"), 403},
      {Body("query A{viewer{id}} query B{viewer{id}}"), 403},
      {Body("query A{viewer{id}} query B{viewer{id}}", R"(,"operationName":"")"), 403},
      {Body("query A{viewer{id}} query B{viewer{id}}", R"(,"operationName":null)"), 403},
      {Body("{viewer{id}}", R"(,"operationName":["A"])"), 403},
      {Body("{viewer{id}", ""), 403},
      {Body("", ""), 403},
      {R"({"variables":{}})", 403},
      {R"({"query":null})", 403},
      {R"({"query":["{viewer{id}}"]})", 403},
      {"{", 403},
      {"\"{viewer{id}}\"", 403},
      {R"({"query":"{viewer{id}}","query":"{users{id}}"})", 400},
      {R"({"query":"{viewer{id}}","Query":"{users{id}}"})", 400},
      {R"({"query":"{viewer{id}}","id":"abc"})", 403},
      {"[" + Body("{viewer{id}}") + "," + Body("{repository{id}}") + "]", 200},
      {"[" + Body("{viewer{id}}") + "," + Body("{users{id}}") + "]", 403},
      {"[" + Body("{viewer{id}}") + ",{}]", 403},
      {"[]", 403},
  };
  for (const auto& [body, status] : cases) EXPECT_EQ(Status(Viewer(), Post(body)), status) << body;
}

TEST(DecideGraphQlTest, AccessIsAListOfTypes) {
  const struct {
    const char* document;
    int read_only, read_write, full;
  } cases[] = {{"{a}", 200, 200, 200},
               {"mutation {a}", 403, 200, 200},
               {"subscription {a}", 403, 403, 200},
               {"{a", 403, 403, 403}};
  for (const auto& one : cases) {
    const Request request = Post(Body(one.document));
    EXPECT_EQ(Status(ByAccess(AccessLevel::kReadOnly), request), one.read_only) << one.document;
    EXPECT_EQ(Status(ByAccess(AccessLevel::kReadWrite), request), one.read_write) << one.document;
    EXPECT_EQ(Status(ByAccess(AccessLevel::kFull), request), one.full) << one.document;
  }
}

TEST(DecideGraphQlTest, IsReadFromTheUrlOfAGet) {
  const auto get = [](std::vector<Field> query) {
    return Status(Viewer(), {.method = "GET", .path = "/graphql", .query = std::move(query)});
  };
  EXPECT_EQ(get({{"query", "{viewer{id}}"}}), 200);
  EXPECT_EQ(get({{"query", "{users{id}}"}}), 403);
  EXPECT_EQ(get({{"query", "{viewer{id}}"}, {"query", "{viewer{id}}"}}), 400);
  EXPECT_EQ(get({{"query", "query A{viewer{id}} query B{users{id}}"}, {"operationName", "A"}}),
            200);
  EXPECT_EQ(get({{"query", "query A{viewer{id}} query B{users{id}}"}, {"operationName", "B"}}),
            403);
  EXPECT_EQ(get({{"query", "{viewer{id}}"}, {"id", "x"}}), 403);
  EXPECT_EQ(get({}), 403);
  Request post = Post(Body("{viewer{id}}"));
  post.query = {{"query", "{users{id}}"}};
  EXPECT_EQ(Status(Viewer(), post), 400);
}

TEST(DecideGraphQlTest, IsOneOfTheBodiesThatAreRead) {
  EXPECT_EQ(Status(Viewer(), Post("{viewer{id}}", "application/graphql")), 200);
  EXPECT_EQ(Status(Viewer(), Post("{users{id}}", "application/graphql")), 403);
  for (const char* type :
       {"", "text/plain", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded",
        "application/json; charset=utf-7"}) {
    EXPECT_EQ(Status(Viewer(), Post(Body("{viewer{id}}"), type)), 415) << type;
  }
  Request request = Post(Body("{viewer{id}}"));
  request.headers.push_back({"content-encoding", "gzip"});
  EXPECT_EQ(Status(Viewer(), request), 415);
  Endpoint small = Viewer();
  small.graphql.max_body_bytes = 10;
  EXPECT_EQ(Status(small, Post(Body("{viewer{id}}"))), 413);
  request = Post(Body("{viewer{id}}"));
  request.method = "PUT";
  EXPECT_EQ(Status(Viewer(), request), 403);
}

TEST(DecideGraphQlTest, PersistedQueriesAreRegistered) {
  const auto persisted = [](const std::string& hash) {
    return R"({"extensions":{"persistedQuery":{"version":1,"sha256Hash":")" + hash + R"("}}})";
  };
  Endpoint endpoint = Viewer();
  EXPECT_EQ(Status(endpoint, Post(persisted("abc"))), 403);
  endpoint.graphql.allow_registered = true;
  endpoint.graphql.registered = {
      {.hash = "abc", .operation_type = "query", .operation_name = "", .fields = {"viewer"}},
      {.hash = "bad", .operation_type = "query", .operation_name = "", .fields = {"users"}},
      {.hash = "bare", .operation_type = "query", .operation_name = "", .fields = {}}};
  EXPECT_EQ(Status(endpoint, Post(persisted("abc"))), 200);
  EXPECT_EQ(Status(endpoint, Post(persisted("bad"))), 403);
  EXPECT_EQ(Status(endpoint, Post(persisted("ABC"))), 403);
  EXPECT_EQ(Status(endpoint, Post(persisted("bare"))), 403);
  endpoint.deny = {};
  endpoint.allow = {{.operation_type = "query"}};
  EXPECT_EQ(Status(endpoint, Post(persisted("bare"))), 200);
  // A document with its hash is decided by the document; another hash would name another one.
  const auto both = [&](const std::string& hash) {
    return Body("{viewer{id}}",
                R"(,"extensions":{"persistedQuery":{"sha256Hash":")" + hash + R"("}})");
  };
  EXPECT_EQ(Status(Viewer(), Post(both(Sha256Hex("{viewer{id}}")))), 200);
  EXPECT_EQ(Status(Viewer(), Post(both(Sha256Hex("{users{id}}")))), 403);
}

TEST(DecideGraphQlTest, AuditLetsThroughWhatCanBeRead) {
  Endpoint audit = Viewer();
  audit.enforcement = Enforcement::kAudit;
  EXPECT_EQ(Status(audit, Post(Body("{users{id}}"))), 299);
  EXPECT_EQ(Status(audit, Post(Body("{users{id}"))), 403);
  EXPECT_EQ(Status(audit, Post(Body("{a}", R"(,"query":"{b}")"))), 400);
}

TEST(DecideMessageTest, ReadsOperationsWhereRulesNameThem) {
  Endpoint endpoint =
      ByRules({{.method = "GET", .path = "/ws"},
               {.path = "/ws", .operation_type = "subscription", .fields = {"news"}}});
  endpoint.protocol = Protocol::kWebSocket;
  const Rule rule;
  const Request upgrade = {.method = "GET", .path = "/ws"};
  const auto say = [&](const std::string& text) {
    return StatusOf(DecideMessage(kConnection, {{&rule, &endpoint}}, upgrade, text));
  };
  const auto start = [](const std::string& type, const std::string& document) {
    return R"({"id":"1","type":")" + type + R"(","payload":)" + Body(document) + "}";
  };
  EXPECT_EQ(say(start("subscribe", "subscription {news}")), 200);
  EXPECT_EQ(say(start("start", "subscription {news}")), 200);
  EXPECT_EQ(say(start("subscribe", "subscription {prices}")), 403);
  EXPECT_EQ(say(start("subscribe", "mutation {news}")), 403);
  EXPECT_EQ(say(start("other", "subscription {news}")), 403);
  EXPECT_EQ(say(R"({"type":"connection_init","payload":{}})"), 200);
  EXPECT_EQ(say(R"({"type":"ping"})"), 200);
  EXPECT_EQ(say(R"({"type":"ping","type":"subscribe"})"), 400);
  EXPECT_EQ(say(R"({"type":"subscribe"})"), 403);
  EXPECT_EQ(say("hello"), 403);
}

}  // namespace
}  // namespace odyssey::egress
