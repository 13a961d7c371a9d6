#include "http/shape/original.h"

#include <gtest/gtest.h>

#include "http/shape/error_body.h"
#include "http/shape/public_id.h"
#include "odyssey/agent/v1/approval.pb.h"
#include "odyssey/agent/v1/bundle.pb.h"

namespace odyssey::shape {
namespace {

namespace pb = agent::v1;

constexpr char kId[] = "ses_70dfe3e2e671a2678c0bf1ff0219d1b7";
constexpr char kUuid[] = "70dfe3e2-e671-a267-8c0b-f1ff0219d1b7";

template <typename Type>
std::string FieldOf(Status (*read)(const Json&, Message*), const std::string& body) {
  Type out;
  const Status status = read(Json::parse(body), &out);
  return status.ok() ? "" : status.detail().field + " " + status.message();
}

TEST(OriginalTest, ASessionIsMadeOfTheOriginalsBodyAndOfOurs) {
  pb::CreateSessionRequest out;
  ASSERT_TRUE(ReadCreateSession(Json::parse(R"({"bundle_ref":"a/b@1","model":null,"agent_id":"x",
      "sandbox":null,"cwd":"/tmp","env":{"A":"b"},"budget":{"tokens":7}})"),
                                &out)
                  .ok());
  EXPECT_EQ(out.bundle(), "a/b@1");
  EXPECT_EQ(out.agent_id(), "x");
  EXPECT_EQ(out.cwd(), "/tmp");
  EXPECT_EQ(out.env().at("A"), "b");
  EXPECT_EQ(out.budget().tokens(), 7u);
  const auto wrong = FieldOf<pb::CreateSessionRequest>;
  EXPECT_EQ(wrong(ReadCreateSession, "{}").rfind("bundle_ref ", 0), 0u);
  EXPECT_EQ(wrong(ReadCreateSession, R"({"bundle_ref":1})").rfind("bundle_ref ", 0), 0u);
  EXPECT_EQ(wrong(ReadCreateSession, R"({"bundle_ref":"a","model":{}})").rfind("model ", 0), 0u);
  EXPECT_NE(wrong(ReadCreateSession, R"({"bundle_ref":"a","nope":1})").find("nope"),
            std::string::npos);
}

TEST(OriginalTest, ATaskIsAPromptWithTheKeyOfItsSubmission) {
  pb::SubmitTurnRequest out;
  ASSERT_TRUE(ReadRun(Json::parse(std::string(R"({"input":{"prompt":"go","submission_id":")") +
                                  kUuid + R"(","completed":false,"image":null,"result":null},
      "turn_context":{"cwd":null,"model":null},"deadline_ms":"5"})"),
                      &out)
                  .ok());
  EXPECT_EQ(out.prompt(), "go");
  EXPECT_EQ(out.idempotency_key(), kUuid);
  EXPECT_EQ(out.deadline_ms(), 5u);
  const auto wrong = FieldOf<pb::SubmitTurnRequest>;
  for (const auto& [body, field] :
       {std::pair(R"({"input":null})", "input.prompt"),
        {R"({"input":7})", "input"},
        {R"({"input":{"prompt":"a","image":"x"}})", "input.image"},
        {R"({"input":{"prompt":"a","more":1}})", "input.more"},
        {R"({"input":{"prompt":"a"},"turn_context":{"model":{}}})", "turn_context.model"}}) {
    EXPECT_EQ(wrong(ReadRun, body).rfind(std::string(field) + " ", 0), 0u) << body;
  }
}

TEST(OriginalTest, ADecisionIsOneOfThree) {
  pb::ResolveApprovalRequest out;
  ASSERT_TRUE(ReadApproval(Json::parse(R"({"decision":"allow_always","note":"n","digest":"d",
      "grant_scope":"session","grant_duration_ms":9})"),
                           &out)
                  .ok());
  EXPECT_EQ(out.decision(), pb::DECISION_ALLOW_ALWAYS);
  EXPECT_EQ(out.grant_scope(), pb::GRANT_SCOPE_SESSION);
  EXPECT_EQ(out.grant_duration_ms(), 9u);
  const auto wrong = FieldOf<pb::ResolveApprovalRequest>;
  for (const char* body :
       {R"({"decision":"unspecified"})", R"({"decision":"DENY"})", R"({"decision":3})", "{}"}) {
    EXPECT_EQ(wrong(ReadApproval, body).rfind("decision ", 0), 0u) << body;
  }
}

TEST(OriginalTest, AnswersHaveTheOriginalsFieldsAlone) {
  pb::ListSessionsResponse sessions;
  pb::Session& session = *sessions.add_sessions();
  session.set_id(kId);
  session.set_agent_id("a");
  session.set_message_count(2);
  session.set_created_at("t");
  EXPECT_EQ(WriteSessions(sessions),
            std::string(R"([{"id":")") + kUuid +
                R"(","agent_id":"a","message_count":2,"created_at":"t"}])");
  pb::ListBundlesResponse bundles;
  bundles.add_bundles()->set_id("b");
  EXPECT_EQ(WriteBundles(bundles), R"([{"namespace":"","id":"b","version":"","path":""}])");
  EXPECT_EQ(WriteRunResult(kId, "trn_x", "ok"),
            std::string(R"({"session_id":")") + kUuid + R"(","turn_id":"trn_x","response":"ok"})");
  pb::ChatMessage message;
  message.set_role("user");
  message.set_content("\xff");
  EXPECT_EQ(Json::parse(WriteSessionDetail(session, {message}))["messages"].dump(),
            "[{\"role\":\"user\",\"content\":\"\xef\xbf\xbd\"}]");
}

TEST(PublicIdTest, IdsAndUuidsAreOfTheSameDigits) {
  EXPECT_EQ(PublicId(kId), kUuid);
  for (const char* other :
       {"ses_1", "", "job_3", "tools", kUuid, "SES_70dfe3e2e671a2678c0bf1ff0219d1b7"}) {
    EXPECT_EQ(PublicId(other), other);
  }
  EXPECT_EQ(OwnId("session_id", kUuid), kId);
  EXPECT_EQ(OwnId("session_id", "70DFE3E2-E671-A267-8C0B-F1FF0219D1B7"), kId);
  EXPECT_EQ(OwnId("session_id", kId), kId);
  EXPECT_EQ(OwnId("prompt", kUuid), kUuid);
  pb::Approval approval;
  approval.set_session_id(kId);
  approval.mutable_request()->set_request_id("apr_70dfe3e2e671a2678c0bf1ff0219d1b7");
  approval.mutable_request()->set_cwd(kId);
  MakePublic(&approval);
  EXPECT_EQ(approval.session_id(), kUuid);
  EXPECT_EQ(approval.request().request_id(), kUuid);
  EXPECT_EQ(approval.request().cwd(), kId);  // no id, whatever it looks like
}

TEST(ErrorBodyTest, EveryCodeHasAStatusAndAClientsFaultIsNoServersOne) {
  for (const Code code :
       {Code::kInvalidArgument, Code::kNotFound, Code::kAlreadyExists, Code::kPermissionDenied,
        Code::kResourceExhausted, Code::kFailedPrecondition, Code::kAborted, Code::kOutOfRange,
        Code::kUnauthenticated, Code::kCancelled}) {
    EXPECT_EQ(HttpStatusOf(code) / 100, 4u) << CodeName(code);
  }
  const Status status = InvalidArgument("a \xff").With({.field = "f", .hint = "h", .error = 2});
  EXPECT_EQ(ErrorBody(status),
            "{\"error\":{\"code\":\"INVALID_ARGUMENT\",\"message\":\"a \xef\xbf\xbd\","
            "\"field\":\"f\",\"hint\":\"h\",\"errno\":2}}\n");
}

}  // namespace
}  // namespace odyssey::shape
