#include "ctl/policy/policy_json.h"

#include <gtest/gtest.h>

#include "tests/testing/refusal.h"

namespace odyssey::ctl {
namespace {

dialect::Origins NetworkAtLineThree() {
  dialect::Origins origins;
  origins.Add("network", {.file = "f.yaml", .line = 3, .key = "sandbox.network"});
  return origins;
}

TEST(PolicyJsonTest, ProblemIsWhereItIsWritten) {
  EXPECT_EQ(ProblemsOf(OkStatus(), {}, "f.yaml"), dialect::Problems());
  const Json json = ProblemsAsJson(
      ProblemsOf(testing::RefusalOf("network: full: not granted"), NetworkAtLineThree(), "f.yaml"));
  EXPECT_EQ(
      json.dump(),
      R"([{"file":"f.yaml","line":3,"key":"sandbox.network","message":"full: not granted"}])");
}

TEST(PolicyJsonTest, WhatHasNoPlaceIsOfTheFile) {
  const auto problems = ProblemsOf(NotFound("open f.yaml: no"), NetworkAtLineThree(), "f.yaml");
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(dialect::ToString(problems[0]), "f.yaml: open f.yaml: no");
}

TEST(PolicyJsonTest, VerdictsTellWhatIsRefusedFromWhatIsWrong) {
  EXPECT_EQ(VerdictName(answer::Verdict::kAllow), "allow");
  EXPECT_EQ(VerdictName(answer::Verdict::kDeny), "deny");
  EXPECT_EQ(VerdictName(answer::Verdict::kInvalid), "invalid");
}

TEST(PolicyJsonTest, EveryAnswerHasTheSameKeys) {
  EXPECT_EQ(AnswerAsJson({.verdict = "deny", .reason = "r"}).dump(),
            R"({"verdict":"deny","rule":"","reason":"r","problems":[],"warnings":[]})");
}

}  // namespace
}  // namespace odyssey::ctl
