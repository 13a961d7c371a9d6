#include "policy/answer/answer.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "policy/plan/plan_check.h"

namespace odyssey::answer {
namespace {

constexpr uint32_t kUid = 5000;

class AnswerTest : public ::testing::Test {
 protected:
  AnswerTest() {
    facts_.system = {{"/usr", ""}};
    facts_.landlock = {landlock::Probe::kInForce, UINT32_MAX};
    under_.directory = "/etc/odyssey/policy.d";
    under_.asker.owner = {.uid = kUid, .name = "ada", .home = "/home/ada", .gids = {kUid}};
    under_.ceiling = ceiling::BuiltIn();
  }

  // "users: [ada], read: [PATH]" on line 3, and no more.
  void GrantOnly(const std::string& path) {
    ceiling::Grant grant{.users = {"ada"}, .read = {{path, {"10.yaml", 3}}}};
    under_.ceiling = {};
    under_.ceiling.grants = {grant};
  }

  void Mount(const std::string& source, policy::Access access = policy::Access::kReadOnly) {
    question_.request.mounts.push_back({.source = source, .target = source, .access = access});
  }

  Answer Ask() { return Decide(question_, under_, {facts_, &finder_, {}}); }

  compile::HostFacts facts_;
  executables::Finder finder_;
  Under under_;
  Question question_;
};

TEST_F(AnswerTest, SaysWhatTheCellWouldBe) {
  const Answer answer = Ask();
  EXPECT_EQ(answer.verdict, Verdict::kAllow);
  EXPECT_TRUE(answer.refusal.ok());
  EXPECT_EQ(answer.digest.size(), 64u);
  EXPECT_FALSE(answer.plan.empty());
  EXPECT_EQ(answer.ceiling.directory, "/etc/odyssey/policy.d");
  EXPECT_TRUE(answer.ceiling.built_in);
}

TEST_F(AnswerTest, WhatTheCeilingRefusesIsDeniedWithoutAPlan) {
  GrantOnly("/srv/a");
  Mount("/srv/b");
  const Answer answer = Ask();
  EXPECT_EQ(answer.verdict, Verdict::kDeny);
  EXPECT_EQ(answer.rule, kByCeiling);
  EXPECT_EQ(answer.refusal.code(), Code::kPermissionDenied);
  EXPECT_EQ(answer.refusal.detail().field, "mounts[0].source");
  EXPECT_EQ(answer.digest, "");
  EXPECT_TRUE(answer.plan.empty());
}

TEST_F(AnswerTest, WhatNoCellCanBeIsInvalidOrDenied) {
  question_.request.limits.pids = 3;
  EXPECT_EQ(Ask().verdict, Verdict::kInvalid);
  EXPECT_EQ(Ask().rule, kByCompiler);
  question_.request.limits.pids = 0;
  question_.request.network = policy::Network::kEgress;  // to nothing
  EXPECT_EQ(Ask().verdict, Verdict::kInvalid);
  EXPECT_EQ(Ask().refusal.detail().field, "egress");
}

TEST_F(AnswerTest, ProgramsAreThoseOfThisHost) {
  question_.request.executables = {"no-such-tool-anywhere"};
  EXPECT_EQ(Ask().refusal.code(), Code::kNotFound);
}

TEST_F(AnswerTest, LimitsAreThoseThatTheCeilingFillsIn) {
  const std::string before = Ask().digest;
  under_.ceiling.most[policy::LimitIndex("pids")] = {.value = 77, .origin = {"10.yaml", 5}};
  EXPECT_NE(Ask().digest, before);
}

TEST_F(AnswerTest, VariableOfAnotherNameIsJudgedByItsSource) {
  question_.request.env["A"] = "";
  EXPECT_EQ(Ask().verdict, Verdict::kAllow);
  question_.env_sources = {{"A", "GITHUB_TOKEN"}};
  const Answer answer = Ask();
  EXPECT_EQ(answer.verdict, Verdict::kDeny);
  EXPECT_EQ(answer.refusal.detail().field, "env.A");
}

TEST_F(AnswerTest, WhatWasSeenIsRefusedInRootsWords) {
  GrantOnly("/srv/*");
  Mount("/srv/a");
  EXPECT_EQ(Ask().verdict, Verdict::kAllow);  // nothing is known of it
  question_.seen["/srv/a"] = {.uid = 0, .mode = S_IFDIR | 0700};
  EXPECT_NE(Ask().refusal.message().find("it is uid 0's, and not the own of uid 5000"),
            std::string::npos);
  EXPECT_EQ(Ask().refusal.detail().field, "mounts[0].source");
  EXPECT_EQ(Ask().rule, kByCompiler);
  question_.seen["/srv/a"].mode = S_IFDIR | 0755;
  EXPECT_EQ(Ask().verdict, Verdict::kAllow);
  question_.seen["/srv/a"].closed = true;
  EXPECT_EQ(Ask().refusal.detail().error, EACCES);
  question_.seen["/srv/a"] = {.kind = compile::PlaceKind::kOther};
  EXPECT_EQ(Ask().verdict, Verdict::kInvalid);
}

TEST_F(AnswerTest, PathIsAnsweredWithWhatGrantsIt) {
  GrantOnly("/srv/a");
  Mount("/srv/a");
  question_.about = About::kPath;
  question_.path = "/srv/a/x";
  Answer answer = Ask();
  EXPECT_EQ(answer.verdict, Verdict::kAllow);
  EXPECT_EQ(answer.rule, "mount /srv/a read_only, granted by 10.yaml:3");
  EXPECT_EQ(answer.host_path, "/srv/a/x");
  EXPECT_EQ(answer.granted, (std::vector<Granted>{{"mounts[0].source", "/srv/a", "10.yaml:3"}}));
  question_.path = "/srv/b";
  answer = Ask();
  EXPECT_EQ(answer.verdict, Verdict::kDeny);
  EXPECT_TRUE(answer.refusal.ok());  // the cell would be made
  question_.path = "srv/../a";
  EXPECT_EQ(Ask().verdict, Verdict::kInvalid);
}

TEST_F(AnswerTest, LinksThatTheAskerSawComeBeforeThoseOfTheHost) {
  Mount("/srv/a");
  question_.about = About::kPath;
  question_.path = "/srv/a/link";
  question_.links = {{"/srv/a/link", "/srv/secret"}};
  const explain::ReadLink read_link = [](const std::string& path) {
    return path == "/srv/a/link" ? std::optional<std::string>("other") : std::nullopt;
  };
  const Answer answer = Decide(question_, under_, {facts_, &finder_, read_link});
  EXPECT_EQ(answer.verdict, Verdict::kDeny);
  EXPECT_TRUE(answer.through_link);
  EXPECT_NE(answer.reason.find("is /srv/secret in the cell"), std::string::npos);
  question_.links.clear();
  EXPECT_EQ(Decide(question_, under_, {facts_, &finder_, read_link}).host_path, "/srv/a/other");
}

TEST_F(AnswerTest, NetworkIsNoneOrTheHosts) {
  question_.about = About::kNetwork;
  EXPECT_EQ(Ask().verdict, Verdict::kDeny);
  EXPECT_EQ(Ask().rule, "network none");
  question_.request.network = policy::Network::kFull;
  EXPECT_EQ(Ask().verdict, Verdict::kAllow);
  EXPECT_EQ(Ask().rule, "network full, granted by the built-in ceiling");
}

TEST_F(AnswerTest, HostExecutionIsTellableToAUserWhoIsRefusedIt) {
  question_.request.mode = policy::Mode::kDangerFullAccess;
  question_.request.network = policy::Network::kFull;
  const Answer answer = Ask();
  EXPECT_EQ(answer.verdict, Verdict::kDeny);
  EXPECT_EQ(answer.rule, kByCeiling);
  EXPECT_FALSE(answer.plan.empty());
  under_.asker.owner.uid = 0;  // whose commands it never runs
  EXPECT_TRUE(Ask().plan.empty());
}

}  // namespace
}  // namespace odyssey::answer
