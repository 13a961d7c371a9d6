#include "agentd/tool/file_preview.h"

#include <gtest/gtest.h>

#include "agentd/tool/file_tools.h"
#include "tests/fakes/fake_sandbox.h"

namespace odyssey::tools {
namespace {

std::unique_ptr<Tool> ToolOf(std::string_view name) { return NewFileTool(*policy::FindTool(name)); }

class FilePreviewTest : public ::testing::Test {
 protected:
  FilePreviewTest() {
    sandbox::CellSpec spec;
    spec.key.session_id = "s";
    context_.sandbox = &sandbox_;
    context_.cell_id = (*sandbox_.PrepareCell(spec)).id;
    EXPECT_TRUE(sandbox_.WriteFile(context_.cell_id, "a.txt", "one\ntwo\nthree\n", 0).ok());
  }
  std::string Write(const std::string& arguments) {
    return ToolOf("Write")->Preview(arguments, context_);
  }
  std::string Edit(const std::string& arguments) {
    return ToolOf("Edit")->Preview(arguments, context_);
  }

  fakes::FakeSandbox sandbox_;
  ToolContext context_;
};

TEST_F(FilePreviewTest, WriteOfAFileThatIsThereIsTheDifference) {
  EXPECT_EQ(Write(R"({"path":"a.txt","content":"one\n2\nthree\n"})"),
            "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n"
            "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n");
  EXPECT_EQ(sandbox_.files("s")["a.txt"], "one\ntwo\nthree\n") << "only looked at";
}

TEST_F(FilePreviewTest, WriteOfANewFileIsAllOfIt) {
  const std::string diff = Write(R"({"path":"/p/b","content":"x"})");
  EXPECT_NE(diff.find("new file mode 100644\n"), std::string::npos) << diff;
  EXPECT_NE(diff.find("+++ b/p/b\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n"),
            std::string::npos)
      << diff;
  EXPECT_NE(Write(R"({"path":"b","content":""})").find("new file mode"), std::string::npos);
}

TEST_F(FilePreviewTest, NothingWhereNothingChangesOrItCannotBeTold) {
  EXPECT_EQ(Write(R"({"path":"a.txt","content":"one\ntwo\nthree\n"})"), "");
  EXPECT_EQ(Write("{"), "");
  EXPECT_EQ(Edit(R"({"path":"a.txt","old_text":"four","new_text":"4"})"), "");
  EXPECT_EQ(Edit(R"({"path":"missing","old_text":"four","new_text":"4"})"), "");
  EXPECT_EQ(Edit(R"({"path":"a.txt","old_text":"t","new_text":"4"})"), "") << "it is there twice";
  EXPECT_EQ(ToolOf("Read")->Preview(R"({"path":"a.txt"})", context_), "");
}

TEST_F(FilePreviewTest, EditReplacesAsTheToolDoes) {
  const std::string once = Edit(R"({"path":"a.txt","old_text":"two","new_text":"2"})");
  EXPECT_NE(once.find("-two\n+2\n"), std::string::npos) << once;
  const std::string all =
      Edit(R"({"path":"a.txt","old_text":"t","new_text":"T","replace_all":true})");
  EXPECT_NE(all.find("-two\n-three\n+Two\n+Three\n"), std::string::npos) << all;
}

TEST_F(FilePreviewTest, OverlappingTextsAreAmbiguousButForReplaceAll) {
  EXPECT_EQ(Replace("aaa", "aa", "b", false), std::nullopt);
  EXPECT_EQ(Replace("aaa", "aa", "b", true), "ba");
}

// The file is the one that the call would write, and none where that is not known.
TEST_F(FilePreviewTest, ADifferenceIsOfTheFileThatALinkLeadsTo) {
  sandbox_.links["link"] = "/workspace/a.txt";
  EXPECT_EQ(Write(R"({"path":"link","content":"x"})"), "");
  context_.leads_to = "/workspace/a.txt";
  EXPECT_NE(Write(R"({"path":"link","content":"x"})").find("--- a/a.txt\n"), std::string::npos);
}

TEST_F(FilePreviewTest, SeveralEditsAreOneDifference) {
  const auto preview = [&](const std::string& second) {
    return ToolOf("MultiEdit")
        ->Preview(R"({"path":"a.txt","edits":[{"old_text":"two","new_text":"2"},{"old_text":")" +
                      second + R"(","new_text":"x"}]})",
                  context_);
  };
  EXPECT_EQ(preview("2\\nthree"),
            "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n"
            "@@ -1,3 +1,2 @@\n one\n-two\n-three\n+x\n");
  EXPECT_EQ(preview("two"), "") << "the edit before it took that away, so the call would fail";
}

TEST_F(FilePreviewTest, BinaryFilesAreNamedOnly) {
  const std::string diff = DiffOf("a", {std::string("\0x", 2), "y"});
  EXPECT_NE(diff.find("Binary files a/a and b/a differ\n"), std::string::npos) << diff;
}

TEST_F(FilePreviewTest, WhatIsCutIsCounted) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += "line\n";
  const std::string diff = DiffOf("a", {std::nullopt, text});
  EXPECT_LE(diff.size(), kMaxPreviewBytes);
  const size_t last = diff.rfind('\n', diff.size() - 2) + 1;
  const auto shown = std::count(diff.begin(), diff.end(), '\n') - 1;
  const size_t header = 5;  // and the hunk's line
  EXPECT_EQ(diff.substr(last), "\\ " + std::to_string(20'000 + header - shown) + " more lines\n");
}

}  // namespace
}  // namespace odyssey::tools
