#include "agentd/daemon/approval_expiry.h"

#include <gtest/gtest.h>

#include "tests/fakes/fake_clock.h"

namespace odyssey::daemon {
namespace {

TEST(ApprovalExpiryTest, DeniesWhatHasExpired) {
  approval::Registry registry;
  fakes::FakeClock clock;
  std::vector<std::string> denied;
  const auto ask = [&](const std::string& id, std::chrono::milliseconds timeout) {
    approval::Question question;
    question.mutable_request()->set_request_id(id);
    if (timeout.count() != 0) {
      question.mutable_request()->set_expires_at(agent::FormatTime(clock.Now() + timeout));
    }
    registry.Add(
        question,
        [&denied, id](const approval::Answer& answer) {
          denied.push_back(id + ": " + std::string(approval::DecisionName(answer.decision)) + ", " +
                           answer.note + ", by " + answer.by);
        },
        timeout);
  };
  ask("old", std::chrono::seconds(60));
  ask("never", {});
  clock.Advance(std::chrono::seconds(59));
  ask("new", std::chrono::milliseconds(1500));
  EXPECT_EQ(DenyExpired(registry, clock), 0u);
  clock.Advance(std::chrono::seconds(1));
  EXPECT_EQ(DenyExpired(registry, clock), 1u);
  EXPECT_EQ(denied, std::vector<std::string>{"old: deny, no answer in 60 s, by timeout"});
  clock.Advance(std::chrono::seconds(1));
  EXPECT_EQ(DenyExpired(registry, clock), 1u);
  EXPECT_EQ(denied.back(), "new: deny, no answer in 2 s, by timeout");
}

}  // namespace
}  // namespace odyssey::daemon
