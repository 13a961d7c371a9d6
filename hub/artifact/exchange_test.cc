#include "hub/artifact/exchange.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "hub/artifact/base64.h"
#include "tests/fakes/sample_artifact.h"

namespace odyssey::artifact {
namespace {

using nlohmann::json;

TEST(ExchangeTest, WritesThePublishThatHubsRead) {
  const Artifact sample = fakes::SampleArtifact();
  const json sent = json::parse(WritePublish({"team/demo", "0.1.0", "sha256:x", sample}));
  EXPECT_EQ(sent["repository"], "team/demo");
  EXPECT_EQ(sent["tag"], "0.1.0");
  EXPECT_EQ(sent["manifestDigest"], "sha256:x");
  EXPECT_EQ(sent["configBytes"], ToBase64(sample.config));
  EXPECT_EQ(sent["layers"][0]["bytes"], "bGF5ZXI=");
  EXPECT_FALSE(sent.contains("signature"));
}

TEST(ExchangeTest, WritesNullForNoTagAndNoDigest) {
  EXPECT_EQ(WritePull({"team/demo", "", ""}),
            R"({"repository":"team/demo","tag":null,"digest":null})");
}

TEST(ExchangeTest, ReadsWhatItWrote) {
  Artifact sample = fakes::SampleArtifact();
  sample.signature = "c2ln";
  const Result<Pulled> read = ReadPulled(WritePulled({"0.1.0", "sha256:x", sample}));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->version, "0.1.0");
  EXPECT_EQ(read->artifact.manifest, sample.manifest);
  EXPECT_EQ(read->artifact.signature, "c2ln");
}

TEST(ExchangeTest, NamesTheKeyThatIsWrong) {
  json body = json::parse(WritePulled({"0.1.0", "sha256:x", fakes::SampleArtifact()}));
  body["configBytes"] = "a b=";
  EXPECT_EQ(ReadPulled(body.dump()).status().message(), "configBytes: not base64");
  body["configBytes"] = nullptr;
  EXPECT_EQ(ReadPulled(body.dump()).status().message(), "configBytes: no text");
  body.erase("version");
  body["configBytes"] = "";
  EXPECT_EQ(ReadPulled(body.dump()).status().message(), "version: no text");
  EXPECT_FALSE(ReadPulled("[]").ok());
  EXPECT_FALSE(ReadPulled("{").ok());
}

TEST(ExchangeTest, RefusesMoreBytesThanAnArtifactHas) {
  Artifact large = fakes::SampleArtifact();
  large.layers[0].bytes.assign(kMaxArtifactBytes, 'x');
  EXPECT_EQ(ReadPulled(WritePulled({"0.1.0", "sha256:x", large})).status().code(),
            Code::kResourceExhausted);
}

TEST(Base64Test, TakesTheCanonicalFormAlone) {
  for (const std::string text : {"", "a", "ab", "abc", std::string("\0\xff", 2).c_str()}) {
    EXPECT_EQ(FromBase64(ToBase64(text)).value(), text);
  }
  for (const char* text : {"YQ", "YQ=", "Y===", "YQ==YQ==", "YQ==\n", " YQ=", "YQ-_"}) {
    EXPECT_FALSE(FromBase64(text).ok()) << text;
  }
}

}  // namespace
}  // namespace odyssey::artifact
