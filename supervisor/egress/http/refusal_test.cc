#include "supervisor/egress/http/refusal.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "supervisor/egress/http/response_head.h"

namespace odyssey::egress::http {
namespace {

using Json = nlohmann::json;

Refusal Denied() {
  return {.policy = "github",
          .rule = "github-api",
          .detail = "DELETE /repos/a/b is not permitted",
          .layer = "l7",
          .protocol = "rest",
          .method = "DELETE",
          .path = "/repos/a/b",
          .host = "api.h.example",
          .port = 443,
          .binary = "/usr/bin/curl",
          .reason = "no rule allows the method",
          .rule_missing = {{"method", "DELETE"}, {"path", "/repos/a/b"}},
          .next_steps = {"ask the operator", "do without"},
          .agent_guidance = "Do not try again."};
}

TEST(RefusalTest, SaysWhatWasRefusedAndWhatWouldAllowIt) {
  const Json expected = {{"error", "policy_denied"},
                         {"policy", "github"},
                         {"rule", "github-api"},
                         {"detail", "DELETE /repos/a/b is not permitted"},
                         {"layer", "l7"},
                         {"protocol", "rest"},
                         {"method", "DELETE"},
                         {"path", "/repos/a/b"},
                         {"host", "api.h.example"},
                         {"port", 443},
                         {"binary", "/usr/bin/curl"},
                         {"reason", "no rule allows the method"},
                         {"rule_missing", {{"method", "DELETE"}, {"path", "/repos/a/b"}}},
                         {"next_steps", {"ask the operator", "do without"}},
                         {"agent_guidance", "Do not try again."}};
  EXPECT_EQ(Json::parse(RefusalBody(Denied())), expected);
}

TEST(RefusalTest, WhatIsNotKnownIsLeftOut) {
  EXPECT_EQ(RefusalBody({}), "{\"error\":\"policy_denied\"}\n");
}

TEST(RefusalTest, AnyBytesAreText) {
  Refusal refusal;
  for (int byte = 0; byte < 256; ++byte) refusal.path += static_cast<char>(byte);
  const std::string path = Json::parse(RefusalBody(refusal)).at("path");
  EXPECT_EQ(path.substr(0, 0x80), refusal.path.substr(0, 0x80));
  EXPECT_EQ(path.substr(0x80, 3), "\xef\xbf\xbd");
}

TEST(RefusalTest, TheResponseIsWholeAndCloses) {
  const std::string response = RefusalResponse(Denied());
  const auto parsed = ParseResponseHead(response, {.method = "DELETE"});
  const auto& head = std::get<ResponseHead>(parsed);
  EXPECT_EQ(head.status, 403);
  EXPECT_TRUE(head.close);
  EXPECT_EQ(response.size(), head.size + head.framing.length);
  EXPECT_EQ(response.substr(head.size), RefusalBody(Denied()));
  EXPECT_EQ(FindField(head.fields, "content-type")->value, "application/json");
  EXPECT_EQ(FindField(head.fields, "x-openshell-policy")->value, "github");
}

TEST(RefusalTest, HeadHasNoBody) {
  Refusal refusal = Denied();
  refusal.method = "HEAD";
  const std::string response = RefusalResponse(refusal);
  const auto parsed = ParseResponseHead(response, {.method = "HEAD"});
  EXPECT_EQ(std::get<ResponseHead>(parsed).size, response.size());
  EXPECT_EQ(std::get<ResponseHead>(parsed).described_length, RefusalBody(refusal).size());
}

TEST(RefusalTest, ANameSplitsNoResponse) {
  Refusal refusal = Denied();
  refusal.policy = "a\r\nSet-Cookie: b";
  const auto parsed = ParseResponseHead(RefusalResponse(refusal), {.method = "DELETE"});
  EXPECT_EQ(FindField(std::get<ResponseHead>(parsed).fields, "set-cookie"), nullptr);
}

TEST(RefusalTest, AHeadThatCouldNotBeReadHasTheNameOfItsStatus) {
  EXPECT_EQ(RefusalOf({400, "x"}).error, "malformed_request");
  EXPECT_EQ(RefusalOf({414, "x"}).error, "target_too_long");
  EXPECT_EQ(RefusalOf({418, "x"}).error, "refused");
  const Refusal refusal = RefusalOf({405, "no"});
  EXPECT_EQ(refusal.detail, "no");
  EXPECT_EQ(RefusalResponse(refusal).rfind("HTTP/1.1 405 Method Not Allowed\r\n", 0), 0U);
}

TEST(RefusalTest, SaysWhenToTryAgain) {
  const Refusal refusal{.status = 429, .error = "budget_exceeded", .retry_after = 7};
  EXPECT_NE(RefusalResponse(refusal).find("\r\nRetry-After: 7\r\n"), std::string::npos);
  EXPECT_NE(RefusalBody(refusal).find("\"retry_after\":7"), std::string::npos);
  EXPECT_EQ(RefusalResponse(Refusal()).find("Retry-After"), std::string::npos);
}

}  // namespace
}  // namespace odyssey::egress::http
