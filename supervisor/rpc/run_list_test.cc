#include "supervisor/rpc/run_list.h"

#include <gtest/gtest.h>

#include "supervisor/wire/cell_wire.h"
#include "supervisor/wire/tool_wire.h"

namespace odyssey::supervisor {
namespace {

class RunListTest : public ::testing::Test {
 protected:
  Result<uint64_t> Use(uint64_t run) { return runs_.Use("start.run_id", cell::RunName(run)); }
  RunList runs_;
};

TEST_F(RunListTest, NumbersGrowWhateverTheClockSays) {
  EXPECT_EQ(runs_.Begin(1000), 1000u);
  EXPECT_EQ(runs_.Begin(1000), 1001u);
  EXPECT_EQ(runs_.Begin(10), 1002u);
  EXPECT_EQ(runs_.Begin(5000), 5000u);
}

TEST_F(RunListTest, KnowsItsOwnRunsOnly) {
  EXPECT_EQ(*Use(runs_.Begin(7)), 7u);
  const Status unknown = Use(8).status();
  EXPECT_EQ(unknown.code(), Code::kNotFound);
  EXPECT_EQ(unknown.message(), "start.run_id \"run_0000000000000008\": no such run of this cell");
  for (const char* bad : {"7", "run_7", "../../etc", "run_0000000000000000"}) {
    EXPECT_EQ(runs_.Use("start.run_id", bad).status().code(), Code::kInvalidArgument) << bad;
  }
}

TEST_F(RunListTest, TrimsInBatchesOneAtATime) {
  uint64_t now = 1;
  for (; now < 128; ++now) {
    runs_.Begin(now);
    EXPECT_FALSE(runs_.StartTrim()) << now;
  }
  runs_.Begin(now);
  EXPECT_TRUE(runs_.StartTrim());
  EXPECT_FALSE(runs_.StartTrim()) << "one is under way";
  runs_.Trimmed(tool::kKeptRuns);
  EXPECT_FALSE(runs_.StartTrim());
}

TEST_F(RunListTest, WhatAnEarlierCellLeftCounts) {
  runs_.AddFound(127);
  EXPECT_FALSE(runs_.StartTrim());
  runs_.Begin(1);
  EXPECT_TRUE(runs_.StartTrim());
}

TEST_F(RunListTest, ATrimForgetsAllButTheNewestAndThoseInUse) {
  for (uint64_t run = 1; run <= 100; ++run) runs_.Begin(run);
  for (uint64_t run = 2; run <= 100; ++run) runs_.Release(run);
  EXPECT_EQ(runs_.InUse(), std::vector<std::string>{cell::RunName(1)});
  runs_.Trimmed(65);
  EXPECT_TRUE(Use(1).ok()) << "in use";
  EXPECT_FALSE(Use(2).ok());
  EXPECT_FALSE(Use(37).ok());
  EXPECT_TRUE(Use(38).ok());
  EXPECT_TRUE(Use(100).ok());
}

TEST_F(RunListTest, ARunIsInUseUntilEverybodyReleasedIt) {
  const uint64_t run = runs_.Begin(1);
  ASSERT_TRUE(Use(run).ok());
  runs_.Release(run);
  EXPECT_EQ(runs_.InUse().size(), 1u);
  runs_.Release(run);
  runs_.Release(run);
  EXPECT_TRUE(runs_.InUse().empty());
}

}  // namespace
}  // namespace odyssey::supervisor
