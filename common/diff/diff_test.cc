#include "common/diff/diff.h"

#include <gtest/gtest.h>

#include <random>

namespace odyssey::diff {
namespace {

std::set<uint32_t> All(const std::vector<Hunk>& hunks) {
  std::set<uint32_t> all;
  for (uint32_t i = 1; i <= hunks.size(); ++i) all.insert(i);
  return all;
}

std::string Text(const std::vector<Hunk>& hunks) {
  std::string out;
  for (const Hunk& hunk : hunks) out += Format(hunk);
  return out;
}

TEST(DiffTest, PrintsHunksAsGitDoes) {
  EXPECT_EQ(Text(Compare("a\nb\nc\n", "a\nB\nc\n")), "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n");
  EXPECT_EQ(Text(Compare("", "x\n")), "@@ -0,0 +1 @@\n+x\n");
  EXPECT_EQ(Text(Compare("x\n", "")), "@@ -1 +0,0 @@\n-x\n");
  EXPECT_EQ(Text(Compare("x", "x\n")), "@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+x\n");
  EXPECT_EQ(Text(Compare("same\n", "same\n")), "");
}

TEST(DiffTest, ChangesThatAreFarApartAreHunksOfTheirOwn) {
  std::string old_text, new_text;
  for (int i = 0; i < 40; ++i) {
    const std::string line = std::to_string(i) + "\n";
    old_text += line;
    new_text += i == 5 || i == 30 ? "new " + line : line;
  }
  const auto hunks = Compare(old_text, new_text);
  ASSERT_EQ(hunks.size(), 2u);
  EXPECT_EQ(hunks[0].old_start, 3u);
  EXPECT_EQ(hunks[1].new_start, 28u);
  const std::string second = Apply(old_text, hunks, {2});
  EXPECT_NE(second.find("new 30"), std::string::npos);
  EXPECT_EQ(second.find("new 5"), std::string::npos);
}

TEST(DiffTest, AllHunksMakeTheNewTextAndNoneTheOld) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string texts[2];
    for (std::string& text : texts) {
      for (unsigned lines = random() % 30; lines > 0; --lines) {
        text += std::string(1, static_cast<char>('a' + random() % 4)) + "\n";
      }
      if (random() % 4 == 0 && !text.empty()) text.pop_back();
    }
    const auto hunks = Compare(texts[0], texts[1]);
    ASSERT_EQ(Apply(texts[0], hunks, All(hunks)), texts[1]) << texts[0] << "---\n" << texts[1];
    ASSERT_EQ(Apply(texts[0], hunks, {}), texts[0]);
  }
}

TEST(DiffTest, TextsWithNothingInCommonAreOneHunk) {
  std::string old_text, new_text;
  for (int i = 0; i < 200'000; ++i) {
    old_text += "old " + std::to_string(i) + "\n";
    new_text += "new " + std::to_string(i) + "\n";
  }
  const auto hunks = Compare(old_text, new_text);
  ASSERT_EQ(hunks.size(), 1u);
  EXPECT_EQ(Apply(old_text, hunks, {1}), new_text);
}

TEST(DiffTest, HeadersAreGits) {
  EXPECT_EQ(FormatHeader({.new_path = "n", .new_mode = 0100644}),
            "diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n");
  EXPECT_EQ(
      FormatHeader({.old_path = "o", .old_mode = 0100755, .binary = true}),
      "diff --git a/o b/o\ndeleted file mode 100755\nBinary files a/o and /dev/null differ\n");
  EXPECT_EQ(FormatHeader({.old_path = "o",
                          .new_path = "n\n",
                          .old_mode = 0100644,
                          .new_mode = 0100644,
                          .same_content = true}),
            "diff --git a/o \"b/n\\012\"\nsimilarity index 100%\nrename from o\nrename to "
            "\"n\\012\"\n");
  EXPECT_EQ(FormatHeader({.old_path = "m",
                          .new_path = "m",
                          .old_mode = 0100644,
                          .new_mode = 0100755,
                          .same_content = true}),
            "diff --git a/m b/m\nold mode 100644\nnew mode 100755\n");
}

TEST(DiffTest, ANulIsBinary) {
  EXPECT_TRUE(IsBinary(std::string_view("a\0b", 3)));
  EXPECT_FALSE(IsBinary("a\nb\n"));
}

}  // namespace
}  // namespace odyssey::diff
