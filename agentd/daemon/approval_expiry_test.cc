#include "agentd/daemon/approval_expiry.h"

#include <gtest/gtest.h>

#include "tests/fakes/fake_clock.h"

namespace odyssey::daemon {
namespace {

TEST(ApprovalExpiryTest, DeniesOnlyWhatIsTooOld) {
  approval::Registry registry;
  fakes::FakeClock clock;
  std::vector<std::string> denied;
  const auto ask = [&](const std::string& id) {
    approval::Question question;
    question.mutable_request()->set_request_id(id);
    question.set_created_at(agent::FormatTime(clock.Now()));
    registry.Add(question, [&denied, id](const approval::Answer& answer) {
      denied.push_back(id + ": " + std::string(approval::DecisionName(answer.decision)) + ", " +
                       answer.note + ", by " + answer.by);
    });
  };
  ask("old");
  clock.Advance(std::chrono::seconds(59));
  ask("new");
  EXPECT_EQ(DenyExpired(registry, clock, std::chrono::seconds(60)), 0u);
  clock.Advance(std::chrono::seconds(1));
  EXPECT_EQ(DenyExpired(registry, clock, std::chrono::seconds(60)), 1u);
  EXPECT_EQ(denied, std::vector<std::string>{"old: deny, no answer in 60 s, by timeout"});
}

}  // namespace
}  // namespace odyssey::daemon
