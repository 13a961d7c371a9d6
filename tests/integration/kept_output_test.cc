// Output that a cap cuts, in full in the outbox of the command's run.

#include <thread>

#include "tests/integration/run_calls.h"

namespace odyssey::testing {
namespace {

constexpr uint64_t kCap = 64 * 1024;

class KeptOutputTest : public RunsTest {};

TEST_F(KeptOutputTest, CutOutputIsInTheOutboxByteByByte) {
  for (const bool on_disk : {false, true}) {
    if (on_disk) UseDiskCell();
    // Lines that differ, in writes of many sizes.
    const ExecResult result = supervisor_.Python(
        cell_,
        "import sys\nfor i in range(500000):\n  sys.stdout.write(f'line {i}\\n')\n"
        "  if i % 7 == 0: sys.stdout.flush()\n",
        {.stdout_cap = kCap, .keep_output = true});
    ASSERT_TRUE(result.Exited(0)) << result.ToString();
    EXPECT_GT(result.outcome.stdout_bytes(), uint64_t{5} << 20);
    EXPECT_TRUE(result.outcome.stdout_truncated());
    EXPECT_EQ(result.outcome.message(), "");
    std::string expected;
    for (int i = 0; i < 500'000; ++i) expected += "line " + std::to_string(i) + "\n";
    EXPECT_EQ(result.out, expected.substr(0, kCap));
    const auto files = Collect(result.run_id);
    ASSERT_EQ(files.count("stdout"), 1u) << collect_status_.ToString();
    EXPECT_TRUE(files.at("stdout").content == expected) << files.at("stdout").content.size();
    EXPECT_EQ(files.count("stderr"), 0u) << "nothing of it was cut";
  }
}

TEST_F(KeptOutputTest, NothingIsWrittenForOutputThatFits) {
  const ExecResult result =
      Shell("head -c 65536 /dev/zero; echo oops >&2", {.stdout_cap = kCap, .keep_output = true});
  ASSERT_TRUE(result.Exited(0)) << result.ToString();
  EXPECT_FALSE(result.outcome.stdout_truncated());
  EXPECT_TRUE(Collect(result.run_id).empty());
}

TEST_F(KeptOutputTest, WithoutKeepOutputTheRestIsDropped) {
  const ExecResult result = Shell("head -c 300000 /dev/zero", {.stdout_cap = kCap});
  EXPECT_TRUE(result.outcome.stdout_truncated());
  EXPECT_TRUE(Collect(result.run_id).empty());
}

TEST_F(KeptOutputTest, AFullOutboxCutsTheCopyAndSaysSoWhileTheCommandGoesOn) {
  auto request = SupervisorHarness::Request("small");
  request.mutable_sandbox()->mutable_limits()->set_tmp_bytes(2 << 20);
  cell_ = supervisor_.Cell(request);
  const ExecResult result = Shell("head -c 20000000 /dev/zero; echo end >&2; exit 7",
                                  {.stdout_cap = kCap, .keep_output = true});
  EXPECT_TRUE(result.Exited(7)) << result.ToString();
  EXPECT_EQ(result.err, "end\n");
  EXPECT_EQ(result.outcome.stdout_bytes(), 20'000'000u);
  EXPECT_EQ(result.outcome.message().find("the copy of stdout in the outbox is cut: "), 0u)
      << result.outcome.message();
  EXPECT_NE(result.outcome.message().find("No space left"), std::string::npos);
  // And there is still room to look and to clean up.
  EXPECT_TRUE(Shell("rm -r /cell/runs/run_*").Exited(0));
}

// What is in the way of the copy is the cell's own, and leads nowhere.
TEST_F(KeptOutputTest, TheCopyFollowsNoLink) {
  const ExecResult planted = Shell("ln -s /workspace/victim $ODYSSEY_RUN/outbox/stdout");
  const ExecResult result =
      Shell("head -c 300000 /dev/zero",
            {.stdout_cap = kCap, .run_id = planted.run_id, .keep_output = true});
  EXPECT_EQ(result.outcome.message(), "");
  EXPECT_EQ(Collect(planted.run_id)["stdout"].content.size(), 300'000u);
  EXPECT_FALSE(Shell("test -e /workspace/victim").Exited(0));
  const ExecResult blocked = Shell("mkdir $ODYSSEY_RUN/outbox/stdout; head -c 300000 /dev/zero",
                                   {.stdout_cap = kCap, .keep_output = true});
  EXPECT_TRUE(blocked.Exited(0));
  EXPECT_NE(blocked.outcome.message().find("is there already"), std::string::npos)
      << blocked.outcome.message();
}

// The command itself moves things under the copy while it is written.
TEST_F(KeptOutputTest, WhatTakesThePlaceOfTheCopyGetsNothing) {
  struct Case {
    const char* replace;  // in the outbox, where `stdout` has the first part
    const char* why;
  };
  for (const Case& c : {Case{"mv stdout /workspace/victim; ln -s /workspace/victim stdout", "open"},
                        Case{"mv stdout /workspace/victim; mkfifo stdout", "not a regular file"},
                        Case{"cp stdout /workspace/victim; cat /workspace/victim >> stdout",
                             "another process writes to it"}}) {
    const ExecResult result =
        Shell(std::string("head -c 200000 /dev/zero; cd $ODYSSEY_RUN/outbox\n"
                          "until test \"$(stat -c %s stdout)\" = 200000; do sleep 0.01; done\n") +
                  c.replace + "; head -c 200000 /dev/zero",
              {.stdout_cap = kCap, .keep_output = true});
    EXPECT_TRUE(result.Exited(0)) << result.ToString();
    EXPECT_EQ(result.outcome.stdout_bytes(), 400'000u);
    EXPECT_EQ(result.outcome.message().find("the copy of stdout in the outbox is cut: "), 0u);
    EXPECT_NE(result.outcome.message().find(c.why), std::string::npos) << result.ToString();
    EXPECT_EQ(Shell("wc -c < /workspace/victim; rm /workspace/victim").out, "200000\n");
  }
}

TEST_F(KeptOutputTest, ATimedOutCommandKeepsWhatItWrote) {
  WithTimeEnough([&](uint32_t wall_clock_ms) {
    const ExecResult result =
        Shell("head -c 1000000 /dev/zero; echo written >&2; sleep 1000",
              {.wall_clock_ms = wall_clock_ms, .stdout_cap = kCap, .keep_output = true});
    EXPECT_EQ(result.outcome.kind(), v1::OUTCOME_KIND_TIMED_OUT) << result.ToString();
    if (result.err.empty()) return false;
    EXPECT_EQ(Collect(result.run_id)["stdout"].content.size(), 1'000'000u);
    return true;
  });
}

TEST_F(KeptOutputTest, ManyCommandsAtOnceKeepEachItsOwn) {
  constexpr int kCommands = 16;
  std::vector<ExecResult> results(kCommands);
  std::vector<std::thread> threads;
  for (int i = 0; i < kCommands; ++i) {
    threads.emplace_back([&, i] {
      results[i] = Shell("yes " + std::to_string(i) + " | head -c 1000000; echo " +
                             std::to_string(i) + " > $ODYSSEY_RUN/outbox/number",
                         {.stdout_cap = 1000, .keep_output = true});
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::string> runs;
  for (int i = 0; i < kCommands; ++i) {
    ASSERT_TRUE(results[i].Exited(0)) << results[i].ToString();
    runs.insert(results[i].run_id);
    auto files = Collect(results[i].run_id);
    EXPECT_EQ(files["number"].content, std::to_string(i) + "\n");
    EXPECT_EQ(files["stdout"].content.size(), 1'000'000u);
    EXPECT_EQ(files["stdout"].content.find(std::to_string(i) + "\n"), 0u);
  }
  EXPECT_EQ(runs.size(), size_t{kCommands});
}

}  // namespace
}  // namespace odyssey::testing
