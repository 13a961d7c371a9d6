#include "common/message/enum_name.h"

#include <gtest/gtest.h>

#include <vector>

#include "odyssey/agent/v1/session.pb.h"
#include "odyssey/supervisor/v1/supervisor.pb.h"

namespace odyssey::message {
namespace {

TEST(EnumNameTest, IsTheValueWithoutThePrefixOfItsType) {
  EXPECT_EQ(EnumName(agent::v1::TURN_STATUS_RUNNING), "running");
  EXPECT_EQ(EnumName(supervisor::v1::OUTPUT_STREAM_STDERR), "stderr");
}

// Audit records, events, tool results and `-o json` have these; scripts compare them.
TEST(EnumNameTest, OutcomesKeepTheirNames) {
  std::vector<std::string> names;
  for (int kind = 1; kind < supervisor::v1::OutcomeKind_ARRAYSIZE; ++kind) {
    names.push_back(EnumName(static_cast<supervisor::v1::OutcomeKind>(kind)));
  }
  EXPECT_EQ(names, (std::vector<std::string>{"exited", "signalled", "timed_out", "oom_killed",
                                             "denied", "not_found", "setup_failed", "cancelled"}));
}

TEST(EnumNameTest, ANumberOfALaterVersionIsUnspecified) {
  EXPECT_EQ(EnumName(static_cast<supervisor::v1::OutcomeKind>(77)), "unspecified");
}

}  // namespace
}  // namespace odyssey::message
