#include "ctl/view/diff_view.h"

#include <gtest/gtest.h>

namespace odyssey::ctl {
namespace {

constexpr char kDiff[] =
    "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n@@ -9 +9,2 @@\n nine\n"
    "+ten\n\\ No newline at end of file\n";

TEST(DiffViewTest, ATextWithoutColorIsTheDiff) { EXPECT_EQ(FormatDiff(kDiff, false), kDiff); }

TEST(DiffViewTest, RemovedLinesAreRedAndAddedOnesGreen) {
  const std::string shown = FormatDiff(kDiff, true);
  EXPECT_NE(shown.find("\x1b[31m-two\x1b[0m\n\x1b[32m+2\x1b[0m\n"), std::string::npos) << shown;
  EXPECT_NE(shown.find("\x1b[1m--- a/x\x1b[0m\n\x1b[1m+++ b/x\x1b[0m\n"), std::string::npos)
      << "no removed line and no added one";
}

// A line of a file can look like a header's; in a hunk it has a tag before it.
TEST(DiffViewTest, LinesOfAFileAreNoHeaders) {
  const FileDiff parts = SplitDiff("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-@@ -1 +1 @@\n+++ b/y\n");
  EXPECT_EQ(parts.hunks, (std::vector<std::string>{"@@ -1 +1 @@\n-@@ -1 +1 @@\n+++ b/y\n"}));
  EXPECT_NE(FormatDiff("@@ -1 +1 @@\n+++ b/y\n", true).find("\x1b[32m+++ b/y"), std::string::npos);
}

TEST(DiffViewTest, SplitsBeforeEachHunkAndLosesNothing) {
  const FileDiff parts = SplitDiff(kDiff);
  ASSERT_EQ(parts.hunks.size(), 2u);
  EXPECT_EQ(parts.header, "diff --git a/x b/x\n--- a/x\n+++ b/x\n");
  EXPECT_EQ(parts.header + parts.hunks[0] + parts.hunks[1], kDiff);
  EXPECT_TRUE(SplitDiff("").hunks.empty());
}

TEST(DiffViewTest, NothingActsOnTheTerminal) {
  EXPECT_EQ(FormatDiff("@@ -1 +1 @@\n+a\x1b]0;x\x07\r\n+\xe2\x80\xae\n+\xff\n+\ttab\n", false),
            "@@ -1 +1 @@\n+a\\e]0;x\\x07\\r\n+\\u{202e}\n+\\xff\n+\ttab\n");
}

TEST(DiffViewTest, WhatIsFoldedIsCounted) {
  EXPECT_EQ(FoldDiff("+1\n+2\n+3", 3, "  ", "how", false), "  +1\n  +2\n  +3\n");
  EXPECT_EQ(FoldDiff("+1\n+2\n+3", 1, "  ", "how", false), "  +1\n  … 2 more lines; how\n");
  EXPECT_EQ(FoldDiff("+1\n+2\n", 1, "", "how", false), "+1\n… 1 more line; how\n");
  EXPECT_EQ(FoldDiff("", 1, "", "how", false), "");
}

}  // namespace
}  // namespace odyssey::ctl
