#include "supervisor/egress/credentials/sigv4.h"

#include <gtest/gtest.h>

#include "supervisor/egress/credentials/digest.h"

namespace odyssey::egress::credentials {
namespace {

// The key and time of the published test vectors.
constexpr SigningKey kKey{.id = "AKIDEXAMPLE",
                          .secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"};
constexpr int64_t kTime = 1440938160;  // 2015-08-30T12:36:00Z

std::string SignatureOf(Signable request, http::Fields fields = {}) {
  request.host = "example.amazonaws.com";
  request.payload = HexOf(Sha256(""));
  SignRequest(request, kKey, {.region = "us-east-1", .service = "service", .time = kTime}, &fields);
  const std::string& value = http::FindField(fields, "authorization")->value;
  return value.substr(value.find("SignedHeaders="));
}

TEST(SigV4Test, SignsAsThePublishedVectors) {
  EXPECT_EQ(SignatureOf({.method = "GET", .wire = "/"}),
            "SignedHeaders=host;x-amz-date, Signature="
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
  EXPECT_EQ(SignatureOf({.method = "POST", .wire = "/"}),
            "SignedHeaders=host;x-amz-date, Signature="
            "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b");
  EXPECT_EQ(SignatureOf({.method = "GET", .wire = "/", .query = "Param2=value2&Param1=value1"}),
            "SignedHeaders=host;x-amz-date, Signature="
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500");
}

TEST(SigV4Test, TakesTheClientsSignatureOut) {
  http::Fields fields = {
      {"Authorization",
       "AWS4-HMAC-SHA256 Credential=AKIAHELD/20150830/eu-west-1/s3/aws4_request, "
       "SignedHeaders=host, Signature=00"},
      {"X-Amz-Date", "20150830T123600Z"},
      {"x-amz-security-token", "held"},
      {"X-Amz-Content-SHA256", "UNSIGNED-PAYLOAD"},
      {"X-Amz-Acl", "private"}};
  const ClientSignature client = StripSignature(&fields);
  EXPECT_EQ(client.region, "eu-west-1");
  EXPECT_EQ(client.payload, kUnsignedPayload);
  const http::Fields left = {{"X-Amz-Acl", "private"}};
  EXPECT_EQ(fields, left);
  http::Fields bearer = {{"Authorization", "Bearer Credential=/x"}};
  EXPECT_EQ(StripSignature(&bearer).region, "");
}

TEST(SigV4Test, SignsWhatS3Wants) {
  http::Fields fields = {{"X-Amz-Acl", "a   b"}, {"Accept", "*/*"}};
  SignRequest({.method = "GET",
               .wire = "/a%20b",
               .query = "",
               .host = "b.s3.amazonaws.com",
               .payload = std::string(kUnsignedPayload)},
              {.id = "ID", .secret = "s", .session_token = "token"},
              {.region = "us-east-1", .service = "s3", .time = kTime}, &fields);
  EXPECT_EQ(http::FindField(fields, "x-amz-date")->value, "20150830T123600Z");
  EXPECT_EQ(http::FindField(fields, "x-amz-security-token")->value, "token");
  EXPECT_EQ(http::FindField(fields, "x-amz-content-sha256")->value, kUnsignedPayload);
  const std::string& value = http::FindField(fields, "authorization")->value;
  EXPECT_NE(value.find("Credential=ID/20150830/us-east-1/s3/aws4_request, SignedHeaders="
                       "host;x-amz-acl;x-amz-content-sha256;x-amz-date;x-amz-security-token, "),
            std::string::npos)
      << value;
}

}  // namespace
}  // namespace odyssey::egress::credentials
