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

TEST(RegistryTest, AnAnswerMustFitItsRequest) {
  agent::v1::PermissionRequested plain, asks;
  asks.mutable_grants()->add_grants();
  const Answer once{Decision::kAllowOnce}, always{Decision::kAllowAlways};
  Answer session = once, deny{Decision::kDeny}, timed = once, unknown = once;
  session.grant_scope = deny.grant_scope = agent::v1::GRANT_SCOPE_SESSION;
  timed.grant_duration_ms = 1;
  unknown.grant_scope = static_cast<agent::v1::GrantScope>(9);
  for (const Answer& fits : {once, always}) EXPECT_TRUE(CheckAnswer(plain, fits).ok());
  for (const Answer& fits : {once, session}) EXPECT_TRUE(CheckAnswer(asks, fits).ok());
  EXPECT_FALSE(CheckAnswer(plain, session).ok()) << "there is nothing to grant";
  EXPECT_FALSE(CheckAnswer(asks, always).ok()) << "a rule's answer widens nothing";
  EXPECT_FALSE(CheckAnswer(asks, deny).ok());
  EXPECT_FALSE(CheckAnswer(asks, timed).ok()) << "of a call";
  EXPECT_FALSE(CheckAnswer(asks, unknown).ok());
  session.grant_duration_ms = kMaxGrantDurationMs;
  EXPECT_TRUE(CheckAnswer(asks, session).ok());
  session.grant_duration_ms += 1;
  EXPECT_FALSE(CheckAnswer(asks, session).ok());
}

TEST(RegistryTest, WhatWasGrantedIsListedAndTakenBack) {
  Registry registry;
  for (const char* scope : {"B", "A", "B"}) {
    registry.Add(Ask(std::string("of ") + scope, "s1", scope), [](const Answer&) {});
    EXPECT_TRUE(registry.Resolve(std::string("of ") + scope, {Decision::kAllowAlways, "", 7}));
  }
  const auto allowed = registry.Allowed("s1");
  ASSERT_EQ(allowed.size(), 2u);
  EXPECT_EQ(allowed[0].scope(), "A");
  EXPECT_EQ(allowed[1].scope(), "B");
  EXPECT_EQ(allowed[1].request_id(), "of B");
  EXPECT_EQ(allowed[1].by_uid(), 7u);
  EXPECT_EQ(allowed[1].by(), "client");
  EXPECT_TRUE(registry.Allowed("s2").empty());
  EXPECT_EQ(registry.Forget("s2", "A"), 0u);
  EXPECT_EQ(registry.Forget("s1", "A"), 1u);
  EXPECT_FALSE(registry.IsGranted("s1", "A"));
  EXPECT_TRUE(registry.IsGranted("s1", "B"));
  EXPECT_EQ(registry.Forget("s1", ""), 1u);
  EXPECT_TRUE(registry.Allowed("s1").empty());
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
