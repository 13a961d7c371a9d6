#include "agentd/scenario/bundle_scenarios.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/fakes/temporary_directory.h"

namespace odyssey::scenario {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kGood[] = "scenario: 1\nsteps: [{say: hi}]\n";
constexpr char kWrong[] = "scenario: 1\nsteps:\n  - shout: hi\n  - say: '${x}'\n";

class BundleScenariosTest : public ::testing::Test {
 protected:
  // An agent whose model is `provider` and `name`, the latter on line 7 of its file.
  void AddAgent(const std::string& name, const std::string& provider = "script",
                const std::string& config = "null") {
    dialect::AgentSpec agent;
    agent.path = "agent.yaml";
    agent.model = {provider, name, config};
    const std::string file = directory_.path() + "/agent.yaml";
    agent.origins.Add("model.name", {.file = file, .line = 7, .key = "spec.model.name"});
    bundle_.agents.push_back(std::move(agent));
  }
  // Without the directory in front.
  std::vector<std::string> Problems() {
    bundle_.directory = directory_.path();
    std::vector<std::string> out;
    for (const dialect::Problem& problem : ValidateScenarios(bundle_)) {
      std::string text = dialect::ToString(problem);
      const std::string prefix = directory_.path() + "/";
      if (text.rfind(prefix, 0) == 0) text.erase(0, prefix.size());
      out.push_back(std::move(text));
    }
    return out;
  }

  const fakes::TemporaryDirectory directory_;
  dialect::Bundle bundle_;
};

TEST_F(BundleScenariosTest, OneWithoutProblemsHasNone) {
  directory_.Write("s.yaml", kGood);
  AddAgent("s.yaml");
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_TRUE(LoadScenario(directory_.path(), bundle_.agents[0].model).ok());
}

TEST_F(BundleScenariosTest, SaysEveryProblemOfEachFileOnce) {
  directory_.Write("a.yaml", kWrong);
  directory_.Write("flows/b.yaml", "scenario: 2\nsteps: []\n");
  for (const char* name : {"a.yaml", "flows/b.yaml", "./a.yaml"}) AddAgent(name);
  EXPECT_THAT(Problems(),
              ElementsAre(HasSubstr("a.yaml:3: steps[0]: "), HasSubstr("a.yaml:4: steps[1].say: "),
                          HasSubstr("flows/b.yaml:1: scenario: ")));
}

TEST_F(BundleScenariosTest, OneThatCannotBeReadIsAProblemOfWhoNamesIt) {
  ASSERT_EQ(mkfifo((directory_.path() + "/fifo").c_str(), 0600), 0);
  std::filesystem::create_symlink("/etc/passwd", directory_.path() + "/link");
  for (const char* name : {"none.yaml", "../s.yaml", "/etc/passwd", "link", "fifo", "."}) {
    bundle_.agents.clear();
    AddAgent(name);
    EXPECT_THAT(Problems(), ElementsAre(HasSubstr("agent.yaml:7: spec.model.name: "))) << name;
    EXPECT_EQ(LoadScenario(directory_.path(), bundle_.agents[0].model).status().code(),
              Code::kInvalidArgument);
  }
}

// The reader of the agent's file has said so.
TEST_F(BundleScenariosTest, AnAgentWithoutANameHasNone) {
  AddAgent("");
  AddAgent(" ");
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(BundleScenariosTest, TheProviderHasNoOptions) {
  directory_.Write("s.yaml", kGood);
  AddAgent("s.yaml", "script", R"({"a":1})");
  EXPECT_THAT(Problems(), ElementsAre("agent.yaml: model.config: provider script has no options"));
}

TEST_F(BundleScenariosTest, OtherProvidersHaveNone) {
  AddAgent("gpt", "openai", R"({"a":1})");
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(BundleScenariosTest, LoadingSaysTheFirstAndHowManyMore) {
  directory_.Write("s.yaml", kWrong);
  AddAgent("s.yaml");
  const std::string message =
      LoadScenario(directory_.path(), bundle_.agents[0].model).status().message();
  EXPECT_THAT(message, HasSubstr("scenario s.yaml:3: steps[0]: "));
  EXPECT_THAT(message, HasSubstr("(and 1 more)"));
}

}  // namespace
}  // namespace odyssey::scenario
