#include "agentd/model/scenario_player.h"

#include <gtest/gtest.h>

#include "agentd/model/script_client.h"

namespace odyssey::model {
namespace {

using scenario::Scenario;

Scenario Parse(const std::string& steps) {
  dialect::Problems problems;
  std::optional<Scenario> out =
      scenario::ParseScenario("s.yaml", "scenario: 1\nsteps:\n" + steps, &problems);
  for (const dialect::Problem& problem : problems) ADD_FAILURE() << dialect::ToString(problem);
  return out ? *std::move(out) : Scenario{};
}

std::string Show(const ModelEvent& event) {
  if (const auto* text = std::get_if<TextDelta>(&event)) return "say " + text->text;
  if (const auto* text = std::get_if<ReasoningDelta>(&event)) return "think " + text->text;
  const ToolUse& call = std::get<ToolUse>(event);
  return "call " + call.id + " " + call.name + " " + call.json;
}

std::vector<std::string> Play(const Scenario& scenario, const std::vector<PlayedCall>& calls = {}) {
  const Played played = PlayScenario(scenario, "the prompt", calls);
  std::vector<std::string> out;
  for (const ModelEvent& event : played.events) out.push_back(Show(event));
  if (!played.end.ok()) out.push_back("error " + played.end.message());
  return out;
}

using Lines = std::vector<std::string>;

TEST(ScenarioPlayerTest, SaysAndThinks) {
  EXPECT_EQ(Play(Parse("  - think: hm\n  - say: 'got ${prompt}'\n")),
            (Lines{"think hm", "say got the prompt"}));
}

TEST(ScenarioPlayerTest, StopsAtACallAndGoesOnWithItsResult) {
  const Scenario scenario = Parse(
      "  - say: before\n"
      "  - call: {tool: Bash, args: {command: 'ls'}, as: ls}\n"
      "  - say: '${ls.stdout | trim} ${ls.status_code} ${ls.success}'\n");
  EXPECT_EQ(Play(scenario), (Lines{"say before", R"(call call-1 Bash {"command":"ls"})"}));
  EXPECT_EQ(Play(scenario, {{"Bash", R"({"status_code":0,"stdout":"a\n"})"}}),
            (Lines{"say a 0 true"}))
      << "what was said before the call is not said again";
}

TEST(ScenarioPlayerTest, ReportsTheUsageOfTheAnswerThatItIsIn) {
  const Scenario scenario = Parse(
      "  - usage: {input: 50, cached_input: 20, output: 5}\n"
      "  - call: {tool: LS}\n"
      "  - say: done\n"
      "  - usage: {output: 9}\n");
  const Result<Played> first = PlayScenario(scenario, "p", {});
  EXPECT_EQ(first->usage.input_tokens(), 50u);
  EXPECT_EQ(first->usage.cached_input_tokens(), 20u);
  EXPECT_EQ(first->usage.output_tokens(), 5u);
  const Result<Played> second = PlayScenario(scenario, "p", {{"LS", "{}"}});
  EXPECT_EQ(second->usage.input_tokens(), 0u);
  EXPECT_EQ(second->usage.output_tokens(), 9u);
  std::vector<ModelEvent> events;
  ASSERT_TRUE(NewScriptClient(scenario)
                  ->Stream({.messages = {{MessageKind::kUser, "p", {}}}},
                           [&](ModelEvent event) {
                             events.push_back(std::move(event));
                             return OkStatus();
                           },
                           {})
                  .ok());
  EXPECT_EQ(std::get<ModelEnd>(events.back()).usage.input_tokens(), 50u);
}

TEST(ScenarioPlayerTest, CallsSeveralToolsInOneGo) {
  const Scenario scenario = Parse(
      "  - call:\n"
      "      - {tool: LS, as: tree}\n"
      "      - {tool: Read, args: {path: a, offset: 3}, as: a}\n"
      "  - call: {tool: Write, args: {path: b, content: '${a.content}'}}\n");
  EXPECT_EQ(Play(scenario),
            (Lines{"call call-1 LS {}", R"(call call-2 Read {"offset":3,"path":"a"})"}));
  EXPECT_EQ(Play(scenario, {{"LS", "{}"}, {"Read", R"({"content":"x"})"}}),
            (Lines{R"(call call-3 Write {"content":"x","path":"b"})"}));
}

TEST(ScenarioPlayerTest, BranchesOnWhatAToolReturned) {
  const std::string call = "  - call: {tool: Bash, args: {command: x}, as: r}\n";
  const std::string result = R"({"status_code":3,"stdout":"alpha\nbeta 42\n"})";
  for (const auto& [condition, holds] : std::vector<std::pair<const char*, bool>>{
           {"{value: '${r.status_code}', equals: 3}", true},
           {"{value: '${r.status_code}', equals: '0'}", false},
           {"{value: '${r.success}', equals: true}", true},
           {"{value: '${r.stdout}', contains: 'beta 4'}", true},
           {"{value: '${r.stdout}', contains: '${prompt}'}", false},
           {"{value: '${r.stdout}', matches: '^beta [0-9]+$'}", true},
           {"{value: '${r.stdout}', matches: '^gamma'}", false},
           {"{value: '${r.stdout | lines}', at_least: 2}", true},
           {"{value: '${r.stdout | lines}', less: 2}", false},
           {"{value: ' 2.5 ', greater: 2}", true},
           {"{value: '2', at_most: 1}", false},
           {"{value: '${r.error}', empty: true}", true},
           {"{value: '${r.nope | default \"\"}', empty: false}", false},
           {"{not: {value: a, equals: b}}", true},
           {"{all: [{value: a, equals: a}, {value: b, equals: c}]}", false},
           {"{any: [{value: a, equals: b}, {value: b, equals: b}]}", true}}) {
    const Scenario scenario = Parse(call + "  - if: " + condition +
                                    "\n    then: [{say: yes it is}]\n    else: [{say: no}]\n");
    EXPECT_EQ(Play(scenario, {{"Bash", result}}), (Lines{holds ? "say yes it is" : "say no"}))
        << condition;
  }
}

TEST(ScenarioPlayerTest, TriesAnotherPathWhenOneIsDenied) {
  const Scenario scenario = Parse(
      "  - set: {report: 'text of ${prompt}'}\n"
      "  - call: {tool: Write, args: {path: report.md, content: '${report}'}, as: written}\n"
      "  - if: {value: '${written.error}', contains: denied}\n"
      "    then:\n"
      "      - call: {tool: Write, args: {path: tmp/report.md, content: '${report}'}, as: "
      "written}\n"
      "  - say: '${written.path}'\n");
  const PlayedCall denied{"Write", R"({"error":"permission denied: tool Write was denied"})"};
  EXPECT_EQ(
      Play(scenario, {denied}),
      (Lines{R"(call call-2 Write {"content":"text of the prompt","path":"tmp/report.md"})"}));
  EXPECT_EQ(Play(scenario, {denied, {"Write", R"({"path":"tmp/report.md","bytes":1})"}}),
            (Lines{"say tmp/report.md"}));
  EXPECT_EQ(Play(scenario, {{"Write", R"({"path":"report.md","bytes":1})"}}),
            (Lines{"say report.md"}));
}

TEST(ScenarioPlayerTest, EndsAndFails) {
  EXPECT_EQ(Play(Parse("  - say: a\n  - end: true\n  - say: b\n")), (Lines{"say a"}));
  EXPECT_EQ(Play(Parse("  - fail: 'no ${prompt}'\n")), (Lines{"error s.yaml:3: no the prompt"}));
  EXPECT_EQ(Play(Parse("  - if: {value: a, equals: a}\n    then:\n      - fail: deep\n")),
            (Lines{"error s.yaml:5: deep"}));
  EXPECT_EQ(Play(Parse("  - think: hm\n  - say: a\n  - fail: b\n")),
            (Lines{"think hm", "say a", "error s.yaml:5: b"}));
}

TEST(ScenarioPlayerTest, MissingValueNamesTheLine) {
  EXPECT_EQ(Play(Parse("  - call: {tool: LS, as: r}\n  - say: '${r.nope}'\n"), {{"LS", "{}"}}),
            (Lines{"error s.yaml:4: ${r.nope} has no value"}));
  EXPECT_EQ(Play(Parse("  - if: {value: abc, less: 1}\n    then: [{end: true}]\n")),
            (Lines{"error s.yaml:3: \"abc\" is compared as a number, and is none"}));
}

TEST(ScenarioPlayerTest, CallsThatAreNotItsOwnAreAnError) {
  const Scenario scenario = Parse("  - call: {tool: LS}\n");
  EXPECT_EQ(Play(scenario, {{"Bash", "{}"}}).front().rfind("error", 0), 0u);
  EXPECT_EQ(Play(scenario, {{"LS", "{}"}, {"LS", "{}"}}).front().rfind("error", 0), 0u);
}

TEST(ScriptClientTest, PlaysTheLatestTurnOfAConversation) {
  const auto client =
      NewScriptClient(Parse("  - call: {tool: LS, as: r}\n  - say: '${prompt}: ${r.n}'\n"));
  ModelRequest request;
  request.messages = {{MessageKind::kUser, "first", {}},
                      {MessageKind::kToolUse, "", {{"a", "LS", "{}"}}},
                      {MessageKind::kToolResult, "", {{"a", "LS", R"({"n":1})"}}},
                      {MessageKind::kAssistant, "first: 1", {}},
                      {MessageKind::kUser, "second", {}},
                      {MessageKind::kToolUse, "", {{"b", "LS", "{}"}}},
                      {MessageKind::kToolResult, "", {{"b", "LS", R"({"n":2})"}}}};
  std::string said;
  const ModelSink sink = [&](ModelEvent event) {
    if (const auto* text = std::get_if<TextDelta>(&event)) said += text->text;
    return OkStatus();
  };
  EXPECT_TRUE(client->Stream(request, sink, {}).ok());
  EXPECT_EQ(said, "second: 2");
}

TEST(ScriptClientTest, DeliversLongTextInWholeCharacters) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "é€";
  const auto client = NewScriptClient(Parse("  - say: '" + text + "'\n"));
  ModelRequest request;
  request.messages = {{MessageKind::kUser, "x", {}}};
  std::string said;
  size_t pieces = 0;
  const ModelSink sink = [&](ModelEvent event) {
    if (std::holds_alternative<ModelEnd>(event)) return OkStatus();
    const std::string piece = std::get<TextDelta>(event).text;
    EXPECT_NE(static_cast<unsigned char>(piece[0]) & 0xC0, 0x80);
    said += piece;
    ++pieces;
    return OkStatus();
  };
  EXPECT_TRUE(client->Stream(request, sink, {}).ok());
  EXPECT_EQ(said, text);
  EXPECT_GT(pieces, 1u);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(client->Stream(request, sink, stop.get_token()).code(), Code::kCancelled);
}

}  // namespace
}  // namespace odyssey::model
