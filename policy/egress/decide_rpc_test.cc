#include <gtest/gtest.h>

#include "policy/egress/decide.h"

namespace odyssey::egress {
namespace {

Endpoint Of(Protocol protocol, std::vector<Matcher> allow, std::vector<Matcher> deny = {}) {
  return {.host = "rpc.example.com",
          .ports = {443},
          .protocol = protocol,
          .allow = std::move(allow),
          .deny = std::move(deny),
          .key = "e"};
}

Request Post(const std::string& body) {
  return {.method = "POST",
          .path = "/rpc",
          .query = {},
          .headers = {{"content-type", "application/json"}},
          .body = body};
}

// 299: refused, and forwarded by audit.
int Status(const Endpoint& endpoint, const Request& request) {
  const Rule rule;
  const Connection connection{"rpc.example.com", 443, {}};
  const Decision decision = DecideRequest(connection, {{&rule, &endpoint}}, request);
  if (decision.audited) return 299;
  return decision.allowed ? 200 : HttpStatusOf(decision.refusal);
}

std::string Call(const std::string& method) {
  return R"({"jsonrpc":"2.0","id":1,"method":")" + method + R"("})";
}

std::string Tool(const std::string& name) {
  return R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":")" + name + R"("}})";
}

struct Case {
  std::string body;
  int enforced, audited;
};

TEST(DecideJsonRpcTest, EveryMemberOfABatchIsAllowedOrNone) {
  Endpoint endpoint = Of(Protocol::kJsonRpc, {{.method = "initialize"}, {.method = "tools/list"}},
                         {{.method = "tools/hidden"}});
  const std::string list = Call("tools/list");
  const std::vector<Case> cases = {
      {list, 200, 200},
      {Call("tools/delete"), 403, 299},  // P-38
      {"[" + list + "," + Call("initialize") + "]", 200, 200},
      {"[" + list + "," + Call("tools/delete") + "]", 403, 299},
      {"[]", 403, 403},
      {"{", 403, 403},
      {"", 403, 403},
      {"1", 403, 403},
      {R"({"jsonrpc":"2.0","id":1,"result":{}})", 403, 403},
      {R"({"jsonrpc":"2.0","id":1,"error":{}})", 403, 403},
      {R"({"method":"tools/list","result":{}})", 403, 403},
      {"[" + list + R"(,{"id":1,"result":{}}])", 403, 403},
      {"[" + Call("tools/delete") + R"(,{"id":1,"result":{}}])", 403, 403},
      {R"({"method":1})", 403, 403},
      {R"({"method":["tools/list"]})", 403, 403},
      {R"({"method":""})", 403, 403},
      {R"({"id":1})", 403, 403},
      {R"({"method":"tools/list","method":"tools/delete"})", 400, 400},
      {R"({"method":"tools/list","params":{"a":1,"a":2}})", 400, 400},
      {R"({"method":"tools/list","Method":"tools/delete"})", 403, 403},
      {Call("TOOLS/LIST"), 403, 299},
      {Call("tools/list "), 403, 299},
      {R"({"method":"tools\/list"})", 200, 200},
      {std::string(R"({"method":"tools/list"})") + std::string(1, '\0') + "x", 403, 403},
  };
  Endpoint audit = endpoint;
  audit.enforcement = Enforcement::kAudit;
  for (const Case& one : cases) {
    EXPECT_EQ(Status(endpoint, Post(one.body)), one.enforced) << one.body;
    EXPECT_EQ(Status(audit, Post(one.body)), one.audited) << one.body;
  }
  endpoint.allow = {{.method = "*"}};
  EXPECT_EQ(Status(endpoint, Post(Call("anything"))), 200);
  EXPECT_EQ(Status(endpoint, Post(Call("tools/hidden"))), 403);
}

TEST(DecideJsonRpcTest, IsAPostOfOneKindOfBody) {
  const Endpoint endpoint = Of(Protocol::kJsonRpc, {{.method = "*"}});
  Request request = Post(Call("a"));
  request.method = "GET";
  EXPECT_EQ(Status(endpoint, request), 403);
  request = Post(Call("a"));
  request.headers = {};
  EXPECT_EQ(Status(endpoint, request), 415);
  request.headers = {{"content-type", "application/json; charset=utf-16"}};
  EXPECT_EQ(Status(endpoint, request), 415);
  request.headers = {{"content-type", "application/json"}, {"content-type", "text/plain"}};
  EXPECT_EQ(Status(endpoint, request), 415);
  request.headers = {{"content-type", "application/json"}, {"content-encoding", "gzip"}};
  EXPECT_EQ(Status(endpoint, request), 415);
  request.headers = {{"content-type", "Application/JSON; charset=\"UTF-8\""},
                     {"content-encoding", "identity"}};
  EXPECT_EQ(Status(endpoint, request), 200);
  Endpoint small = endpoint;
  small.rpc.max_body_bytes = request.body.size() - 1;
  EXPECT_EQ(Status(small, request), 413);
}

TEST(DecideMcpTest, NamesToolsByPatterns) {
  const Endpoint endpoint = Of(Protocol::kMcp,
                               {{.method = "initialize"},
                                {.method = "tools/call", .tool = "read_*"},
                                {.method = "prompts/get", .params_name = "greet"}},
                               {{.tool = "read_secret*"}});
  const std::pair<std::string, int> cases[] = {
      {Call("initialize"), 200},
      {Tool("read_file"), 200},  // P-39
      {Tool("write_file"), 403},
      {Tool("read file"), 403},
      {Tool("read_\\u0000"), 403},
      {Tool("read_secret_key"), 403},
      {Tool(""), 403},
      {Tool("read_" + std::string(124, 'x')), 403},
      {Call("tools/call"), 403},
      {R"({"method":"tools/call","params":{"name":["read_file"]}})", 403},
      {R"({"method":"tools/call","params":["read_file"]})", 403},
      {R"({"method":"tools/call","params":{"name":"read_file","Name":"write_file"}})", 403},
      {R"({"method":"tools/call","params":{"name":"read_file","name":"write_file"}})", 400},
      {R"({"method":"prompts/get","params":{"name":"greet"}})", 200},
      {R"({"method":"prompts/get","params":{"name":"other"}})", 403},
      {R"({"method":"resources/read","params":{"uri":"x"}})", 403},
      {"[" + Tool("read_file") + "]", 403},
      {R"({"id":1,"result":{}})", 403},
  };
  for (const auto& [body, status] : cases) EXPECT_EQ(Status(endpoint, Post(body)), status) << body;
  Endpoint loose = endpoint;
  loose.rpc.strict_tool_names = false;
  EXPECT_EQ(Status(loose, Post(Tool("read_a file"))), 200);
}

TEST(DecideMcpTest, AllKnownMethodsLeaveNamedToolsToTheirRules) {
  Endpoint endpoint = Of(Protocol::kMcp, {});
  endpoint.rpc.allow_all_known_methods = true;
  EXPECT_EQ(Status(endpoint, Post(Call("tools/list"))), 200);
  EXPECT_EQ(Status(endpoint, Post(Tool("any"))), 200);
  EXPECT_EQ(Status(endpoint, Post(Call("tools/unknown"))), 403);
  endpoint.allow = {{.method = "tools/call", .tool = "read_*"}};
  EXPECT_EQ(Status(endpoint, Post(Tool("any"))), 403);
  EXPECT_EQ(Status(endpoint, Post(Tool("read_x"))), 200);
  EXPECT_EQ(Status(endpoint, Post(Call("resources/list"))), 200);
  endpoint = Of(Protocol::kMcp, {{.method = "tools/*"}});
  EXPECT_EQ(Status(endpoint, Post(Call("tools/list"))), 200);
  EXPECT_EQ(Status(endpoint, Post(Call("prompts/list"))), 403);
}

TEST(DecideMcpTest, HeadersSayWhatTheMessageSays) {
  Endpoint endpoint = Of(Protocol::kMcp, {{.method = "*"}});
  endpoint.enforcement = Enforcement::kAudit;
  const auto with = [&](const std::string& body, std::vector<Field> headers) {
    Request request = Post(body);
    request.headers.insert(request.headers.end(), headers.begin(), headers.end());
    return Status(endpoint, request);
  };
  EXPECT_EQ(with(Tool("a"), {{"mcp-method", "tools/call"}, {"mcp-name", "a"}}), 200);
  EXPECT_EQ(with(Tool("a"), {{"mcp-method", "tools/list"}}), 400);
  EXPECT_EQ(with(Tool("a"), {{"mcp-name", "b"}}), 400);
  EXPECT_EQ(with(Tool("a"), {{"mcp-name", "a"}, {"mcp-name", "a"}}), 400);
  EXPECT_EQ(with(Call("tools/list"), {{"mcp-name", ""}}), 400);
  EXPECT_EQ(with(R"({"method":"resources/read","params":{"uri":"f:x"}})", {{"mcp-name", "f:x"}}),
            200);
}

TEST(DecideMcpTest, AGetReceivesTheStream) {
  const Endpoint endpoint = Of(Protocol::kMcp, {{.method = "initialize"}});
  Request request = {.method = "GET", .path = "/rpc"};
  EXPECT_EQ(Status(endpoint, request), 200);
  for (const char* method : {"HEAD", "PUT", "DELETE", "OPTIONS"}) {
    request.method = method;
    EXPECT_EQ(Status(endpoint, request), 403) << method;
  }
}

}  // namespace
}  // namespace odyssey::egress
