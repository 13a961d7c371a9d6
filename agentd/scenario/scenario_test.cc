#include "agentd/scenario/scenario.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace odyssey::scenario {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::vector<std::string> ProblemsOf(const std::string& yaml) {
  dialect::Problems problems;
  const std::optional<Scenario> parsed = ParseScenario("s.yaml", yaml, &problems);
  EXPECT_EQ(parsed.has_value(), problems.empty());
  std::vector<std::string> out;
  for (const dialect::Problem& problem : problems) out.push_back(dialect::ToString(problem));
  return out;
}

TEST(ScenarioTest, KeepsStepsWithTheirLines) {
  dialect::Problems problems;
  const auto parsed = ParseScenario(
      "s.yaml", "scenario: 1\nsteps:\n  - say: hi\n  - call: {tool: LS, as: ls}\n", &problems);
  ASSERT_TRUE(parsed) << ::testing::PrintToString(problems.size());
  ASSERT_THAT(parsed->steps, SizeIs(2));
  EXPECT_EQ(parsed->steps[1].line, 4);
  EXPECT_EQ(std::get<Calls>(parsed->steps[1].what).calls.at(0).as, "ls");
}

TEST(ScenarioTest, SaysEveryProblem) {
  EXPECT_THAT(ProblemsOf("scenario: 1\n"
                         "steps:\n"
                         "  - shout: a\n"
                         "  - say: '${x}'\n"
                         "  - call: {tool: Curl, az: r}\n"),
              ElementsAre(HasSubstr("s.yaml:3: steps[0]: "), HasSubstr("s.yaml:4: steps[1].say: "),
                          HasSubstr("s.yaml:5: steps[2].call.tool: unknown tool `Curl`"),
                          HasSubstr("s.yaml:5: steps[2].call")));
}

// Problems of another file are no reason to refuse this one.
TEST(ScenarioTest, AddsToTheProblemsThereAre) {
  dialect::Problems problems = {{.file = "other", .message = "wrong"}};
  EXPECT_TRUE(ParseScenario("s.yaml", "scenario: 1\nsteps: [{say: a}]", &problems));
  EXPECT_THAT(problems, SizeIs(1));
  EXPECT_FALSE(ParseScenario("s.yaml", "scenario: 1", &problems));
  EXPECT_THAT(problems, SizeIs(2));
}

TEST(ScenarioTest, ErrorsNameFileLineAndWhatIsAllowed) {
  for (const auto& [yaml, message] : std::vector<std::pair<const char*, const char*>>{
           {"steps: [{say: a}]", "s.yaml:1: scenario: missing field"},
           {"scenario: 2\nsteps: [{say: a}]",
            "s.yaml:1: scenario: must be a whole number from 1 to 1"},
           {"scenario: 1", "steps: missing field"},
           {"scenario: 1\nsteps: []", "there are no steps"},
           {"scenario: 1\nsteps: {say: a}", "s.yaml:2: steps: must be a list of steps"},
           {"scenario: 1\nsteps:\n  - shout: a",
            "s.yaml:3: steps[0]: a step has exactly one of `say`, `think`"},
           {"scenario: 1\nsteps:\n  - {say: a, fail: b}", "exactly one of"},
           {"scenario: 1\nsteps:\n  - {say: a, loud: true}", "unknown field `loud`"},
           {"scenario: 1\nsteps:\n  - say: 5", "steps[0].say: must be a string"},
           {"scenario: 1\nsteps:\n  - say: '${x}'",
            "s.yaml:3: steps[0].say: ${x} is not set by an earlier step"},
           {"scenario: 1\nsteps:\n  - say: '${prompt | loud}'", "unknown filter \"loud\""},
           {"scenario: 1\nsteps:\n  - call: {tool: Curl}",
            "unknown tool `Curl`, expected one of `Bash`"},
           {"scenario: 1\nsteps:\n  - call: {args: {}}", "missing field `tool`"},
           {"scenario: 1\nsteps:\n  - call: []", "needs 1 to 16 calls"},
           {"scenario: 1\nsteps:\n  - call: {tool: LS, as: 'a b'}", "a name has letters"},
           {"scenario: 1\nsteps:\n  - call: {tool: LS, as: prompt}", "is the user's message"},
           {"scenario: 1\nsteps:\n  - call: {tool: LS, args: [1]}", "must be a map"},
           {"scenario: 1\nsteps:\n  - set: {}", "sets nothing"},
           {"scenario: 1\nsteps:\n  - end: now", "the only value is true"},
           {"scenario: 1\nsteps:\n  - if: {value: a}\n    then: [{end: true}]",
            "give exactly one of `equals`"},
           {"scenario: 1\nsteps:\n  - if: {value: a, equals: b, less: 1}\n    then: [{end: true}]",
            "give exactly one of"},
           {"scenario: 1\nsteps:\n  - if: {value: a, equals: b}", "steps[0].then: missing field"},
           {"scenario: 1\nsteps:\n  - if: {value: a, matches: '('}\n    then: [{end: true}]",
            "regular expression"},
           {"scenario: 1\nsteps:\n  - if: {value: a, matches: 'a{9}'}\n    then: [{end: true}]",
            "{n} is not allowed"},
           {"scenario: 1\nsteps:\n  - if: {value: a, matches: '(a)\\1'}\n    then: [{end: true}]",
            "back references"},
           {"scenario: 1\nsteps:\n  - if: {value: a, less: x}\n    then: [{end: true}]",
            "cannot be a string"},
           {"scenario: 1\nsteps:\n  - if: {value: a, equals: a, all: [{value: a, equals: a}]}\n    "
            "then: [{end: true}]",
            "unknown field"},
           {"scenario: 1\nsteps: &a\n  - say: b", "anchors"},
           {"scenario: [", "s.yaml"}}) {
    EXPECT_THAT(ProblemsOf(yaml), Contains(HasSubstr(message))) << yaml;
  }
}

TEST(ScenarioTest, LimitsStepsAndDepth) {
  std::string many = "scenario: 1\nsteps:\n";
  for (size_t i = 0; i <= kMaxScenarioSteps; ++i) many += "  - say: a\n";
  EXPECT_THAT(ProblemsOf(many), ElementsAre(HasSubstr("more than 1000 steps")));

  std::string deep = "{end: true}";
  for (int i = 0; i < kMaxScenarioDepth + 2; ++i)
    deep = "{if: {value: a, equals: a}, then: [" + deep + "]}";
  EXPECT_THAT(ProblemsOf("scenario: 1\nsteps: [" + deep + "]"), SizeIs(1));
}

}  // namespace
}  // namespace odyssey::scenario
