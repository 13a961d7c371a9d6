#include "agentd/tool/search_tools.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "agentd/tool/ignored_paths.h"
#include "tests/fakes/events.h"
#include "tests/fakes/fake_sandbox.h"

namespace odyssey::tools {
namespace {

using Json = nlohmann::json;
using fakes::Exited;
using supervisor::v1::ExecOutcome;
using supervisor::v1::ExecStart;

std::string Match(const std::string& path, uint64_t line, const std::string& text,
                  const std::string& type = "match") {
  const Json message = {{"type", type},
                        {"data",
                         {{"path", {{"text", path}}},
                          {"lines", {{"text", text}}},
                          {"line_number", line},
                          {"submatches", Json::array()}}}};
  return message.dump() + "\n";
}

// Names as ripgrep prints them with --null; a line each here.
std::string Names(std::string lines) {
  std::replace(lines.begin(), lines.end(), '\n', '\0');
  return lines;
}

class SearchToolsTest : public ::testing::Test {
 protected:
  // ripgrep prints `out` in pieces, and ends.
  void Behave(const std::string& out, ExecOutcome ended = Exited(), const std::string& error = "") {
    sandbox_.on_exec = [=, this](const ExecStart& start, const sandbox::ExecSink& sink,
                                 std::stop_token) -> Result<ExecOutcome> {
      start_ = start;
      ODY_RETURN_IF_ERROR(fakes::Begin(sink));
      for (size_t i = 0; i < out.size(); i += 7) {
        ODY_RETURN_IF_ERROR(fakes::Print(sink, out.substr(i, 7)));
      }
      if (!error.empty()) {
        ODY_RETURN_IF_ERROR(fakes::Print(sink, error, supervisor::v1::OUTPUT_STREAM_STDERR));
      }
      return ended;
    };
  }
  ToolResult Run(const char* tool, const std::string& arguments) {
    ToolContext context;
    context.sandbox = &sandbox_;
    context.cell_id = "cel_s";
    context.ignored = &ignored_;
    context.is_hidden = [this](const std::string& path) {
      return rules::IsPathDenied(rules_, "Read", path);
    };
    context.emit = [](const agent::v1::Event&) { return OkStatus(); };
    const std::unique_ptr<Tool> made = NewSearchTool(*policy::FindTool(tool));
    const Result<rules::ToolCall> terms = made->ForRules(arguments);
    if (!terms.ok()) return {terms.status().message(), false};
    Result<ToolResult> result = made->Run(arguments, context);
    EXPECT_TRUE(result.ok()) << result.status().ToString();
    return result.ok() ? *result : ToolResult{"", false};
  }
  Json RunJson(const char* tool, const std::string& arguments) {
    return Json::parse(Run(tool, arguments).json);
  }
  bool Asked(const std::string& word) const {
    return std::count(start_.argv().begin(), start_.argv().end(), word) == 1;
  }

  fakes::FakeSandbox sandbox_;
  IgnoredPaths ignored_{&sandbox_, kWorkspace};
  rules::ToolRules rules_;
  ExecStart start_;
};

// Neither is left to ripgrep, which searches whatever root it is given.
TEST_F(SearchToolsTest, ARootThatIsIgnoredOrALinkIsNotSearched) {
  ASSERT_TRUE(sandbox_.WriteFile({"cel_s"}, "/workspace/.gitignore", "build/\n", 0).ok());
  Behave("build/a\n");
  EXPECT_EQ(RunJson("Glob", R"({"pattern":"*","path":"build"})")["error"],
            "permission denied: path `build` is ignored by .gitignore");
  for (const char* path : {"/etc", "/", "/etc/passwd"}) {
    EXPECT_EQ(RunJson("Grep", R"({"pattern":"x","path":")" + std::string(path) + "\"}")["error"],
              "permission denied: path " + std::string(path) + " is outside the visible workspace");
  }
  sandbox_.links["pub/link"] = "/workspace/secrets";
  ToolContext context;
  context.sandbox = &sandbox_;
  context.cell_id = "cel_s";
  const auto result = NewSearchTool(*policy::FindTool("Grep"))
                          ->Run(R"({"pattern":"x","path":"pub/link"})", context);
  EXPECT_EQ(sandbox::LeadsTo(result.status()), "/workspace/secrets");
  EXPECT_EQ(start_.argv_size(), 0);
}

TEST_F(SearchToolsTest, GlobGivesThePathsThatMatchInOrder) {
  Behave(Names("./src/b.rs\n./src/x/a.rs\n./a.txt\n./src/a.rs\n"));
  EXPECT_EQ(RunJson("Glob", R"({"pattern":"src/**/*.rs"})"),
            Json::parse(R"({"matches":["src/a.rs","src/b.rs","src/x/a.rs"],"truncated":false})"));
  EXPECT_EQ(start_.argv(0), "/usr/bin/rg");
  EXPECT_TRUE(Asked("--no-config"));
  EXPECT_TRUE(Asked("--files"));
}

TEST_F(SearchToolsTest, ANameMayHoldANewline) {
  Behave(std::string("./a\nb\0./c\0", 10));
  EXPECT_EQ(RunJson("Glob", R"({"pattern":"*"})")["matches"], Json::parse(R"(["a\nb","c"])"));
  EXPECT_TRUE(Asked("--null"));
}

TEST_F(SearchToolsTest, GlobMatchesBelowItsPath) {
  Behave(Names("src/b.rs\nsrc/x/a.rs\n"));
  EXPECT_EQ(RunJson("Glob", R"({"pattern":"./*.rs","path":"src/"})")["matches"],
            Json::parse(R"(["src/b.rs"])"));
  EXPECT_EQ(*start_.argv().rbegin(), "src");
  EXPECT_EQ(*std::next(start_.argv().rbegin()), "--");
}

TEST_F(SearchToolsTest, TheFirstRowsAreKeptAndTheRestIsSaid) {
  Behave(Names("./c\n./a\n./d\n./b\n"));
  EXPECT_EQ(RunJson("Glob", R"({"pattern":"*","max_results":2})"),
            Json::parse(R"({"matches":["a","b"],"truncated":true})"));
}

TEST_F(SearchToolsTest, AsManyAsAskedForIsNotTruncated) {
  Behave(Names("./b\n./a\n"));
  EXPECT_EQ(RunJson("Glob", R"({"pattern":"*","max_results":2})")["truncated"], false);
}

TEST_F(SearchToolsTest, GrepGivesPathLineAndText) {
  Behave(Match("./b", 3, "one\r\n") + Match("./a", 10, "two\n") +
         Match("./a", 9, "x\n", "context") + "{\"type\":\"end\",\"data\":{}}\n");
  EXPECT_EQ(RunJson("Grep", R"({"pattern":"o","context":1,"case_insensitive":true})"),
            Json::parse(R"({"matches":[{"path":"a","line":9,"text":"x","context":true},
                                       {"path":"a","line":10,"text":"two"},
                                       {"path":"b","line":3,"text":"one"}],"truncated":false})"));
  EXPECT_TRUE(Asked("--context=1"));
  EXPECT_TRUE(Asked("--ignore-case"));
  EXPECT_TRUE(Asked("--regexp=o"));
}

TEST_F(SearchToolsTest, APatternIsNeverAnOption) {
  Behave("");
  Run("Grep", R"({"pattern":"--pre=sh","path":"--pre"})");
  EXPECT_TRUE(Asked("--regexp=--pre=sh"));
  EXPECT_EQ(*std::next(start_.argv().rbegin()), "--");
}

TEST_F(SearchToolsTest, GrepLooksAtFilesOfTheGlob) {
  Behave(Match("./a.cc", 1, "x\n") + Match("./a.h", 1, "x\n"));
  const Json result = RunJson("Grep", R"({"pattern":"x","glob":"*.h"})");
  ASSERT_EQ(result["matches"].size(), 1u);
  EXPECT_EQ(result["matches"][0]["path"], "a.h");
}

TEST_F(SearchToolsTest, WhatTheRulesDenyForReadIsLeftOut) {
  rules_ = *rules::Parse({}, {}, {"Read(secrets/*)"});
  Behave(Match("./secrets/a", 1, "key\n") + Match("./a", 1, "key\n"));
  EXPECT_EQ(RunJson("Grep", R"({"pattern":"key"})")["matches"].size(), 1u);
  Behave(Names("./secrets/a\n./a\n"));
  EXPECT_EQ(RunJson("Glob", R"({"pattern":"**"})")["matches"], Json::parse(R"(["a"])"));
}

TEST_F(SearchToolsTest, ALongLineIsCutBetweenCharacters) {
  std::string text = "x";
  for (int i = 0; i < 1000; ++i) text += "\xC3\xA9";
  Behave(Match("./a", 1, text + "\n"));
  const Json row = RunJson("Grep", R"({"pattern":"x"})")["matches"][0];
  EXPECT_EQ(row["text_truncated"], true);
  EXPECT_EQ(row["text"].get<std::string>().size(), 999u);
}

TEST_F(SearchToolsTest, AHugeLineOfOutputIsDroppedAndSaid) {
  Behave(Match("./a", 1, std::string(5u << 20, 'x')) + Match("./b", 1, "x"));
  const Json result = RunJson("Grep", R"({"pattern":"x"})");
  ASSERT_EQ(result["matches"].size(), 1u);
  EXPECT_EQ(result["matches"][0]["path"], "b");
  EXPECT_EQ(result["truncated"], true);
}

TEST_F(SearchToolsTest, CutOutputIsSaid) {
  ExecOutcome ended = Exited();
  ended.set_stdout_truncated(true);
  Behave(Names("./a\n./b"), ended);
  EXPECT_EQ(RunJson("Glob", R"({"pattern":"*"})"),
            Json::parse(R"({"matches":["a"],"truncated":true})"));
}

TEST_F(SearchToolsTest, NothingFoundIsAResult) {
  Behave("", Exited(1));
  EXPECT_EQ(RunJson("Grep", R"({"pattern":"x"})"),
            Json::parse(R"({"matches":[],"truncated":false})"));
}

TEST_F(SearchToolsTest, WrongPatternsAreInvalidArguments) {
  Behave("", Exited(2), "regex parse error:\n    (\nerror: unclosed group\n");
  const ToolResult result = Run("Grep", R"({"pattern":"("})");
  EXPECT_FALSE(result.success);
  EXPECT_EQ(Json::parse(result.json)["error"],
            "invalid arguments: regex parse error:\n    (\nerror: unclosed group");
  EXPECT_EQ(Run("Glob", R"({"pattern":"a["})").json, "pattern \"a[\": unbalanced \"[\"");
  EXPECT_EQ(Run("Grep", R"({"pattern":"a","glob":"{"})").json, "pattern \"{\": unbalanced \"{\"");
  EXPECT_EQ(Run("Glob", R"({"pattern":"a","max_results":1001})").json,
            "max_results is 1001; at most 1000");
  EXPECT_EQ(Run("Grep", R"({"pattern":"a","context":21})").json, "context is 21; at most 20");
}

TEST_F(SearchToolsTest, FilesThatCannotBeReadHideNothing) {
  Behave(Match("./a", 1, "x\n"), Exited(2));
  EXPECT_EQ(RunJson("Grep", R"({"pattern":"x"})")["matches"].size(), 1u);
}

TEST_F(SearchToolsTest, AMissingProgramIsNamed) {
  ExecOutcome ended;
  ended.set_kind(supervisor::v1::OUTCOME_KIND_NOT_FOUND);
  Behave("", ended);
  EXPECT_EQ(RunJson("Glob", R"({"pattern":"x"})")["error"],
            "execution failed: /usr/bin/rg: not in the cell; the host needs the package ripgrep");
}

}  // namespace
}  // namespace odyssey::tools
