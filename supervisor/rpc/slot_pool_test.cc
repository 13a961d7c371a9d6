#include "supervisor/rpc/slot_pool.h"

#include <gtest/gtest.h>

#include <utility>

#include "supervisor/rpc/exec_fixture.h"

namespace odyssey::supervisor {
namespace {

class SlotPoolTest : public ExecTest {
 protected:
  EventLoop loop_;
  SlotPool pool_{&loop_, /*on_host=*/false};
};

// Its slot may be emptied later.
TEST_F(SlotPoolTest, ACommandThatHasItsOutcomeIsNotFoundAnyMore) {
  ExecOptions options = Options();
  options.exec_id = "exe_1";
  Make(std::move(options));
  pool_.Run(exec_);
  EXPECT_EQ(pool_.Find("exe_1"), exec_);
  GiveSlot([this](UniqueFd exec, UniqueFd control) {
    pool_.Offer({.number = 7, .exec = std::move(exec), .control = std::move(control)}, true);
  });
  EXPECT_EQ(pool_.Find("exe_1"), exec_);
  End(0);
  ASSERT_TRUE(sink_.outcome.has_value());
  EXPECT_EQ(pool_.Find("exe_1"), nullptr);
  EXPECT_TRUE(pool_.finishing());
  EXPECT_EQ(pool_.TakeEnded(7), exec_);
  EXPECT_FALSE(pool_.busy());
}

}  // namespace
}  // namespace odyssey::supervisor
