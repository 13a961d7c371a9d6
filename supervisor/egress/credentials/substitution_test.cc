#include "supervisor/egress/credentials/substitution.h"

#include <gtest/gtest.h>

#include "supervisor/egress/credentials/text_form.h"

namespace odyssey::egress::credentials {
namespace {

constexpr char kHeld[] = "ghp_heldheldheldheld";     // what the cell has
constexpr char kSecret[] = "ghp_s3cr3t/s3cr3t\"+&";  // what is meant

Credential Make(std::string provider, std::string key, std::string held, std::string secret,
                std::string_view endpoint) {
  Credential out{.provider = std::move(provider),
                 .key = std::move(key),
                 .placeholder = std::move(held),
                 .secret = Secret(std::move(secret))};
  out.endpoints.push_back(*ParseEndpointPattern(endpoint));
  return out;
}

class SubstitutionTest : public testing::Test {
 protected:
  SubstitutionTest() {
    std::vector<Credential> all;
    all.push_back(Make("gh", "GH_TOKEN", kHeld, kSecret, "*.example.com:443"));
    all.push_back(
        Make("other", "OTHER", "otherotherother", "0therS3cret000", "other.example.org:443"));
    all.push_back(Make("loose", "LOOSE", "looselooseloose", "", "api.example.com:443"));
    keyring_ = Keyring(std::move(all));
  }

  Substitution At(std::string host, uint16_t port = 443, bool secure = true) {
    return {&keyring_, {.host = std::move(host), .port = port, .secure = secure}};
  }

  // "" if it was not refused.
  std::string CodeOf(const std::string& value, Substitution substitution) {
    http::Fields fields = {{"X-Token", value}};
    return substitution.InFields(&fields) ? "" : substitution.refusal().code;
  }

  Keyring keyring_;
};

TEST_F(SubstitutionTest, PutsASecretIntoFields) {
  http::Fields fields = {{"Authorization", std::string("Bearer ") + kHeld}, {"Accept", "*/*"}};
  Substitution substitution = At("api.example.com");
  ASSERT_TRUE(substitution.InFields(&fields));
  EXPECT_EQ(fields[0].value, std::string("Bearer ") + kSecret);
  EXPECT_EQ(fields[1].value, "*/*");
  ASSERT_EQ(substitution.used().size(), 1U);
  EXPECT_EQ(NameOf(*substitution.used()[0]), "gh/GH_TOKEN");
}

TEST_F(SubstitutionTest, UnderstandsOpenShellsForms) {
  const std::string handle = "s" + std::string(64, 'a') + "_";
  for (const std::string& text : {std::string("openshell:resolve:env:GH_TOKEN"),
                                  std::string("openshell:resolve:env:v12_GH_TOKEN"),
                                  "openshell:resolve:env:" + handle + "GH_TOKEN",
                                  std::string("provider-OPENSHELL-RESOLVE-ENV-GH_TOKEN")}) {
    http::Fields fields = {{"X-Token", "<" + text + ">"}};
    ASSERT_TRUE(At("api.example.com").InFields(&fields)) << text;
    EXPECT_EQ(fields[0].value, std::string("<") + kSecret + ">");
  }
}

TEST_F(SubstitutionTest, PutsASecretIntoBasicAuthentication) {
  http::Fields fields = {{"authorization", "Basic " + Base64Encode(std::string("me:") + kHeld)}};
  Substitution substitution = At("api.example.com");
  ASSERT_TRUE(substitution.InFields(&fields));
  const std::string sent = Base64Encode(std::string("me:") + kSecret);
  EXPECT_EQ(fields[0].value, "Basic " + sent);
  const std::vector<Replacement> redacted = {{sent, Base64Encode(std::string("me:") + kHeld)}};
  EXPECT_EQ(substitution.sent(), redacted);
}

TEST_F(SubstitutionTest, EncodesForThePlace) {
  std::string path = std::string("/a%20b/") + kHeld + "/c",
              query = std::string("t=") + kHeld + "&a=%2f";
  Substitution substitution = At("api.example.com");
  ASSERT_TRUE(substitution.InPath(&path));
  ASSERT_TRUE(substitution.InQuery(&query));
  EXPECT_EQ(path, "/a%20b/" + PercentEncode(kSecret) + "/c");
  EXPECT_EQ(query, "t=" + PercentEncode(kSecret) + "&a=%2f");

  std::string encoded = "x=openshell%3Aresolve%3aenv%3AGH_TOKEN";
  ASSERT_TRUE(substitution.InQuery(&encoded));
  EXPECT_EQ(encoded, "x=" + PercentEncode(kSecret));

  std::string json = std::string("{\"t\":\"") + kHeld + "\"}", form = std::string("t=") + kHeld;
  ASSERT_TRUE(substitution.InBody(BodyForm::kJson, &json));
  ASSERT_TRUE(substitution.InBody(BodyForm::kForm, &form));
  EXPECT_EQ(json, "{\"t\":\"ghp_s3cr3t/s3cr3t\\\"+&\"}");
  EXPECT_EQ(form, "t=" + PercentEncode(kSecret));
}

TEST_F(SubstitutionTest, RefusesAnotherServer) {
  EXPECT_EQ(CodeOf(kHeld, At("other.example.org")), "credential_endpoint_mismatch");
  EXPECT_EQ(CodeOf(kHeld, At("api.example.com", 8443)), "credential_endpoint_mismatch");
  EXPECT_EQ(CodeOf(kHeld, At("a.b.example.com")), "credential_endpoint_mismatch");
  EXPECT_EQ(CodeOf("openshell:resolve:env:OTHER", At("api.example.com")),
            "credential_endpoint_mismatch");
  EXPECT_EQ(CodeOf("looselooseloose", At("api.example.com")), "credential_endpoint_mismatch");
  http::Fields basic = {{"Authorization", "Basic " + Base64Encode(std::string("me:") + kHeld)}};
  EXPECT_FALSE(At("other.example.org").InFields(&basic));
}

TEST_F(SubstitutionTest, SendsNoSecretWithoutTls) {
  EXPECT_EQ(CodeOf(kHeld, At("api.example.com", 443, false)), "credential_endpoint_mismatch");
}

TEST_F(SubstitutionTest, RefusesAnUnknownName) {
  EXPECT_EQ(CodeOf("openshell:resolve:env:NONE", At("api.example.com")), "credential_unknown");
  EXPECT_EQ(CodeOf("openshell:resolve:env:", At("api.example.com")), "credential_unknown");
  keyring_ = Keyring();
  EXPECT_EQ(CodeOf("provider-OPENSHELL-RESOLVE-ENV-GH_TOKEN", At("api.example.com")),
            "credential_unknown");
}

TEST_F(SubstitutionTest, FindsPlaceholdersInBodiesThatMayHaveNone) {
  for (const std::string& body :
       {std::string("a=") + kHeld, std::string("openshell%3Aresolve%3Aenv%3AX"),
        std::string("xx otherotherother"), std::string("provider-OPENSHELL-RESOLVE-ENV-A")}) {
    Replacer replacer(PlaceholdersOf(keyring_));
    EXPECT_EQ(replacer.Feed(body) + replacer.End(), body);
    EXPECT_TRUE(replacer.found()) << body;
  }
  EXPECT_TRUE(Replacer(PlaceholdersOf(Keyring())).empty());
}

TEST_F(SubstitutionTest, TakesSecretsBackInEveryForm) {
  const Replacer replacer(SecretsOf(keyring_.At({"api.example.com", 443, true})));
  EXPECT_EQ(replacer.Whole(std::string("<") + kSecret + ">"), std::string("<") + kHeld + ">");
  for (const std::string& form : FormsOf(kSecret)) {
    EXPECT_EQ(replacer.Whole(form).substr(0, 20), kHeld) << form;
  }
  EXPECT_TRUE(Replacer(SecretsOf(keyring_.At({"x.example.org", 443, true}))).empty());
}

TEST(BodyFormTest, IsReadFromContentType) {
  EXPECT_EQ(BodyFormOf({{"Content-Type", "application/JSON; charset=utf-8"}}), BodyForm::kJson);
  EXPECT_EQ(BodyFormOf({{"content-type", "application/vnd.api+json"}}), BodyForm::kJson);
  EXPECT_EQ(BodyFormOf({{"Content-Type", "application/x-www-form-urlencoded"}}), BodyForm::kForm);
  EXPECT_EQ(BodyFormOf({{"Content-Type", "text/plain"}}), BodyForm::kPlain);
  EXPECT_EQ(BodyFormOf({}), BodyForm::kPlain);
}

TEST(EndpointPatternTest, IsAHostAndAPort) {
  EXPECT_EQ(ParseEndpointPattern("API.Example.com:443")->Text(), "api.example.com:443");
  EXPECT_EQ(ParseEndpointPattern("[2001:db8::1]:8443")->Text(), "[2001:db8::1]:8443");
  for (const char* text :
       {"", "a.example.com", "a.example.com:", "a.example.com:0", "a.example.com:0443",
        "a.example.com:65536", "*:443", "*.com:443", "a b:443", "127.0.0.1:443"}) {
    EXPECT_FALSE(ParseEndpointPattern(text).ok()) << text;
  }
}

}  // namespace
}  // namespace odyssey::egress::credentials
