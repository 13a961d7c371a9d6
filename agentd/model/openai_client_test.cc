#include "agentd/model/openai_client.h"

#include <gtest/gtest.h>

#include <thread>

#include "agentd/model/http_stream.h"
#include "tests/fakes/fake_http_server.h"

namespace odyssey::model {
namespace {

using fakes::FakeHttpServer;

std::string Ok(const std::string& body) {
  return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" + body;
}

struct Answer {
  std::string text;
  Status status;
};

Answer Ask(const FakeHttpServer& server, std::stop_token stop = {},
           const std::string& key = "k-1") {
  const OpenAiAccess access{server.url() + "/v1", Secret(key)};
  const auto client = NewOpenAiClient(&access, "gpt", {});
  ModelRequest request;
  request.messages = {{MessageKind::kUser, "hi", {}}};
  Answer out;
  out.status = client->Stream(
      request,
      [&](ModelEvent event) {
        if (const auto* text = std::get_if<TextDelta>(&event)) out.text += text->text;
        return OkStatus();
      },
      stop);
  return out;
}

TEST(OpenAiClientTest, StreamsAnAnswerAndSendsTheKey) {
  FakeHttpServer server(
      Ok("data: {\"choices\":[{\"delta\":{\"content\":\"he\"}}]}\n\n"
         "data: {\"choices\":[{\"delta\":{\"content\":\"y\"},\"finish_reason\":\"stop\"}]}\n\n"
         "data: [DONE]\n\n"));
  const Answer answer = Ask(server);
  EXPECT_TRUE(answer.status.ok()) << answer.status.ToString();
  EXPECT_EQ(answer.text, "hey");
  const std::string request = server.request();
  EXPECT_EQ(request.rfind("POST /v1/chat/completions HTTP/1.1\r\n", 0), 0u) << request;
  EXPECT_NE(request.find("Authorization: Bearer k-1\r\n"), std::string::npos) << request;
  EXPECT_NE(request.find("\"model\":\"gpt\""), std::string::npos) << request;
}

TEST(OpenAiClientTest, SendsNoHeaderWithoutAKey) {
  FakeHttpServer server(Ok("data: [DONE]\n\n"));
  EXPECT_TRUE(Ask(server, {}, "").status.ok());
  EXPECT_EQ(server.request().find("Authorization"), std::string::npos);
}

TEST(OpenAiClientTest, MapsHttpErrors) {
  for (const auto& [line, code] : std::vector<std::pair<const char*, Code>>{
           {"401 Unauthorized", Code::kPermissionDenied},
           {"429 Too Many Requests", Code::kResourceExhausted},
           {"400 Bad Request", Code::kInvalidArgument},
           {"503 Service Unavailable", Code::kUnavailable},
           {"302 Found", Code::kInternal}}) {
    FakeHttpServer server(
        std::string("HTTP/1.1 ") + line +
        "\r\nLocation: http://127.0.0.1:1/\r\nConnection: close\r\n\r\n{\"error\":\"why\"}");
    const Status status = Ask(server).status;
    EXPECT_EQ(status.code(), code) << line << ": " << status.ToString();
    EXPECT_NE(status.message().find("why"), std::string::npos) << status.message();
    EXPECT_EQ(status.message().find("k-1"), std::string::npos) << "the key stays in agentd";
  }
}

TEST(OpenAiClientTest, StopEndsACallThatHangs) {
  FakeHttpServer server(Ok("data: {\"choices\":[{\"delta\":{\"content\":\"he\"}}]}\n\n"),
                        FakeHttpServer::After::kHang);
  std::stop_source stop;
  std::thread canceller([&] {
    server.WaitUntilAnswered();
    stop.request_stop();
  });
  EXPECT_EQ(Ask(server, stop.get_token()).status.code(), Code::kCancelled);
  canceller.join();
}

TEST(OpenAiClientTest, ConnectionThatEndsEarlyIsUnavailable) {
  FakeHttpServer server(Ok("data: {\"choices\":[{\"delta\":{\"content\":\"he\"}}]}\n\n"));
  EXPECT_EQ(Ask(server).status.code(), Code::kUnavailable);
}

TEST(CheckProviderUrlTest, AllowsHttpsAndLoopbackOnly) {
  for (const char* good : {"https://api.openai.com/v1", "http://127.0.0.1:8080",
                           "http://localhost/v1", "http://[::1]:1/"}) {
    EXPECT_TRUE(CheckProviderUrl(good).ok()) << good;
  }
  for (const char* bad :
       {"http://api.openai.com/v1", "ftp://127.0.0.1/", "file:///etc/passwd",
        "http://127.0.0.1.evil.example/", "https://user:pw@host/", "https://host/#x", "host", ""}) {
    EXPECT_EQ(CheckProviderUrl(bad).code(), Code::kInvalidArgument) << bad;
  }
}

}  // namespace
}  // namespace odyssey::model
