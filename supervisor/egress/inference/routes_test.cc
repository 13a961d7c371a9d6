#include "supervisor/egress/inference/routes.h"

#include <gtest/gtest.h>

#include "policy/egress/json.h"

namespace odyssey::egress::inference {
namespace {

std::vector<Route> SomeRoutes() {
  return {{.name = "small", .host = "a.example", .models = {"small-*", "tiny"}, .key_field = "k"},
          {.name = "any",
           .host = "b.example",
           .base_path = "/api",
           .model = "large",
           .key_field = "authorization",
           .key = "sk-secret"},
          {.name = "claude",
           .protocol = RouteProtocol::kAnthropic,
           .model = "c",
           .key_field = "x-api-key",
           .key = "ak-secret"},
          {.name = "gem",
           .protocol = RouteProtocol::kGemini,
           .host = "g.example",
           .model = "g-2",
           .models = {"g-*"},
           .key_field = "x-goog-api-key",
           .key = "gk"}};
}

Ask AskFor(std::string_view path, const std::string& body = "{}") {
  Ask ask = std::get<Ask>(ReadTarget("POST", path));
  (void)ReadBody(body, &ask);
  return ask;
}

std::string NamesOf(const std::vector<Route>& routes, const Ask& ask) {
  const auto found = RoutesFor(routes, ask);
  if (const auto* refusal = std::get_if<AskRefusal>(&found)) {
    return refusal->code + " " + std::to_string(refusal->status);
  }
  std::string out;
  for (const Route* route : std::get<0>(found)) out += route->name + " ";
  return out;
}

std::string FieldsOf(const Outgoing& outgoing) {
  std::string out;
  for (const http::Field& field : outgoing.head.fields) out += field.name + "=" + field.value + " ";
  return out;
}

TEST(RoutesTest, AreThoseOfTheProtocolThatAllowTheModel) {
  const auto routes = SomeRoutes();
  const char* const path = "/v1/chat/completions";
  EXPECT_EQ(NamesOf(routes, AskFor(path, R"({"model":"small-1"})")), "small any ");
  EXPECT_EQ(NamesOf(routes, AskFor(path, R"({"model":"other"})")), "any ");
  EXPECT_EQ(NamesOf({routes[0]}, AskFor(path, R"({"model":"other"})")), "model_not_allowed 403");
  EXPECT_EQ(NamesOf({routes[0]}, AskFor("/v1/messages", R"({"model":"tiny"})")),
            "unsupported_protocol 400");
  EXPECT_EQ(NamesOf({}, AskFor(path, R"({"model":"tiny"})")), "policy_denied 403");
  EXPECT_EQ(NamesOf(routes, AskFor("/v1beta/models/x:generateContent")), "model_not_allowed 403");
}

TEST(RoutesTest, NothingOfTheCallersIdentityGoesOn) {
  const auto routes = SomeRoutes();
  const std::string body = R"({"messages":[],"model":"theirs","temperature":0.10})";
  http::RequestHead head{.method = "POST"};
  for (const char* name :
       {"Authorization", "x-api-key", "x-goog-api-key", "Cookie", "api-key", "OpenAI-Organization",
        "X-Anything", "accept-encoding", "Content-Type"}) {
    head.fields.push_back({name, "caller"});
  }
  http::CanonicalPath path;
  path.pairs = {{"key", "caller"}, {"alt", "sse"}, {"alt", "caller"}, {"beta", "caller"}};
  const Outgoing out = Rewrite(routes[1], AskFor("/v1/chat/completions", body), head, path, body);
  EXPECT_EQ(FieldsOf(out),
            "Content-Type=caller Accept-Encoding=identity authorization=Bearer sk-secret ");
  EXPECT_EQ(out.path.wire, "/api/v1/chat/completions");
  EXPECT_EQ(out.path.query, "alt=sse");
  EXPECT_EQ(out.body, R"({"messages":[],"model":"large","temperature":0.10})");
  EXPECT_EQ(out.head.framing.length, out.body.size());
}

TEST(RoutesTest, AModelInThePathIsReplacedThere) {
  const Ask ask = AskFor("/v1beta/models/g-1:streamGenerateContent");
  const Outgoing out = Rewrite(SomeRoutes()[3], ask, {}, {}, R"({"contents":[]})");
  EXPECT_EQ(out.path.wire, "/v1beta/models/g-2:streamGenerateContent");
  EXPECT_EQ(out.body, R"({"contents":[]})");
  EXPECT_EQ(FieldsOf(out), "Accept-Encoding=identity x-goog-api-key=gk ");
}

TEST(RoutesTest, AStreamIsAskedForItsUsage) {
  const auto sent = [](const std::string& body) {
    const Ask ask = AskFor("/v1/chat/completions", body);
    return Rewrite(SomeRoutes()[1], ask, {}, {}, body);
  };
  const Outgoing asked =
      sent(R"({"model":"large","stream":true,"stream_options":{"include_usage":false,"x":1}})");
  EXPECT_EQ(asked.body,
            R"({"model":"large","stream":true,"stream_options":{"include_usage":true,"x":1}})");
  EXPECT_TRUE(asked.hides_usage);
  EXPECT_EQ(sent(R"({"model":"large","stream":true})").body,
            R"({"stream_options":{"include_usage":true},"model":"large","stream":true})");
  EXPECT_FALSE(sent(R"({"model":"large","stream":true,"stream_options":{"include_usage":true}})")
                   .hides_usage);
  EXPECT_EQ(sent(R"({"model":"large"})").body, R"({"model":"large"})");
}

TEST(RoutesTest, ModelsAreThoseThatRoutesName) {
  const Ask open = std::get<Ask>(ReadTarget("GET", "/v1/models"));
  EXPECT_EQ(ModelsBody(SomeRoutes(), open),
            R"({"object":"list","data":[)"
            R"({"id":"tiny","object":"model","created":0,"owned_by":"small"},)"
            R"({"id":"large","object":"model","created":0,"owned_by":"any"},)"
            R"({"id":"c","object":"model","created":0,"owned_by":"claude"}]})"
            "\n");
  const Ask gemini = std::get<Ask>(ReadTarget("GET", "/v1beta/models"));
  EXPECT_EQ(ModelsBody(SomeRoutes(), gemini),
            R"({"models":[{"name":"models/g-2","displayName":"g-2"}]})"
            "\n");
  EXPECT_EQ(ModelsBody({}, open), "{\"object\":\"list\",\"data\":[]}\n");
}

TEST(RoutesTest, ErrorsHaveTheFormOfTheProtocol) {
  EXPECT_EQ(ErrorBody(RouteProtocol::kOpenAi, 429, "budget_exceeded", "x"),
            R"({"error":{"message":"x","type":"rate_limit_error","param":null,)"
            R"("code":"budget_exceeded"}})"
            "\n");
  EXPECT_EQ(ErrorBody(RouteProtocol::kAnthropic, 403, "c", "x"),
            R"({"type":"error","error":{"type":"permission_error","message":"x"}})"
            "\n");
  EXPECT_EQ(ErrorBody(RouteProtocol::kGemini, 429, "c", "\xff"),
            "{\"error\":{\"code\":429,\"message\":\"\xEF\xBF\xBD\","
            "\"status\":\"RESOURCE_EXHAUSTED\"}}\n");
}

}  // namespace
}  // namespace odyssey::egress::inference
