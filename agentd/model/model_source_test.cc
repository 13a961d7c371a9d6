#include "agentd/model/model_source.h"

#include <gtest/gtest.h>

#include "tests/fakes/temporary_directory.h"

namespace odyssey::model {
namespace {

class ProvidersTest : public ::testing::Test {
 protected:
  Status Open(const std::string& provider, const std::string& name,
              const std::string& config = "null") {
    return providers_.Open({provider, name, config, directory_.path()}).status();
  }

  fakes::TemporaryDirectory directory_;
  static AccessTable Access() {
    return {{"openai", At("https://127.0.0.1/v1")}, {"phind", At("")}};
  }
  static std::shared_ptr<const ProviderAccess> At(std::string base_url) {
    return std::make_shared<const ProviderAccess>(ProviderAccess{std::move(base_url), Secret("")});
  }

  Providers providers_{Access()};
};

TEST_F(ProvidersTest, OpensAScenarioOfTheBundle) {
  directory_.Write("flows/s.yaml", "scenario: 1\nsteps: [{say: hi}]\n");
  EXPECT_TRUE(Open("script", "flows/s.yaml").ok());
  EXPECT_EQ(Open("script", "flows/s.yaml", R"({"a":1})").code(), Code::kInvalidArgument);
}

TEST_F(ProvidersTest, ScenarioStaysInTheBundle) {
  EXPECT_EQ(Open("script", "../x.yaml").code(), Code::kInvalidArgument);
  EXPECT_EQ(Open("script", "/etc/passwd").code(), Code::kInvalidArgument);
  EXPECT_FALSE(Open("script", "none.yaml").ok());
}

TEST_F(ProvidersTest, ErrorsOfTheScenarioNameItsLine) {
  directory_.Write("s.yaml", "scenario: 1\nsteps:\n  - shout: hi\n");
  EXPECT_NE(Open("script", "s.yaml").message().find("s.yaml:3"), std::string::npos);
}

TEST_F(ProvidersTest, DirectHasOneNameAndNoOptions) {
  EXPECT_TRUE(Open("direct", "prompt").ok());
  EXPECT_NE(Open("direct", "gpt").message().find("model.name"), std::string::npos);
  EXPECT_EQ(Open("direct", "prompt", R"({"a":1})").code(), Code::kInvalidArgument);
}

TEST_F(ProvidersTest, NamesTheProvidersThereAre) {
  EXPECT_TRUE(Open("openai", "gpt").ok());
  EXPECT_EQ(Open("openai", "gpt", R"({"speed":1})").code(), Code::kInvalidArgument);
  EXPECT_NE(Open("bogus", "x")
                .message()
                .find("model.provider: bogus: allowed are script, direct, openai"),
            std::string::npos);
  EXPECT_NE(Open("phind", "x").message().find("PHIND_BASE_URL"), std::string::npos);
}

}  // namespace
}  // namespace odyssey::model
