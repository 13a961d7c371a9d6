#include "ctl/view/tool_text.h"

#include <gtest/gtest.h>

namespace odyssey::ctl {
namespace {

TEST(ToolTextTest, CallIsItsTellingArgument) {
  EXPECT_EQ(SummarizeCall("Bash", R"({"command":"ls -l"})", 80), "ls -l");
  EXPECT_EQ(SummarizeCall("Write", R"({"path":"a.txt","content":"…"})", 80), "a.txt");
  EXPECT_EQ(SummarizeCall("LS", R"({"depth":3})", 80), R"({"depth":3})");
  EXPECT_EQ(SummarizeCall("LS", "{}", 80), "");
  EXPECT_EQ(SummarizeCall("Later", R"({"path":"a"})", 80), R"({"path":"a"})")
      << "a tool that this odyssey-ctl does not know";
  EXPECT_EQ(SummarizeCall("Bash", R"("half of a call)", 80), R"("half of a call)");
  EXPECT_EQ(SummarizeCall("Bash", R"({"command":"0123456789"})", 4), "0123…");
}

TEST(ToolTextTest, ResultIsACount) {
  EXPECT_EQ(SummarizeResult(R"({"content":"a\nb"})", true, 80), "2 lines, 3 B");
  EXPECT_EQ(SummarizeResult(R"({"bytes":2048,"path":"x"})", true, 80), "2 KiB");
  EXPECT_EQ(SummarizeResult(R"({"entries":[1]})", true, 80), "1 entry");
  EXPECT_EQ(SummarizeResult(R"({"matches":[]})", true, 80), "0 matches");
  EXPECT_EQ(SummarizeResult(R"({"edited":true})", true, 80), "");
  EXPECT_EQ(SummarizeResult(R"({"error":{"code":3}})", false, 80), R"({"code":3})");
}

TEST(ToolTextTest, CommandIsQuotedAsOneWouldTypeIt) {
  EXPECT_EQ(JoinCommand({"sh", "-c", "it's", "", "a=b"}), R"(sh -c 'it'\''s' '' a=b)");
}

}  // namespace
}  // namespace odyssey::ctl
