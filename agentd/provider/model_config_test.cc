#include "agentd/provider/model_config.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "agentd/provider/bundle_models.h"

namespace odyssey::provider {
namespace {

Status Parse(const char* provider, const std::string& config) {
  const Result<const Provider*> found = FindProvider(provider);
  if (!found.ok()) return found.status();
  return ParseModelConfig(**found, config).status();
}

TEST(ModelConfigTest, ReadsSnakeAndCamelCase) {
  const Result<ModelConfig> config = ParseModelConfig(
      **FindProvider("openai"),
      R"({"temperature":1,"topP":0.9,"maxTokens":100,"timeout_seconds":5,"reasoningEffort":"low"})");
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  EXPECT_EQ(config->Integer("max_tokens", 0), 100);
  EXPECT_EQ(config->Json("top_p"), "0.9");
  EXPECT_EQ(config->Text("reasoning_effort"), "low");
  EXPECT_EQ(config->Integer("max_retries", 7), 7);
  EXPECT_TRUE(Parse("openai", "null").ok());
}

TEST(ModelConfigTest, NamesTheKeyTheValueAndWhatIsAllowed) {
  struct Row {
    const char *provider, *config, *phrase;
  };
  for (const Row& row :
       std::vector<Row>{{"openai", R"({"temperature":3})", "model.config.temperature: 3"},
                        {"openai", R"({"temperature":"x"})", "model.config.temperature"},
                        {"openai", R"({"max_tokens":0})", "from 1"},
                        {"openai", R"({"max_tokens":1.5})", "an integer"},
                        {"openai", R"({"max_tokens":18446744073709551615})", "from 1"},
                        {"openai", R"({"timeout_seconds":-1})", "from 1 to 3600"},
                        {"openai", R"({"reasoning_effort":"huge"})", "low, medium, high"},
                        {"openai", R"({"reasoning_effort":"low, medium"})", "low, medium, high"},
                        {"openai", R"({"api_key":"k"})", "--model-key-file"},
                        {"anthropic", R"({"baseUrl":"https://evil.example"})", "--model-base-url"},
                        {"openai", R"({"speed":1})", "unknown key \"speed\""},
                        {"openai", R"({"top_k":1})", "unknown key \"top_k\" of provider openai"},
                        {"groq", R"({"api":"responses"})", "unknown key \"api\""},
                        {"openai", R"({"max_tokens":1,"maxTokens":2})", "is set twice"},
                        {"azure-openai", R"({"deployment_id":"../x"})", "letters"},
                        {"openai", R"({"extra_body":{"messages":[]}})", "messages"},
                        {"script", R"({"a":1})", "provider script has no options"},
                        {"openai", R"([1])", "a mapping"}}) {
    const Status status = Parse(row.provider, row.config);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << row.config;
    EXPECT_NE(status.message().find(row.phrase), std::string::npos) << status.message();
  }
}

TEST(ModelConfigTest, FindsProvidersByNameAndAlias) {
  EXPECT_EQ((*FindProvider("gemini"))->name, "google");
  EXPECT_EQ((*FindProvider("local"))->name, "llama_cpp");
  EXPECT_EQ(FindProvider("").status().code(), Code::kInvalidArgument);
  EXPECT_NE(FindProvider("bogus").status().message().find("anthropic"), std::string::npos);
}

TEST(ValidateModelsTest, ReportsWhatASessionWouldRefuse) {
  dialect::Bundle bundle;
  for (const auto& [provider, config] : std::vector<std::pair<const char*, const char*>>{
           {"bogus", "null"}, {"openai", R"({"speed":1})"}, {"anthropic", R"({"top_k":5})"}}) {
    dialect::AgentSpec agent;
    agent.path = "agent.yaml";
    agent.model = {provider, "m", config};
    bundle.agents.push_back(agent);
  }
  const dialect::Problems problems = ValidateModels(bundle);
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_EQ(problems[0].key, "model.provider");
  EXPECT_EQ(problems[1].key, "model.config");
}

TEST(ModelsPageTest, HasARowForEachProviderAndKey) {
  std::ifstream file(ODYSSEY_MODELS_PAGE);
  std::stringstream page;
  page << file.rdbuf();
  for (const Provider& provider : kProviders) {
    EXPECT_NE(page.str().find("| `" + std::string(provider.name) + "`"), std::string::npos)
        << provider.name;
    EXPECT_NE(page.str().find(provider.base_url), std::string::npos) << provider.name;
  }
  for (const ConfigKey& key : kConfigKeys) {
    EXPECT_NE(page.str().find("| `" + std::string(key.name) + "` |"), std::string::npos)
        << key.name;
  }
}

}  // namespace
}  // namespace odyssey::provider
