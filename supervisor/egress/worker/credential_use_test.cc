#include "supervisor/egress/worker/credential_use.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace odyssey::egress {
namespace {

using credentials::Credential;
using credentials::Keyring;
using http::FramingKind;

constexpr char kSecret[] = "sk-the-secret-0123456789", kHeld[] = "sk-a-placeholder-abcdef1";

std::shared_ptr<const Keyring> OneKey() {
  std::vector<Credential> all;
  all.push_back({.provider = "p",
                 .key = "KEY",
                 .placeholder = kHeld,
                 .secret = credentials::Secret(kSecret),
                 .endpoints = {{.host = "h.example", .port = 443}}});
  return std::make_shared<const Keyring>(std::move(all));
}

Passage To(const std::string& host) {
  Passage passage;
  passage.to.host = host;
  passage.to.port = 443;
  return passage;
}

// A request with the placeholder, and what is done with it.
struct Used {
  explicit Used(http::Fields more, std::string host = "h.example")
      : use(OneKey(), To(host), true), path{.path = "/", .wire = "/"} {
    head.method = "GET";
    head.fields = {{"x-api-key", kHeld}};
    head.fields.insert(head.fields.end(), more.begin(), more.end());
    put = use.PutIn(&head, &path, &body);
  }
  CredentialUse use;
  http::RequestHead head;
  http::CanonicalPath path;
  std::optional<std::string> body;
  bool put = false;
};

http::ResponseHead With(http::Fields fields) {
  http::ResponseHead out;
  out.status = 200;
  out.fields = std::move(fields);
  out.framing.kind = FramingKind::kChunked;
  return out;
}

TEST(CredentialUseTest, AHeadHasTheSecretAndTheResponseThePlaceholder) {
  Used used(http::Fields{});
  ASSERT_TRUE(used.put);
  EXPECT_EQ(http::FindField(used.head.fields, "x-api-key")->value, kSecret);
  EXPECT_EQ(used.use.names(), "p/KEY");
  http::ResponseHead response = With({{"x-said", std::string("a ") + kSecret}});
  response.reason = kSecret;
  ASSERT_TRUE(used.use.TakeOut(&response));
  EXPECT_EQ(response.fields[0].value, std::string("a ") + kHeld);
  EXPECT_EQ(response.reason, kHeld);
  http::Fields trailers = {{"grpc-message", kSecret}};
  used.use.TakeOut(&trailers);
  EXPECT_EQ(trailers[0].value, kHeld);
}

TEST(CredentialUseTest, AnotherServerIsSentNothing) {
  const Used used(http::Fields{}, "other.example");
  EXPECT_FALSE(used.put);
  EXPECT_EQ(used.use.status(), 403);
  EXPECT_EQ(used.use.refusal().code, "credential_endpoint_mismatch");
}

TEST(CredentialUseTest, ResponsesAreAskedForAsTheyAre) {
  Used used(http::Fields{{"accept-encoding", "gzip"}, {"grpc-accept-encoding", "gzip"}});
  for (const std::string_view name : {"accept-encoding", "grpc-accept-encoding"}) {
    EXPECT_EQ(http::CountFields(used.head.fields, name), 1u);
    EXPECT_EQ(http::FindField(used.head.fields, name)->value, "identity");
  }
  EXPECT_EQ(http::CountFields(Used(http::Fields{}).head.fields, "grpc-accept-encoding"), 0u);
}

TEST(CredentialUseTest, ACompressedResponseIsRefusedWhereASecretWasSent) {
  for (const std::string_view name : {"content-encoding", "grpc-encoding"}) {
    Used used(http::Fields{});
    http::ResponseHead plain = With({{std::string(name), "identity"}});
    EXPECT_TRUE(used.use.TakeOut(&plain));
    http::ResponseHead response = With({{std::string(name), "gzip"}});
    EXPECT_FALSE(used.use.TakeOut(&response));
    EXPECT_EQ(used.use.status(), 502);
    EXPECT_EQ(used.use.refusal().code, "response_encoded");
    CredentialUse none(OneKey(), To("h.example"), true);
    EXPECT_TRUE(none.TakeOut(&response));
  }
}

TEST(CredentialUseTest, ABodyIsTakenWhereItMayHaveAPlaceholder) {
  Passage passage = To("h.example");
  http::RequestHead head;
  head.framing = {.kind = FramingKind::kLength, .length = 5};
  const auto none = std::make_shared<const Keyring>();
  EXPECT_EQ(CredentialUse(OneKey(), passage, true).BodyBytes(head), credentials::kMaxBodyBytes);
  EXPECT_EQ(CredentialUse(none, passage, true).BodyBytes(head), 0u);
  Endpoint endpoint;
  endpoint.credentials.rewrite_body = true;
  passage.decision.pairs = {{.endpoint = &endpoint}};
  CredentialUse rewriting(none, passage, true);
  EXPECT_EQ(rewriting.BodyBytes(head), credentials::kMaxBodyBytes);
  http::CanonicalPath path{.path = "/", .wire = "/"};
  std::optional<std::string> body = "openshell:resolve:env:KEY";
  EXPECT_FALSE(rewriting.PutIn(&head, &path, &body));
  EXPECT_EQ(rewriting.refusal().code, "credential_unknown");
}

}  // namespace
}  // namespace odyssey::egress
