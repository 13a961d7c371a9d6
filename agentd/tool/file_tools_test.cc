#include "agentd/tool/file_tools.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "agentd/tool/ignored_paths.h"
#include "agentd/tool/tool_result.h"
#include "tests/fakes/events.h"
#include "tests/fakes/fake_sandbox.h"

namespace odyssey::tools {
namespace {

using Json = nlohmann::json;

std::unique_ptr<Tool> ToolOf(std::string_view name) { return NewFileTool(*policy::FindTool(name)); }

class FileToolsTest : public ::testing::Test {
 protected:
  void Put(const std::string& path, const std::string& content) {
    ASSERT_TRUE(sandbox_.WriteFile({"cel_s"}, path, content, 0).ok());
  }
  ToolResult Call(const Tool& tool, const std::string& arguments) {
    ToolContext context;
    context.sandbox = &sandbox_;
    context.cell_id = "cel_s";
    context.leads_to = leads_to_;
    context.ignored = &ignored_;
    context.turn_id = "trn_1";
    context.tool_call_id = "tcl_1";
    context.emit = [this](agent::v1::Event event) {
      events_.push_back(std::move(event));
      return OkStatus();
    };
    Result<ToolResult> result = tool.Run(arguments, context);
    EXPECT_TRUE(result.ok()) << result.status().ToString();
    return result.ok() ? *result : ToolResult{};
  }
  static std::string Error(const ToolResult& result) {
    EXPECT_FALSE(result.success) << result.json;
    return Json::parse(result.json).value("error", "");
  }

  fakes::FakeSandbox sandbox_;
  IgnoredPaths ignored_{&sandbox_, kWorkspace};
  std::string leads_to_;
  std::vector<agent::v1::Event> events_;
};

TEST_F(FileToolsTest, WriteEditReadAndListOneFile) {
  EXPECT_EQ(Call(*ToolOf("Write"), R"({"path":"a.txt","content":"new file"})").json,
            R"({"bytes":8,"path":"a.txt"})");
  EXPECT_EQ(Call(*ToolOf("Edit"), R"({"path":"a.txt","old_text":"new","new_text":"updated"})").json,
            R"({"edited":true,"path":"a.txt"})");
  EXPECT_EQ(Call(*ToolOf("Read"), R"({"path":"a.txt"})").json,
            R"({"content":"updated file","path":"a.txt"})");
  EXPECT_EQ(Call(*ToolOf("LS"), "{}").json,
            R"({"entries":[{"name":"a.txt","path":"a.txt","type":"file"}],"path":"."})");
}

TEST_F(FileToolsTest, MultiEditMakesEveryEdit) {
  Put("a", "one two");
  EXPECT_EQ(Call(*ToolOf("MultiEdit"), R"({"path":"a","edits":[{"old_text":"one","new_text":"1"},
                                          {"old_text":"1 two","new_text":"2"}]})")
                .json,
            R"({"edited":true,"path":"a","replacements":2})");
  EXPECT_EQ(sandbox_.files("s")["a"], "2");
  EXPECT_EQ(ToolOf("MultiEdit")->ForRules(R"({"path":"a","edits":[]})").status(),
            InvalidArgument("edits cannot be empty"));
}

TEST_F(FileToolsTest, TruncatedReadEndsAtACharacterAndSaysWhereToGoOn) {
  Put("a", "ab\xE2\x82\xAC!");
  EXPECT_EQ(Json::parse(Call(*ToolOf("Read"), R"({"path":"a","max_bytes":4})").json),
            Json::parse(
                R"({"path":"a","content":"ab","truncated":true,"total_bytes":6,"next_offset":2})"));
  EXPECT_EQ(Json::parse(Call(*ToolOf("Read"), R"({"path":"a","offset":2})").json)["content"], "€!");
}

// Each part begins where the one before it ended, however few bytes are asked for.
TEST_F(FileToolsTest, AReadOfOneByteReturnsOneCharacter) {
  const std::string text = "aé€\xF0\x9F\x98\x80z";
  Put("a", text);
  std::string all;
  for (int parts = 0; parts < 5; ++parts) {
    const Json read = Json::parse(Call(*ToolOf("Read"), R"({"path":"a","max_bytes":1,"offset":)" +
                                                            std::to_string(all.size()) + "}")
                                      .json);
    all += read["content"].get<std::string>();
    EXPECT_EQ(read.value("next_offset", text.size()), all.size());
    EXPECT_EQ(read.value("truncated", false), parts < 4);
  }
  EXPECT_EQ(all, text);
}

TEST_F(FileToolsTest, RefusesBinaryFiles) {
  Put("a", "\xFF\xFE");
  EXPECT_EQ(Error(Call(*ToolOf("Read"), R"({"path":"a"})")),
            "execution failed: stream did not contain valid UTF-8");
}

TEST_F(FileToolsTest, ErrorsOfTheCellKeepTheirKind) {
  EXPECT_EQ(Error(Call(*ToolOf("Read"), R"({"path":"no"})")),
            "execution failed: open no: No such file or directory");
  Put("a", "x");
  EXPECT_EQ(Error(Call(*ToolOf("Edit"), R"({"path":"a","old_text":"y","new_text":"z"})")),
            "execution failed: old_text not found");
  EXPECT_EQ(ErrorText(PermissionDenied("write b: Read-only file system")),
            "permission denied: write b: Read-only file system");
  EXPECT_EQ(ErrorText(InvalidArgument("x")), "invalid arguments: x");
}

TEST_F(FileToolsTest, WhatWasRefusedIsAnEvent) {
  const agent::v1::Event told = fakes::EventOf(
      R"(access_denied { turn_id: "trn_1" tool_call_id: "tcl_1"
                         denial { kind: "path" resource: "/srv/x" access: "write"
                                  rule: "mount /srv read_only" count: 1 } })");
  sandbox_.refuse_writes = told.access_denied().denial();
  const ToolResult result = Call(*ToolOf("Write"), R"({"path":"/srv/x","content":"x"})");
  EXPECT_EQ(Error(result), "permission denied: write /srv/x: Read-only file system");
  EXPECT_EQ(Json::parse(result.json)["denials"],
            Json::parse(R"([{"kind":"path","resource":"/srv/x","access":"write",
                "rule":"mount /srv read_only"}])"));
  EXPECT_EQ(events_, std::vector<agent::v1::Event>{told});
}

// Nothing is done, and the error is the session's to see.
TEST_F(FileToolsTest, APathWithALinkIsRefusedUntilItIsKnownWhereItLeads) {
  Put("secrets/a", "token");
  Put("pub/link", "token");  // as the fake follows links
  sandbox_.links["pub/link"] = "/workspace/secrets/a";
  for (const char* tool : {"Read", "Write", "Edit", "MultiEdit", "LS"}) {
    ToolContext context;
    context.sandbox = &sandbox_;
    context.cell_id = "cel_s";
    const auto result = ToolOf(tool)->Run(
        std::string_view(tool) == "MultiEdit"
            ? R"({"path":"pub/link","edits":[{"old_text":"t","new_text":"x"}]})"
        : std::string_view(tool) == "Edit"  ? R"({"path":"pub/link","old_text":"t","new_text":"x"})"
        : std::string_view(tool) == "Write" ? R"({"path":"pub/link","content":"x"})"
                                            : R"({"path":"pub/link"})",
        context);
    EXPECT_EQ(sandbox::LeadsTo(result.status()), "/workspace/secrets/a") << tool;
  }
  EXPECT_EQ(sandbox_.files("s")["pub/link"], "token");
}

TEST_F(FileToolsTest, ACallWorksWhereItsPathLeads) {
  Put("secrets/a", "token");
  sandbox_.links["pub/link"] = "/workspace/secrets/a";
  leads_to_ = "/workspace/secrets/a";
  EXPECT_EQ(Call(*ToolOf("Read"), R"({"path":"pub/link"})").json,
            R"({"content":"token","path":"pub/link"})");
}

TEST_F(FileToolsTest, ReadAndListLeaveOutWhatIsIgnored) {
  Put("/workspace/.gitignore", "*.log\nbuild/\n");
  Put("a.log", "x");
  Put("a.txt", "x");
  EXPECT_EQ(Error(Call(*ToolOf("Read"), R"({"path":"a.log"})")),
            "permission denied: path `a.log` is ignored by .gitignore");
  EXPECT_EQ(Error(Call(*ToolOf("LS"), R"({"path":"build"})")),
            "permission denied: path `build` is ignored by .gitignore");
  const std::string listed = Call(*ToolOf("LS"), "{}").json;
  EXPECT_EQ(listed.find("a.log"), std::string::npos) << listed;
  EXPECT_NE(listed.find("a.txt"), std::string::npos) << listed;
  EXPECT_TRUE(Call(*ToolOf("Write"), R"({"path":"b.log","content":"x"})").success);
}

TEST_F(FileToolsTest, RulesSeeThePath) {
  EXPECT_EQ(ToolOf("Read")->ForRules(R"({"path":"secrets/a"})")->paths,
            std::vector<std::string>{"secrets/a"});
  EXPECT_EQ(ToolOf("LS")->ForRules("{}")->paths, std::vector<std::string>{"."});
}

TEST_F(FileToolsTest, RefusesEmptyPathsAndTexts) {
  for (const char* tool : {"Read", "Write", "Edit"}) {
    EXPECT_EQ(ToolOf(tool)
                  ->ForRules(R"({"path":"","content":"","old_text":"a","new_text":""})")
                  .status()
                  .code(),
              Code::kInvalidArgument);
  }
  EXPECT_EQ(ToolOf("Read")->ForRules(R"({"path":""})").status(),
            InvalidArgument("path cannot be empty"));
  EXPECT_EQ(ToolOf("Edit")->ForRules(R"({"path":"a","old_text":"","new_text":"b"})").status(),
            InvalidArgument("old_text cannot be empty"));
}

}  // namespace
}  // namespace odyssey::tools
