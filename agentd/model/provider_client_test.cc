#include "agentd/model/provider_client.h"

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

struct Asked {
  std::string provider = "llama_cpp", config = R"({"max_retries":0})", key = "k-1";
  std::stop_token stop = {};
};

Answer Ask(const FakeHttpServer& server, const Asked& asked = {}) {
  const auto access = std::make_shared<const ProviderAccess>(
      ProviderAccess{server.url() + "/v1", Secret(asked.key)});
  const provider::Provider* row = *provider::FindProvider(asked.provider);
  const auto client =
      NewProviderClient(access, {row, "gpt", *provider::ParseModelConfig(*row, asked.config)},
                        std::chrono::milliseconds(1));
  ModelRequest request;
  request.messages = {{MessageKind::kUser, "hi", {}}};
  Answer out;
  out.status = client->Stream(
      request,
      [&](ModelEvent event) {
        if (const auto* text = std::get_if<TextDelta>(&event)) out.text += text->text;
        return OkStatus();
      },
      asked.stop);
  return out;
}

const std::string kHey =
    "data: {\"choices\":[{\"delta\":{\"content\":\"hey\"},\"finish_reason\":\"stop\"}]}\n\n";

TEST(ProviderClientTest, StreamsAnAnswerAndSendsTheKey) {
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

TEST(ProviderClientTest, SendsNoHeaderWithoutAKey) {
  FakeHttpServer server(Ok(kHey));
  EXPECT_TRUE(Ask(server, {.key = ""}).status.ok());
  EXPECT_EQ(server.request().find("Authorization"), std::string::npos);
}

TEST(ProviderClientTest, SendsTheKeyAsTheProviderWantsIt) {
  for (const auto& [provider, header] :
       std::vector<std::pair<const char*, const char*>>{{"anthropic", "x-api-key: k-1\r\n"},
                                                        {"google", "x-goog-api-key: k-1\r\n"},
                                                        {"azure-openai", "api-key: k-1\r\n"}}) {
    FakeHttpServer server(Ok(kHey));
    (void)Ask(server, {.provider = provider});
    EXPECT_NE(server.request().find(header), std::string::npos) << server.request();
  }
}

std::string Refusal(const std::string& head) {
  return "HTTP/1.1 " + head + "\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
}

TEST(ProviderClientTest, RepeatsWhileNothingHasArrived) {
  for (const char* head : {"429 Too Many Requests\r\nRetry-After: 1", "503 Busy", "408 Slow",
                           "409 Conflict", "500 Broken"}) {
    FakeHttpServer server({Refusal(head), Ok(kHey)});
    const auto begin = std::chrono::steady_clock::now();
    const Answer answer = Ask(server, {.config = "null"});
    EXPECT_TRUE(answer.status.ok()) << head << ": " << answer.status.ToString();
    EXPECT_EQ(answer.text, "hey");
    EXPECT_EQ(server.requests(), 2);
    const bool waits = std::string(head).find("Retry-After") != std::string::npos;
    EXPECT_EQ(std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds(950), waits);
  }
}

TEST(ProviderClientTest, RepeatsAsOftenAsConfigured) {
  FakeHttpServer server(Refusal("503 Busy"));
  EXPECT_EQ(Ask(server, {.config = R"({"max_retries":2})"}).status.code(), Code::kUnavailable);
  EXPECT_EQ(server.requests(), 3);
}

TEST(ProviderClientTest, DoesNotRepeatWhatARepetitionCannotHelp) {
  for (const char* head : {"400 Bad Request", "401 Unauthorized", "404 Not Found",
                           "429 Too Many Requests\r\nRetry-After: 3600"}) {
    FakeHttpServer server(Refusal(head));
    EXPECT_FALSE(Ask(server, {.config = "null"}).status.ok());
    EXPECT_EQ(server.requests(), 1) << head;
  }
  FakeHttpServer cut(Ok("data: {\"choices\":[{\"delta\":{\"content\":\"he\"}}]}\n\n"));
  EXPECT_FALSE(Ask(cut, {.config = "null"}).status.ok());
  EXPECT_EQ(cut.requests(), 1) << "its text was delivered";
}

TEST(ProviderClientTest, SilenceEndsTheCall) {
  for (const auto& [answer, config] : std::vector<std::pair<std::string, const char*>>{
           {"", R"({"first_byte_timeout_seconds":1})"},
           {Ok("data: {\"choices\":[{\"delta\":{\"content\":\"he\"}}]}\n\n"),
            R"({"idle_timeout_seconds":1})"}}) {
    FakeHttpServer server(answer, FakeHttpServer::After::kHang);
    const Answer got = Ask(server, {.config = config});
    EXPECT_EQ(got.status.code(), Code::kDeadlineExceeded) << got.status.ToString();
    EXPECT_NE(got.status.message().find("no byte for 1 s"), std::string::npos);
  }
}

TEST(ProviderClientTest, AQuotedKeyIsNotInTheError) {
  FakeHttpServer server("HTTP/1.1 401 No\r\nConnection: close\r\n\r\n{\"error\":\"bad key k-1!\"}");
  const Status status = Ask(server).status;
  EXPECT_NE(status.message().find("bad key [key]!"), std::string::npos) << status.message();
}

TEST(ProviderClientTest, MapsHttpErrors) {
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

TEST(ProviderClientTest, StopEndsACallThatHangs) {
  FakeHttpServer server(Ok("data: {\"choices\":[{\"delta\":{\"content\":\"he\"}}]}\n\n"),
                        FakeHttpServer::After::kHang);
  std::stop_source stop;
  std::thread canceller([&] {
    server.WaitUntilAnswered();
    stop.request_stop();
  });
  EXPECT_EQ(Ask(server, {.stop = stop.get_token()}).status.code(), Code::kCancelled);
  canceller.join();
  server.WaitUntilPeerClosed();
}

TEST(ProviderClientTest, ConnectionThatEndsEarlyIsUnavailable) {
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
