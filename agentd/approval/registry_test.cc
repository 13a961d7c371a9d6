#include "agentd/approval/registry.h"

#include <gtest/gtest.h>

namespace odyssey::approval {
namespace {

Question Ask(const std::string& id, const std::string& session,
             const std::string& scope = "Write") {
  Question out;
  out.set_session_id(session);
  out.mutable_request()->set_request_id(id);
  out.mutable_request()->set_scope(scope);
  return out;
}

TEST(RegistryTest, AnswersOnce) {
  Registry registry;
  std::vector<Answer> got;
  registry.Add(Ask("r1", "s1"), [&](const Answer& answer) { got.push_back(answer); });
  const Answer no{Decision::kDeny, "why", 5};
  EXPECT_FALSE(registry.Resolve("r2", no)) << "unknown";
  EXPECT_TRUE(registry.Resolve("r1", no));
  EXPECT_FALSE(registry.Resolve("r1", no)) << "a second time";
  EXPECT_EQ(got, std::vector<Answer>{no});
}

TEST(RegistryTest, AlwaysGrantsTheScopeToThatSessionOnly) {
  Registry registry;
  registry.Add(Ask("r1", "s1", "Bash(find:*): find"), [](const Answer&) {});
  EXPECT_TRUE(registry.Resolve("r1", {Decision::kAllowAlways, "", 0}));
  EXPECT_TRUE(registry.IsGranted("s1", "Bash(find:*): find"));
  EXPECT_FALSE(registry.IsGranted("s2", "Bash(find:*): find"));
  EXPECT_FALSE(registry.IsGranted("s1", "Bash(find:*): find, rm"));
}

TEST(RegistryTest, OnceAndDenyGrantNothing) {
  Registry registry;
  for (const Decision decision : {Decision::kAllowOnce, Decision::kDeny}) {
    registry.Add(Ask("r", "s1"), [](const Answer&) {});
    EXPECT_TRUE(registry.Resolve("r", {decision, "", 0}));
    EXPECT_FALSE(registry.IsGranted("s1", "Write"));
  }
}

TEST(RegistryTest, ClearingASessionForgetsItsQuestionsAndGrants) {
  Registry registry;
  bool called = false;
  registry.Add(Ask("r1", "s1", "A"), [](const Answer&) {});
  EXPECT_TRUE(registry.Resolve("r1", {Decision::kAllowAlways, "", 0}));
  registry.Add(Ask("r2", "s1"), [&](const Answer&) { called = true; });
  registry.Add(Ask("r3", "s2"), [](const Answer&) {});
  registry.ClearSession("s1");
  EXPECT_FALSE(registry.IsGranted("s1", "A"));
  EXPECT_FALSE(registry.Resolve("r2", {}));
  EXPECT_FALSE(called);
  EXPECT_EQ(registry.size(), 1u);
}

TEST(RegistryTest, AsksOfASessionAreCountedByTheMinute) {
  Registry registry;
  const std::chrono::system_clock::time_point start{};
  for (size_t i = 0; i < kMaxAsksPerMinute; ++i) EXPECT_TRUE(registry.CountAsk("s1", start));
  EXPECT_FALSE(registry.CountAsk("s1", start + std::chrono::seconds(59)));
  EXPECT_TRUE(registry.CountAsk("s2", start)) << "another session's";
  EXPECT_TRUE(registry.CountAsk("s1", start + std::chrono::seconds(60)));
}

TEST(RegistryTest, DigestsDifferByEverythingThatIsShown) {
  agent::v1::PermissionRequested request = Ask("r1", "s1").request();
  const std::string digest = DigestOf(request);
  EXPECT_EQ(digest.size(), 64u);
  request.set_digest(digest);
  EXPECT_EQ(DigestOf(request), digest) << "the digest itself is left out";
  request.set_cwd("/elsewhere");
  EXPECT_NE(DigestOf(request), digest);
}

TEST(RegistryTest, ListsOldestFirstAndBySession) {
  Registry registry;
  registry.Add(Ask("z", "s1"), [](const Answer&) {});
  registry.Add(Ask("a", "s2"), [](const Answer&) {});
  registry.Add(Ask("m", "s1"), [](const Answer&) {});
  const auto all = registry.After(0, "");
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].question.request().request_id(), "z");
  EXPECT_EQ(all[2].question.request().request_id(), "m");
  EXPECT_EQ(registry.After(0, "s1").size(), 2u);
  EXPECT_EQ(registry.After(all[1].ordinal, "").size(), 1u);
}

TEST(RegistryTest, WakesAWatcherOnce) {
  Registry registry;
  int woken = 0;
  EXPECT_TRUE(registry.NotifyAfter(registry.last_ordinal(), [&] { ++woken; }));
  registry.Add(Ask("a", "s"), [](const Answer&) {});
  registry.Add(Ask("b", "s"), [](const Answer&) {});
  EXPECT_EQ(woken, 1);
  EXPECT_FALSE(registry.NotifyAfter(1, [&] { ++woken; }));
}

}  // namespace
}  // namespace odyssey::approval
