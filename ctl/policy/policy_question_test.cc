#include "ctl/policy/policy_question.h"

#include <gtest/gtest.h>

namespace odyssey::ctl {
namespace {

using dialect::Dialect;
using explain::Grant;

answer::Answer ReadOnly() {
  answer::Answer out;
  out.rule = "mount /srv/a read_only";
  out.reason = "read-only, as /srv/a/x";
  out.host_path = "/srv/a/x";
  out.grant = {Grant::Key::kMountWrite, "/srv/a", "mounts.write: [\"/srv/a\"]"};
  return out;
}

TEST(PolicyQuestionTest, GrantIsInTheKeysOfTheFilesKind) {
  EXPECT_EQ(WithGrant(Dialect::kOdyssey, ReadOnly()).reason,
            "read-only, as /srv/a/x; to write: mounts.write: [\"/srv/a\"]");
  EXPECT_EQ(WithGrant(Dialect::kOpenShell, ReadOnly()).reason,
            "read-only, as /srv/a/x; to write: filesystem_policy.read_write: [/srv/a]");
  answer::Answer denied = ReadOnly();
  denied.verdict = answer::Verdict::kDeny;
  denied.grant = {Grant::Key::kMountRead, "/srv/a", "mounts.read: [\"/srv/a\"]"};
  EXPECT_EQ(WithGrant(Dialect::kOdek, denied).reason,
            "read-only, as /srv/a/x; to allow: sandbox_volumes: [/srv/a:TARGET:ro]");
  EXPECT_EQ(WithGrant(Dialect::kOdek, denied).verdict, rules::Verdict::kDeny);
  denied.grant = Grant("protection: none");  // for which odek has no key
  EXPECT_EQ(WithGrant(Dialect::kOdek, denied).reason, "read-only, as /srv/a/x");
}

TEST(PolicyQuestionTest, WhatALinkLeadsToIsGrantedWhereTheLinkWouldFindIt) {
  answer::Answer led = ReadOnly();
  led.verdict = answer::Verdict::kDeny;
  led.host_path = "";
  led.through_link = true;
  EXPECT_EQ(WithGrant(Dialect::kOdyssey, led).reason, "read-only, as /srv/a/x");
  EXPECT_NE(WithGrant(Dialect::kOpenShell, led).reason.find("; to allow: "), std::string::npos);
}

TEST(PolicyQuestionTest, AgentWithoutABundleAnswersByItsRules) {
  const dialect::AgentSpec agent{.id = "fixer",
                                 .tools = {.ask = {"Bash(make:*)"}, .deny = {"Bash(git push:*)"}}};
  EXPECT_EQ(AnswerByRules(agent, "", "git push")->decision.rule, "Bash(git push:*)");
  EXPECT_EQ(AnswerByRules(agent, "fixer", "make")->decision.verdict, rules::Verdict::kAsk);
  EXPECT_EQ(AnswerByRules(agent, "", "ls")->decision.verdict, rules::Verdict::kAllow);
  EXPECT_EQ(AnswerByRules(agent, "", " ")->decision.verdict, rules::Verdict::kDeny);
  EXPECT_EQ(AnswerByRules(agent, "", "git 'x")->decision.verdict, rules::Verdict::kDeny);
  EXPECT_EQ(AnswerByRules(agent, "other", "ls").status().code(), Code::kInvalidArgument);
}

TEST(PolicyQuestionTest, AskedPathIsAbsoluteAndNormalised) {
  EXPECT_TRUE(CheckAskedPath("/srv//a/").ok());
  for (const char* path : {"", "srv/a", "/srv/a/../b"}) {
    EXPECT_EQ(CheckAskedPath(path).code(), Code::kInvalidArgument) << path;
  }
}

}  // namespace
}  // namespace odyssey::ctl
