#include "agentd/tool/skill_tool.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/fakes/bundle_source.h"

namespace odyssey::tools {
namespace {

using Json = nlohmann::json;

class SkillToolTest : public ::testing::Test {
 protected:
  SkillToolTest() {
    source_.Write("skills/deploy/SKILL.md", "# Deploy\nship it\n");
    source_.Write("skills/long/SKILL.md", std::string(70'000, 'x'));
    bundle_.directory = source_.path();
    bundle_.skill_files = {{"deploy", "ship it", "skills/deploy/SKILL.md"},
                           {"long", "", "skills/long/SKILL.md"}};
  }
  Json Run(const std::string& arguments) {
    ToolContext context;
    context.bundle = &bundle_;
    const Result<ToolResult> result = NewSkillTool()->Run(arguments, context);
    EXPECT_TRUE(result.ok()) << result.status().ToString();
    return result.ok() ? Json::parse(result->json) : Json();
  }

  const fakes::BundleSource source_;
  dialect::Bundle bundle_;
};

TEST_F(SkillToolTest, ListsSkillsByPathsOfTheWorkspace) {
  EXPECT_EQ(Run("{}"), Json::parse(R"({"skills":[
      {"name":"deploy","description":"ship it","path":"skills/deploy/SKILL.md"},
      {"name":"long","description":"","path":"skills/long/SKILL.md"}]})"));
}

TEST_F(SkillToolTest, LoadsOneAndCutsALongOne) {
  EXPECT_EQ(Run(R"({"name":"deploy"})"),
            Json::parse(R"({"name":"deploy","path":"skills/deploy/SKILL.md",
                            "content":"# Deploy\nship it\n","truncated":false})"));
  const Json cut = Run(R"({"name":"long"})");
  EXPECT_EQ(cut["content"].get<std::string>().size(), 65'536u);
  EXPECT_EQ(cut["truncated"], true);
}

TEST_F(SkillToolTest, NamesWhatThereIsNot) {
  EXPECT_EQ(Run(R"({"name":"x"})")["error"], "execution failed: skill x not found");
  bundle_.skill_files.clear();
  EXPECT_EQ(Run("{}")["error"], "execution failed: skills are not enabled");
}

TEST_F(SkillToolTest, ThePromptHasASectionOnlyWithSkills) {
  EXPECT_EQ(
      SystemPrompt("You work.", bundle_),
      "You work.\n\n---\n\n## Skills\n\nThe following skills extend your capabilities. To use "
      "any skill, read its `SKILL.md` using the `Skill` tool.\n\n- deploy: ship it\n- long");
  bundle_.skill_files.clear();
  EXPECT_EQ(SystemPrompt("You work.", bundle_), "You work.");
}

}  // namespace
}  // namespace odyssey::tools
