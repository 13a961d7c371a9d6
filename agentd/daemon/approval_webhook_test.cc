#include "agentd/daemon/approval_webhook.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <future>

#include "agentd/approval/command_answer.h"
#include "agentd/daemon/answerer_fixture.h"
#include "common/base/hmac.h"
#include "tests/fakes/fake_http_server.h"

namespace odyssey::daemon {
namespace {

using approval::Decision;
using fakes::FakeHttpServer;

constexpr char kAllow[] = R"({"decision":"allow_once"})";

std::string Ok(const std::string& body) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

class ApprovalWebhookTest : public AnswererTest {
 protected:
  std::unique_ptr<ApprovalAnswerer> Watch(WebhookOptions webhook,
                                          ApprovalAnswerer::Options options = {}) {
    EXPECT_TRUE(CheckApprovalWebhook(webhook).ok());
    return std::make_unique<ApprovalAnswerer>(&registry_, NewApprovalWebhook(std::move(webhook)),
                                              options,
                                              [](const std::string&, const std::string&) {});
  }
  std::future<approval::Answer> Ask(const std::string& id = "r") {
    approval::Question question;
    question.set_session_id("ses_1");
    question.mutable_request()->set_request_id(id);
    line_ = approval::QuestionLine(question);
    return Add(question);
  }

  std::string line_;
};

TEST_F(ApprovalWebhookTest, AnswersTheSignedQuestion) {
  FakeHttpServer server(Ok(R"({"decision":"allow_always","note":"fine"})"));
  const auto webhook = Watch({server.url() + "/hook?x=1", model::Secret("s3cret"), ""});
  EXPECT_EQ(Get(Ask()), (approval::Answer{Decision::kAllowAlways, "fine", getuid(), "webhook"}));
  const std::string request = server.request();
  EXPECT_EQ(request.rfind("POST /hook?x=1 HTTP/1.1\r\n", 0), 0u) << request;
  EXPECT_NE(request.find("\r\nAuthorization: Bearer s3cret\r\n"), std::string::npos) << request;
  EXPECT_NE(
      request.find("\r\nOdyssey-Signature: sha256=" + HmacSha256Hex("s3cret", line_) + "\r\n"),
      std::string::npos)
      << request;
  EXPECT_EQ(request.substr(request.find("\r\n\r\n") + 4), line_);
}

TEST_F(ApprovalWebhookTest, WithoutATokenNothingIsSigned) {
  FakeHttpServer server(Ok(kAllow));
  const auto webhook = Watch({server.url(), {}, ""});
  EXPECT_EQ(Get(Ask()).decision, Decision::kAllowOnce);
  EXPECT_EQ(server.request().find("Authorization"), std::string::npos);
  EXPECT_EQ(server.request().find("Signature"), std::string::npos);
}

TEST_F(ApprovalWebhookTest, WhatIsNoAnswerDenies) {
  const std::string allow = kAllow;
  for (const auto& [response, why] : std::vector<std::pair<std::string, std::string>>{
           {"HTTP/1.1 500 No\r\nContent-Length: 25\r\n\r\n" + allow, "HTTP status 500"},
           {"HTTP/1.1 201 Created\r\nContent-Length: 25\r\n\r\n" + allow, "HTTP status 201"},
           {"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 25\r\n\r\n" +
                allow,
            "HTTP status 302"},
           {Ok(allow + std::string(8192, ' ')), "answer: more than 8192 bytes"},
           {Ok("yes"), "answer: no JSON object"},
           {Ok(""), "answer: no JSON object"},
           {Ok(R"({"decision":"allow_once","more":"x"})"),
            "answer: has a member besides decision and note"}}) {
    FakeHttpServer server(response);
    const auto webhook = Watch({server.url(), {}, ""});
    const approval::Answer answer = Get(Ask());
    EXPECT_EQ(answer.decision, Decision::kDeny) << response;
    EXPECT_EQ(answer.note, "the approval webhook gave no answer: " + why);
    EXPECT_EQ(answer.by, "webhook");
  }
}

TEST_F(ApprovalWebhookTest, ABodyThatIsCutShortDenies) {
  FakeHttpServer server("HTTP/1.1 200 OK\r\nContent-Length: 26\r\n\r\n" + std::string(kAllow));
  const auto webhook = Watch({server.url(), {}, ""});
  EXPECT_EQ(Get(Ask()).decision, Decision::kDeny);
}

TEST_F(ApprovalWebhookTest, ASlowOrAbsentServerDenies) {
  std::string gone;
  {
    FakeHttpServer server("HTTP/1.1 200 OK\r\n", FakeHttpServer::After::kHang);
    gone = server.url();
    const auto webhook = Watch({server.url(), {}, ""}, {.timeout = std::chrono::seconds(1)});
    EXPECT_EQ(Get(Ask()).note, "the approval webhook gave no answer: no answer in 1 s");
    server.WaitUntilPeerClosed();
  }
  const auto webhook = Watch({gone, {}, ""});
  const approval::Answer answer = Get(Ask());
  EXPECT_EQ(answer.decision, Decision::kDeny);
  EXPECT_NE(answer.note.find("gave no answer: webhook at " + gone), std::string::npos)
      << answer.note;
}

TEST_F(ApprovalWebhookTest, IsCancelledWhenAClientAnswers) {
  FakeHttpServer server("HTTP/1.1 200 OK\r\n", FakeHttpServer::After::kHang);
  const auto webhook = Watch({server.url(), {}, ""});
  auto answer = Ask();
  server.WaitUntilAnswered();
  EXPECT_TRUE(registry_.Resolve("r", {Decision::kAllowOnce, "", 7}));
  server.WaitUntilPeerClosed();
  EXPECT_EQ(Get(std::move(answer)).by_uid, 7u);
}

TEST_F(ApprovalWebhookTest, UsesNoProxyOfTheEnvironment) {
  FakeHttpServer proxy(Ok(kAllow));
  setenv("https_proxy", proxy.url().c_str(), 1);
  const auto webhook = Watch({"https://approvals.invalid/", {}, ""});
  EXPECT_EQ(Get(Ask()).decision, Decision::kDeny);
  unsetenv("https_proxy");
  EXPECT_EQ(proxy.requests(), 0);
}

TEST_F(ApprovalWebhookTest, RefusesAUrlThatWouldSendItInTheClear) {
  for (const char* url :
       {"http://192.0.2.1/", "ftp://localhost/", "https://u:p@localhost/", "x y"}) {
    EXPECT_EQ(CheckApprovalWebhook({url, {}, ""}).code(), Code::kInvalidArgument) << url;
  }
  EXPECT_TRUE(CheckApprovalWebhook({"https://192.0.2.1/", {}, ""}).ok());
  EXPECT_FALSE(CheckApprovalWebhook({"https://192.0.2.1/", {}, "/no/such"}).ok());
  EXPECT_FALSE(CheckApprovalWebhook({"https://192.0.2.1/", {}, directory_.Write("ca", "x")}).ok());
}

TEST_F(ApprovalWebhookTest, TheTokensFileIsNoOneElses) {
  const std::string path = directory_.Write("token", "abc\n");
  for (const mode_t mode : {0600, 0400, 0640, 0440}) {
    chmod(path.c_str(), mode);
    EXPECT_TRUE(ReadWebhookToken(path).ok()) << std::oct << mode;
  }
  for (const mode_t mode : {0644, 0604, 0660, 0620, 0601}) {
    chmod(path.c_str(), mode);
    EXPECT_EQ(ReadWebhookToken(path).status().code(), Code::kInvalidArgument) << std::oct << mode;
  }
  chmod(path.c_str(), 0600);
  EXPECT_EQ(ReadWebhookToken(path)->Reveal(), "abc");
  for (const char* content : {"", "\n", "a b", "a\nb"}) {
    directory_.Write("token", content);
    EXPECT_EQ(ReadWebhookToken(path).status().code(), Code::kInvalidArgument) << content;
  }
  EXPECT_FALSE(ReadWebhookToken(directory_.path()).ok());
}

}  // namespace
}  // namespace odyssey::daemon
