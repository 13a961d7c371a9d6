#include "policy/answer/answer_proto.h"

#include <errno.h>
#include <gtest/gtest.h>

#include "common/base/refusal.h"

namespace odyssey::answer {
namespace {

TEST(AnswerProtoTest, QuestionSurvives) {
  Question question;
  question.request.workspace = "/srv/w";
  question.request.workspace_identity = {7, 9};
  question.request.ephemeral = true;
  question.request.mounts = {{.source = "/srv/a", .target = "/srv/a"}};
  question.request.env = {{"A", ""}};
  question.about = About::kPath;
  question.path = "/srv/a/x";
  question.seen = {{"/srv/a", {compile::PlaceKind::kOther, 5, 0755, true}},
                   {"/srv/w", {compile::PlaceKind::kMissing, 0, 0, false}}};
  question.links = {{"/srv/a/x", "y"}};
  question.env_sources = {{"A", "GH_TOKEN"}};
  const auto request = ToProto(question, 5000);
  EXPECT_EQ(request.cell().owner_uid(), 5000u);
  const auto back = FromProto(request);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->request, question.request);
  EXPECT_EQ(back->about, About::kPath);
  EXPECT_EQ(back->path, question.path);
  EXPECT_EQ(back->seen, question.seen);
  EXPECT_EQ(back->links, question.links);
  EXPECT_EQ(back->env_sources, question.env_sources);
  question.about = About::kNetwork;
  EXPECT_EQ(FromProto(ToProto(question, 0))->about, About::kNetwork);
}

TEST(AnswerProtoTest, SeenPlaceHasAKind) {
  supervisor::v1::CheckPolicyRequest request = ToProto(Question(), 0);
  request.add_seen()->set_path("/srv/a");
  EXPECT_EQ(FromProto(request).status().code(), Code::kInvalidArgument);
}

TEST(AnswerProtoTest, AnswerSurvives) {
  Answer answer;
  answer.verdict = Verdict::kDeny;
  answer.rule = "mount /read/a read_only";
  answer.reason = "why";
  answer.grant = {explain::Grant::Key::kMountWrite, "/srv/a", "key: [\"/srv/a\"]"};
  answer.host_path = "/srv/a";
  answer.through_link = true;
  answer.refusal = WithHint(kHintCeiling, ErrnoStatus(EACCES, "open /srv/a"));
  answer.refusal = OfField("mounts[0].source", answer.refusal, "/srv/a");
  answer.digest = "abc";
  answer.plan = {"one", "two"};
  answer.granted = {{"network", "full", "10.yaml:3"}};
  answer.ceiling = {
      "/etc/odyssey/policy.d", true, "def", {"users *: network full"}, "debian@sha256:0"};
  const Answer back = FromProto(ToProto(answer));
  EXPECT_EQ(back.verdict, answer.verdict);
  EXPECT_EQ(back.rule, answer.rule);
  EXPECT_EQ(back.reason, answer.reason);
  EXPECT_EQ(back.grant, answer.grant);
  EXPECT_EQ(back.grant.key, answer.grant.key);
  EXPECT_EQ(back.grant.value, answer.grant.value);
  EXPECT_EQ(back.host_path, answer.host_path);
  EXPECT_TRUE(back.through_link);
  EXPECT_EQ(back.refusal, answer.refusal);
  EXPECT_EQ(back.refusal.detail(), answer.refusal.detail());
  EXPECT_EQ(back.digest, answer.digest);
  EXPECT_EQ(back.plan, answer.plan);
  EXPECT_EQ(back.granted, answer.granted);
  EXPECT_EQ(back.ceiling, answer.ceiling);
  EXPECT_TRUE(FromProto(ToProto(Answer())).refusal.ok());
}

}  // namespace
}  // namespace odyssey::answer
