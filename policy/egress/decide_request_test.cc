#include <gtest/gtest.h>

#include "policy/egress/decide.h"

namespace odyssey::egress {
namespace {

const Connection kConnection{
    "api.example.com", 443, {.path = "/usr/bin/curl", .ancestors = {}, .known = true}};

Endpoint Rest(AccessLevel access) {
  return {.host = "api.example.com",
          .ports = {443},
          .protocol = Protocol::kRest,
          .access = access,
          .key = "e"};
}

Endpoint ByRules(std::vector<Matcher> allow, std::vector<Matcher> deny = {}) {
  Endpoint endpoint = Rest(AccessLevel::kByRules);
  endpoint.allow = std::move(allow);
  endpoint.deny = std::move(deny);
  return endpoint;
}

Decision Decide(const std::vector<Endpoint>& endpoints, const Request& request) {
  static const Rule rule{
      .key = "r", .name = "r", .endpoints = {}, .binaries = {{.path = "/usr/bin/curl"}}};
  std::vector<Pair> pairs;
  for (const Endpoint& endpoint : endpoints) pairs.push_back({&rule, &endpoint});
  Decision decision = DecideRequest(kConnection, pairs, request);
  EXPECT_EQ(decision.refusal == Refusal::kNone, decision.reason.empty());
  for (Pair& pair : decision.pairs) pair = {};
  return decision;
}

// The status: 200, 403…; 299 for a refused request that audit lets through.
int Status(const std::vector<Endpoint>& endpoints, const Request& request) {
  const Decision decision = Decide(endpoints, request);
  if (decision.audited) return 299;
  return decision.allowed ? 200 : HttpStatusOf(decision.refusal);
}

Request Of(const std::string& method, const std::string& path) {
  return {.method = method, .path = path};
}

TEST(DecideRequestTest, AccessIsAListOfMethods) {
  const struct {
    const char* method;
    int read_only, read_write, full;
  } cases[] = {
      {"GET", 200, 200, 200},      {"HEAD", 200, 200, 200},    {"OPTIONS", 200, 200, 200},
      {"POST", 403, 200, 200},     {"PUT", 403, 200, 200},     {"PATCH", 403, 200, 200},
      {"DELETE", 403, 403, 200},  // P-32
      {"get", 403, 403, 403},      {"FOO", 403, 403, 403},     {"", 403, 403, 403},
      {"PROPFIND", 403, 403, 403}, {"CONNECT", 403, 403, 403}, {"WEBSOCKET_TEXT", 403, 403, 403},
      {"TRACE", 405, 405, 405},    {"TRACK", 405, 405, 405},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(Status({Rest(AccessLevel::kReadOnly)}, Of(one.method, "/x")), one.read_only)
        << one.method;
    EXPECT_EQ(Status({Rest(AccessLevel::kReadWrite)}, Of(one.method, "/x")), one.read_write)
        << one.method;
    EXPECT_EQ(Status({Rest(AccessLevel::kFull)}, Of(one.method, "/x")), one.full) << one.method;
  }
}

TEST(DecideRequestTest, RulesAreMethodsAndPaths) {
  const Endpoint endpoint = ByRules(
      {{.method = "GET", .path = "/v1/*"},
       {.method = "POST", .path = "/repos/**"},
       {.method = "*", .path = "/any/**"}},
      {{.method = "POST", .path = "/repos/*/secrets"}, {.method = "GET", .path = "/v1/private"}});
  const struct {
    const char* method;
    const char* path;
    int status;
  } cases[] = {
      {"GET", "/v1/users", 200},         {"HEAD", "/v1/users", 200},  // OS#1382
      {"GET", "/v1/admin/secrets", 403},                              // B-11, OS#2586
      {"POST", "/v1/users", 403},        {"GET", "/v1", 403},
      {"POST", "/repos", 200},           {"POST", "/repos/a/b/c", 200},
      {"POST", "/repos/a/secrets", 403}, {"GET", "/v1/private", 403},
      {"HEAD", "/v1/private", 403},      {"DELETE", "/any/x", 200},
      {"TRACE", "/any/x", 405},          {"FOO", "/any/x", 403},
      {"get", "/v1/users", 403},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(Status({endpoint}, Of(one.method, one.path)), one.status)
        << one.method << " " << one.path;
  }
}

TEST(DecideRequestTest, APathIsCanonical) {
  const Endpoint endpoint = ByRules({{.method = "GET", .path = "/public/**"}});
  for (const char* path :
       {"/public/../secret", "/public/..", "/./public", "/public/.", "//secret", "/public//x",
        "/public\\x", "/public/a\nb", "public", "", "*", "http://x/public", "/public/%2e%2E/secret",
        "/public%2fsecret", "/public/%5C", "/public/a%00"}) {
    EXPECT_EQ(Status({endpoint}, Of("GET", path)), 400) << path;  // P-35
  }
  EXPECT_EQ(Status({endpoint}, Of("GET", "/public/..x")), 200);
  EXPECT_EQ(Status({endpoint}, Of("GET", "/public/100%")), 200);
  Endpoint slash = endpoint;
  slash.allow_encoded_slash = true;
  EXPECT_EQ(Status({slash}, Of("GET", "/public/a%2Fb")), 200);
  EXPECT_EQ(Status({slash}, Of("GET", "/public%2Fb")), 403);
  EXPECT_EQ(Status({slash}, Of("GET", "/public/a%2F..%2f..%2Fsecret")), 400);
  EXPECT_EQ(Status({slash, endpoint}, Of("GET", "/public/a%2Fb")), 400);
  EXPECT_EQ(Status({endpoint}, Of("GET", "/secret")), 403);
  EXPECT_EQ(Status({Rest(AccessLevel::kFull)}, Of("OPTIONS", "*")), 200);
  EXPECT_EQ(Status({endpoint}, Of("OPTIONS", "*")), 403);
}

TEST(DecideRequestTest, EveryValueOfAnAllowedKeyAndAnyOfADeniedOne) {
  const Endpoint allow =
      ByRules({{.method = "GET", .path = "/v1/**", .query = {{"tag", {"v1*", "w"}}}}});
  const Endpoint deny = ByRules({{.method = "GET", .path = "/v1/**"}},
                                {{.path = "/v1/**", .query = {{"tag", {"v2*"}}}}});
  const struct {
    std::vector<Field> query;
    int allowed, denied;
  } cases[] = {
      {{{"tag", "v1"}}, 200, 200},  // P-34
      {{{"tag", "v2"}}, 403, 403},
      {{{"tag", "v1"}, {"tag", "v2"}}, 403, 403},
      {{{"tag", "v1"}, {"tag", "w"}, {"x", "y"}}, 200, 200},
      {{}, 403, 200},
      {{{"Tag", "v1"}}, 403, 200},
      {{{"tag", ""}}, 403, 200},
      {{{"x", "v2"}}, 403, 200},
  };
  for (const auto& one : cases) {
    Request request = Of("GET", "/v1/x");
    request.query = one.query;
    EXPECT_EQ(Status({allow}, request), one.allowed);
    EXPECT_EQ(Status({deny}, request), one.denied);
  }
}

TEST(DecideRequestTest, AMethodByAnotherNameIsDecidedToo) {
  const Endpoint endpoint =
      ByRules({{.method = "POST", .path = "/x"}, {.method = "PUT", .path = "/x"}});
  for (const char* name : {"x-http-method-override", "x-method-override", "x-http-method"}) {
    Request request = Of("POST", "/x");
    request.headers = {{name, "DELETE"}};
    EXPECT_EQ(Status({endpoint}, request), 403) << name;
    request.headers = {{name, " delete "}};
    EXPECT_EQ(Status({endpoint}, request), 403) << name;
    request.headers = {{name, "put"}};
    EXPECT_EQ(Status({endpoint}, request), 200) << name;
    request.headers = {{name, "put"}, {name, "delete"}};
    EXPECT_EQ(Status({endpoint}, request), 403) << name;
    EXPECT_EQ(Status({Rest(AccessLevel::kFull)}, request), 200) << name;
    EXPECT_EQ(Status({Rest(AccessLevel::kReadWrite)}, request), 403) << name;
  }
  Request query = Of("POST", "/x");
  query.query = {{"_method", "DELETE"}};
  EXPECT_EQ(Status({endpoint}, query), 403);
  Request form = Of("POST", "/x");
  form.headers = {{"content-type", "application/x-www-form-urlencoded; charset=UTF-8"}};
  form.body = "a=b&%5Fmethod=%44ELETE";
  EXPECT_EQ(Status({endpoint}, form), 403);
  form.body = "a=_method&x_method=DELETE&%zz=%4";
  EXPECT_EQ(Status({endpoint}, form), 200);
  form.body = "_method=DELETE";
  for (const char* type : {"application/x-www-form-urlencoded; charset=iso-8859-1",
                           "text/plain, Application/X-WWW-Form-Urlencoded"}) {
    form.headers = {{"content-type", "text/plain"}, {"content-type", type}};
    EXPECT_EQ(Status({endpoint}, form), 403) << type;
  }
  form.headers.push_back({"content-encoding", "gzip"});
  EXPECT_EQ(Status({endpoint}, form), 415);
}

TEST(DecideRequestTest, BytesAreNotInspectedButBesideRequestsThatAre) {
  Endpoint bytes = Rest(AccessLevel::kByRules);
  bytes.protocol = Protocol::kL4;
  EXPECT_EQ(Status({bytes}, Of("FOO", "//x")), 200);
  Endpoint rest = Rest(AccessLevel::kReadOnly);
  rest.path = "/v1/**";
  EXPECT_EQ(Status({bytes, rest}, Of("GET", "/v1/x")), 200);
  EXPECT_EQ(Status({bytes, rest}, Of("GET", "/v2/x")), 403);
  rest.path = "";
  EXPECT_EQ(Status({bytes, rest}, Of("POST", "/v1/x")), 403);
  EXPECT_EQ(Status({}, Of("GET", "/x")), 403);
}

TEST(DecideRequestTest, NeedsABodyOnlyForWhatItDecides) {
  const Rule rule;
  Request form = Of("POST", "/x");
  form.headers = {{"content-type", "application/x-www-form-urlencoded"}};
  const Endpoint limited = Rest(AccessLevel::kReadWrite);
  const Endpoint full = Rest(AccessLevel::kFull);
  EXPECT_EQ(BodyLimit({{&rule, &limited}}, form), uint64_t{1} << 20);
  EXPECT_EQ(BodyLimit({{&rule, &limited}}, Of("POST", "/x")), 0u);
  EXPECT_EQ(BodyLimit({{&rule, &full}}, form), 0u);
  Endpoint rpc = Rest(AccessLevel::kByRules);
  rpc.protocol = Protocol::kJsonRpc;
  rpc.rpc.max_body_bytes = 10;
  rpc.path = "/rpc";
  EXPECT_EQ(BodyLimit({{&rule, &rpc}}, Of("POST", "/rpc")), 10u);
  EXPECT_EQ(BodyLimit({{&rule, &rpc}}, Of("POST", "/x")), 0u);
}

TEST(DecideRequestTest, TheMoreParticularPathDecides) {
  Endpoint all = Rest(AccessLevel::kFull);
  Endpoint pattern = Rest(AccessLevel::kReadOnly);
  pattern.path = "/v1/**";
  Endpoint literal = Rest(AccessLevel::kReadWrite);
  literal.path = "/v1/notes";
  const std::vector<Endpoint> endpoints = {all, pattern, literal};
  EXPECT_EQ(Status(endpoints, Of("DELETE", "/x")), 200);
  EXPECT_EQ(Status(endpoints, Of("POST", "/v1/x")), 403);
  EXPECT_EQ(Status(endpoints, Of("POST", "/v1/notes")), 200);
  EXPECT_EQ(Status(endpoints, Of("DELETE", "/v1/notes")), 403);
  const Decision none = Decide({pattern}, Of("GET", "/v2"));  // OS#2898
  EXPECT_EQ(none.refusal, Refusal::kPolicyDenied);
  EXPECT_EQ(none.reason, "/usr/bin/curl, to api.example.com:443: no endpoint is for the path /v2");
}

TEST(DecideRequestTest, EndpointsOfOnePathAddUpAndEitherDenies) {
  const Endpoint reads = ByRules({{.method = "GET"}}, {{.path = "/secret"}});
  const Endpoint writes = ByRules({{.method = "PUT"}});
  EXPECT_EQ(Status({reads, writes}, Of("GET", "/x")), 200);
  EXPECT_EQ(Status({reads, writes}, Of("PUT", "/x")), 200);
  EXPECT_EQ(Status({reads, writes}, Of("PUT", "/secret")), 403);
}

TEST(DecideRequestTest, AuditLetsThroughWhatCanBeRead) {
  Endpoint audit = Rest(AccessLevel::kReadOnly);
  audit.enforcement = Enforcement::kAudit;
  const Decision decision = Decide({audit}, Of("DELETE", "/x"));
  EXPECT_TRUE(decision.allowed && decision.audited);
  EXPECT_EQ(CodeOf(decision.refusal), "policy_denied");
  EXPECT_EQ(decision.reason, "/usr/bin/curl, to api.example.com:443: no rule allows DELETE /x");
  EXPECT_EQ(Status({audit}, Of("GET", "/x")), 200);
  EXPECT_EQ(Status({audit}, Of("TRACE", "/x")), 405);
  EXPECT_EQ(Status({audit}, Of("get", "/x")), 403);
  EXPECT_EQ(Status({audit}, Of("GET", "/../x")), 400);
  EXPECT_EQ(Status({audit, Rest(AccessLevel::kReadOnly)}, Of("DELETE", "/x")), 403);
}

TEST(DecideRequestTest, AnUpgradeNeedsAnEndpointOfRequestsOrWebSockets) {
  Endpoint endpoint = Rest(AccessLevel::kFull);
  Request request = Of("GET", "/ws");
  for (const char* to : {"websocket", "WebSocket", "h2c", "TLS/1.3", ""}) {
    request.headers = {{"upgrade", to}};
    for (const Protocol protocol : {Protocol::kGraphQl, Protocol::kJsonRpc, Protocol::kMcp}) {
      endpoint.protocol = protocol;
      EXPECT_EQ(Status({endpoint}, request), 403) << to;  // OS#1967, OS#3753
    }
  }
  for (const Protocol protocol : {Protocol::kWebSocket, Protocol::kRest}) {
    endpoint.protocol = protocol;
    request = Of("GET", "/ws");
    request.headers = {{"upgrade", "WebSocket"}};
    EXPECT_EQ(Status({endpoint}, request), 200);
    request.method = "POST";
    EXPECT_EQ(Status({endpoint}, request), 400);
    request.method = "GET";
    for (const char* to : {"websocket, h2c", "h2c", "TLS/1.3", ""}) {
      request.headers = {{"upgrade", to}};
      EXPECT_EQ(Status({endpoint}, request), 403) << to;
    }
    request.headers = {{"upgrade", "websocket"}, {"upgrade", "h2c"}};
    EXPECT_EQ(Status({endpoint}, request), 403);
  }
}

TEST(DecideRequestTest, AnUpgradeIsItsGet) {
  Endpoint endpoint = ByRules({{.method = "GET", .path = "/ws"}});
  for (const Protocol protocol : {Protocol::kWebSocket, Protocol::kRest}) {
    endpoint.protocol = protocol;
    Request request = Of("GET", "/ws");
    request.headers = {{"upgrade", "websocket"}};
    EXPECT_EQ(Status({endpoint}, request), 200);
    request.path = "/other";
    EXPECT_EQ(Status({endpoint}, request), 403);
  }
}

bool Says(const Endpoint& endpoint, const std::string& text) {
  const Rule rule;
  return DecideMessage(kConnection, {{&rule, &endpoint}}, Of("GET", "/ws"), text).allowed;
}

TEST(DecideMessageTest, IsTheMethodWebsocketText) {
  Endpoint endpoint = ByRules({{.method = "GET", .path = "/ws"}});
  endpoint.protocol = Protocol::kWebSocket;
  EXPECT_FALSE(Says(endpoint, "hello"));
  endpoint.allow.push_back({.method = "WEBSOCKET_TEXT", .path = "/ws"});
  EXPECT_TRUE(Says(endpoint, "hello"));
  endpoint.deny.push_back({.method = "WEBSOCKET_TEXT", .path = "/**"});
  EXPECT_FALSE(Says(endpoint, "hello"));
  Endpoint access = Rest(AccessLevel::kReadOnly);
  EXPECT_FALSE(Says(access, "hello"));
  access.protocol = Protocol::kWebSocket;
  EXPECT_FALSE(Says(access, "hello"));
  access.access = AccessLevel::kReadWrite;
  EXPECT_TRUE(Says(access, "hello"));
}

TEST(DecideRequestTest, SaysTheSmallestRule) {
  Endpoint endpoint = Rest(AccessLevel::kReadOnly);
  endpoint.path = "/v1/**";
  EXPECT_EQ(Decide({endpoint}, Of("PUT", "/v1/a")).rule_missing,
            "network_policies:\n"
            "  allow_api_example_com_443:\n"
            "    endpoints:\n"
            "    - host: api.example.com\n"
            "      port: 443\n"
            "      path: \"/v1/**\"\n"
            "      protocol: rest\n"
            "      rules:\n"
            "      - allow: {method: \"PUT\", path: /v1/a}\n"
            "    binaries:\n"
            "    - path: /usr/bin/curl\n");
  EXPECT_EQ(Decide({endpoint}, Of("PUT", "/v1/*")).rule_missing, "");
  endpoint.deny = {{.method = "PUT"}};
  EXPECT_EQ(Decide({endpoint}, Of("PUT", "/v1/a")).rule_missing, "");
}

}  // namespace
}  // namespace odyssey::egress
