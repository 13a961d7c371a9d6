#include "supervisor/cell_review/judge.h"

#include <gtest/gtest.h>

namespace odyssey::cell_review {
namespace {

State File(const char* print, uint32_t mode = 0644) {
  return {.kind = Kind::kFile, .mode = mode, .size = 1, .print = print};
}

TEST(JudgeTest, ThreeVersionsOfAPath) {
  const State a = File("a"), b = File("b"), c = File("c"), none;
  const auto judge = [](const State& base, const State& upper, const State& host) {
    return Judge({.known = true, .state = base}, upper, host);
  };
  EXPECT_EQ(judge(a, a, a), Verdict::kNothing);
  EXPECT_EQ(judge(a, b, a), Verdict::kClean);
  EXPECT_EQ(judge(a, a, b), Verdict::kNothing) << "only the host changed it";
  EXPECT_EQ(judge(a, b, b), Verdict::kNothing) << "both did the same";
  EXPECT_EQ(judge(a, b, c), Verdict::kConflict);
  EXPECT_EQ(judge(a, none, a), Verdict::kClean);
  EXPECT_EQ(judge(a, none, b), Verdict::kConflict);
  EXPECT_EQ(judge(a, none, none), Verdict::kNothing);
  EXPECT_EQ(judge(none, a, none), Verdict::kClean);
  EXPECT_EQ(judge(none, a, b), Verdict::kConflict);
  EXPECT_EQ(judge(a, b, none), Verdict::kConflict) << "the host deleted what the cell changed";
}

TEST(JudgeTest, WithoutABaseWhatDiffersIsAConflict) {
  EXPECT_EQ(Judge({}, File("a"), File("b")), Verdict::kConflict);
  EXPECT_EQ(Judge({}, File("a"), File("a")), Verdict::kNothing);
}

TEST(JudgeTest, KindsOfChange) {
  using review::ChangeKind;
  const State none, link = {.kind = Kind::kSymlink, .print = "x"};
  EXPECT_EQ(KindOfChange(none, File("a")), ChangeKind::kAdded);
  EXPECT_EQ(KindOfChange(File("a"), none), ChangeKind::kDeleted);
  EXPECT_EQ(KindOfChange(File("a"), File("b")), ChangeKind::kModified);
  EXPECT_EQ(KindOfChange(File("a"), File("a", 0755)), ChangeKind::kMode);
  EXPECT_EQ(KindOfChange(File("a"), link), ChangeKind::kType);
  EXPECT_EQ(KindOfChange({.kind = Kind::kSymlink, .print = "y"}, link), ChangeKind::kLink);
}

}  // namespace
}  // namespace odyssey::cell_review
