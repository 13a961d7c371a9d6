// What turns an attempt into a line of the report. The attempts themselves need a cell
// (tests/integration/probe_test.cc).

#include <errno.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <set>

#include "supervisor/probe/answers.h"
#include "supervisor/probe/groups.h"
#include "supervisor/probe/runner.h"

namespace odyssey::probe {
namespace {

class RunProbeTest : public ::testing::Test {
 protected:
  RunProbeTest() {
    if (mkdtemp(scratch_.data()) == nullptr) abort();
  }
  ~RunProbeTest() override { EXPECT_EQ(rmdir(scratch_.c_str()), 0) << "something is left"; }

  Finding Run(const std::string& id, Attempt attempt) {
    return RunProbe({.id = id, .attempt = std::move(attempt)}, targets_, scratch_, limit_);
  }

  Targets targets_;
  std::chrono::milliseconds limit_ = kProbeTime;
  std::string scratch_ = ::testing::TempDir() + "probe-XXXXXX";
};

TEST(MustBeRefusedTest, OnlyARefusalIsContained) {
  EXPECT_EQ(MustBeRefused({-1, EPERM}).verdict, Verdict::kContained);
  EXPECT_EQ(MustBeRefused({-1, ENOENT}, {ENOENT}).verdict, Verdict::kContained);
  EXPECT_EQ(MustBeRefused({0, 0}).verdict, Verdict::kEscaped);
  // It came through to where arguments are looked at.
  EXPECT_EQ(MustBeRefused({-1, EINVAL}).verdict, Verdict::kEscaped);
  EXPECT_EQ(MustBeRefused({-1, ENOENT}).verdict, Verdict::kEscaped);
  EXPECT_EQ(MustBeRefused({-1, ENOSYS}).verdict, Verdict::kNotApplicable);
  EXPECT_EQ(MustBeRefused({-1, ENOSYS}, {ENOSYS}).verdict, Verdict::kContained);
}

TEST(MustNotOpenTest, WhatTheKernelLacksIsNotApplicable) {
  EXPECT_EQ(MustNotOpen("/proc/odyssey-none", 0).verdict, Verdict::kNotApplicable);
  EXPECT_EQ(MustNotOpen("/proc/odyssey-none", 0, kRefusedOrAbsent).verdict, Verdict::kContained);
  EXPECT_EQ(MustNotOpen("/dev/null", 0).verdict, Verdict::kEscaped);
}

TEST_F(RunProbeTest, AFindingComesBackAndItsDirectoryIsGone) {
  const Finding finding = Run("writes.a:/b/c", [](const Targets&) {
    return Spit("left", "x") ? Escaped("detail") : BrokenAt("write");
  });
  EXPECT_EQ(finding.verdict, Verdict::kEscaped);
  EXPECT_EQ(finding.detail, "detail");
}

TEST_F(RunProbeTest, TheFiltersSignalContainsAndOthersBreak) {
  const auto dies_of = [](int signal) {
    return [signal](const Targets&) {
      raise(signal);
      return Escaped("it lives");
    };
  };
  EXPECT_EQ(Run("kernel.a", dies_of(SIGSYS)).verdict, Verdict::kContained);
  EXPECT_EQ(Run("works.a", dies_of(SIGSYS)).verdict, Verdict::kBroken);
  EXPECT_EQ(Run("kernel.a", dies_of(SIGSEGV)).verdict, Verdict::kBroken);
  EXPECT_EQ(Run("kernel.a", dies_of(SIGKILL)).verdict, Verdict::kBroken);
}

TEST_F(RunProbeTest, NoAnswerIsBroken) {
  EXPECT_EQ(Run("kernel.a", [](const Targets&) -> Finding { _exit(0); }).verdict, Verdict::kBroken);
}

TEST_F(RunProbeTest, WhatNeverEndsIsKilledWithItsChildren) {
  limit_ = std::chrono::milliseconds(50);
  const Finding finding = Run("kernel.a", [](const Targets&) -> Finding {
    fork();
    for (;;) pause();
  });
  EXPECT_EQ(finding.verdict, Verdict::kBroken);
  EXPECT_NE(finding.detail.find("no answer within"), std::string::npos);
}

TEST(FormatResultTest, IsOneLineOfJsonWhateverTheDetailHolds) {
  const Probe probe = {.id = "works.a", .safe = "s", .layer = "l"};
  EXPECT_EQ(
      FormatResult(probe, Broken("say \"hi\"\n\x1b\xff\\")),
      "{\"id\":\"works.a\",\"class\":\"works\",\"kind\":\"functional\",\"verdict\":\"BROKEN\","
      "\"detail\":\"say \\u0022hi\\u0022\\u000a\\u001b\\u00ff\\u005c\",\"safe\":\"s\","
      "\"layer\":\"l\"}");
  EXPECT_NE(FormatResult({.id = "kernel.b"}, Contained("")).find("\"kind\":\"containment\""),
            std::string::npos);
}

TEST(TargetsTest, RefusesWhatItDoesNotKnow) {
  Targets targets;
  std::string error;
  EXPECT_TRUE(targets.Add("namespace=net=net:[1]", &error));
  EXPECT_EQ(targets.Text("namespace"), "net=net:[1]");
  for (const char* word : {"unknown=1", "mode", "mode=", ""}) {
    EXPECT_FALSE(targets.Add(word, &error)) << word;
    EXPECT_NE(error.find(word), std::string::npos);
  }
  const std::vector<std::string> missing = targets.Missing();
  EXPECT_EQ(std::set<std::string>(missing.begin(), missing.end()).count("mode"), 1u);
}

TEST(TableTest, EveryProbeIsNamedOnceAndSaysWhatIsSafe) {
  Targets targets;
  std::string error;
  ASSERT_TRUE(targets.Add("protected=.git/hooks", &error));
  ASSERT_TRUE(targets.Add("own=/var/lib/odyssey", &error));
  std::set<std::string> ids;
  size_t containment = 0, functional = 0;
  for (const Probe& probe : AllProbes(targets)) {
    EXPECT_TRUE(ids.insert(probe.id).second) << probe.id;
    EXPECT_NE(probe.id.find('.'), std::string::npos) << probe.id;
    EXPECT_FALSE(probe.safe.empty()) << probe.id;
    EXPECT_EQ(probe.layer.empty(), probe.IsFunctional()) << probe.id;
    ++(probe.IsFunctional() ? functional : containment);
  }
  EXPECT_GE(containment, 400u);
  EXPECT_GE(functional, 60u);
}

}  // namespace
}  // namespace odyssey::probe
