#include "supervisor/egress/http/request_head.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>

namespace odyssey::egress::http {
namespace {

RequestHead Read(const std::string& bytes, Role role) {
  const Parsed<RequestHead> parsed = ParseRequestHead(bytes, role);
  const auto* error = std::get_if<ParseError>(&parsed);
  EXPECT_EQ(error, nullptr) << (error != nullptr ? error->reason : "");
  const auto* head = std::get_if<RequestHead>(&parsed);
  EXPECT_NE(head, nullptr) << bytes;
  return head != nullptr ? *head : RequestHead{};
}

TEST(RequestHeadTest, AnAbsoluteTargetIsTakenApart) {
  const std::string bytes =
      "POST http://API.h.example:8080/v1/a?b=c&d HTTP/1.1\r\nhost: api.h.example:8080\r\n"
      "X-A:  1 \r\nContent-Length: 3\r\nx-a: 2\r\n\r\n";
  const RequestHead head = Read(bytes + "abc", Role::kProxy);
  EXPECT_EQ(head.size, bytes.size());
  EXPECT_EQ(head.method, "POST");
  EXPECT_EQ(head.form, TargetForm::kAbsolute);
  EXPECT_EQ(head.scheme, "http");
  EXPECT_EQ(head.authority.written, "API.h.example");
  EXPECT_EQ(head.authority.host, "api.h.example");
  EXPECT_EQ(head.authority.port, 8080);
  EXPECT_EQ(head.path, "/v1/a");
  EXPECT_EQ(head.query, "b=c&d");
  EXPECT_EQ(head.version, Version::kHttp11);
  const Fields fields = {
      {"host", "api.h.example:8080"}, {"X-A", "1"}, {"Content-Length", "3"}, {"x-a", "2"}};
  EXPECT_EQ(head.fields, fields);
  EXPECT_EQ(head.framing, (Framing{.kind = FramingKind::kLength, .length = 3}));
  EXPECT_FALSE(head.close);
}

TEST(RequestHeadTest, WithoutAPathTheTargetIsTheRoot) {
  RequestHead head =
      Read("GET http://h.example?a HTTP/1.1\r\nHost: h.example\r\n\r\n", Role::kProxy);
  EXPECT_EQ(head.path, "/");
  EXPECT_EQ(head.query, "a");
  EXPECT_EQ(head.authority.port, 80);
  head = Read("OPTIONS http://h.example HTTP/1.1\r\nHost: h.example\r\n\r\n", Role::kProxy);
  EXPECT_EQ(head.path, "*");
  EXPECT_EQ(head.form, TargetForm::kAbsolute);
}

TEST(RequestHeadTest, ConnectHasAnAuthorityAndNoPath) {
  const std::string bytes = "CONNECT h.example:443 HTTP/1.0\r\n\r\n";
  const RequestHead head = Read(bytes + "\x16\x03\x01", Role::kProxy);
  EXPECT_EQ(head.size, bytes.size());
  EXPECT_EQ(head.form, TargetForm::kAuthority);
  EXPECT_EQ(head.authority.host, "h.example");
  EXPECT_EQ(head.authority.port, 443);
  EXPECT_EQ(head.path, "");
  EXPECT_TRUE(head.close);
}

TEST(RequestHeadTest, WithinATunnelHostIsTheAuthority) {
  RequestHead head = Read("GET /a HTTP/1.1\r\nHost: H.example:8443\r\n\r\n", Role::kOrigin);
  EXPECT_EQ(head.form, TargetForm::kOrigin);
  EXPECT_EQ(head.authority.host, "h.example");
  EXPECT_EQ(head.authority.port, 8443);
  head = Read("GET /a HTTP/1.1\r\nHost: h.example\r\n\r\n", Role::kOrigin);
  EXPECT_EQ(head.authority.port, std::nullopt);
  head = Read("GET /a HTTP/1.0\r\n\r\n", Role::kOrigin);
  EXPECT_EQ(head.authority, Authority{});
}

TEST(RequestHeadTest, Http10ClosesEvenIfItAsksToBeKept) {
  const std::string fields = "Host: h.example\r\nConnection: keep-alive\r\n\r\n";
  EXPECT_TRUE(Read("GET / HTTP/1.0\r\n" + fields, Role::kOrigin).close);
  EXPECT_FALSE(Read("GET / HTTP/1.1\r\n" + fields, Role::kOrigin).close);
  EXPECT_TRUE(
      Read("GET / HTTP/1.1\r\nHost: h.example\r\nConnection: TE, Close\r\n\r\n", Role::kOrigin)
          .close);
}

TEST(RequestHeadTest, AnExpectationIsReported) {
  const std::string fields = "Host: h.example\r\nExpect: 100-continue\r\n\r\n";
  EXPECT_TRUE(Read("PUT / HTTP/1.1\r\n" + fields, Role::kOrigin).expects_continue);
  EXPECT_FALSE(Read("PUT / HTTP/1.0\r\n" + fields, Role::kOrigin).expects_continue);
}

TEST(RequestHeadTest, OnlyAWholeUpgradeIsAWebSockets) {
  const auto upgrade = [](const std::string& first, const std::string& lines) {
    return Read(first + "\r\nHost: h.example\r\n" + lines + "\r\n", Role::kOrigin).upgrade;
  };
  const std::string get = "GET / HTTP/1.1", asks = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
  EXPECT_EQ(upgrade(get, ""), Upgrade::kNone);
  EXPECT_EQ(upgrade(get, asks), Upgrade::kWebSocket);
  EXPECT_EQ(upgrade(get, "Connection: keep-alive, upgrade\r\nUpgrade: WebSocket\r\n"),
            Upgrade::kWebSocket);
  EXPECT_EQ(upgrade(get, "Upgrade: websocket\r\n"), Upgrade::kOther);
  EXPECT_EQ(upgrade("POST / HTTP/1.1", asks), Upgrade::kOther);
  EXPECT_EQ(upgrade("GET / HTTP/1.0", asks), Upgrade::kOther);
  EXPECT_EQ(upgrade(get, asks + "Content-Length: 5\r\n"), Upgrade::kOther);
  EXPECT_EQ(upgrade(get, "Connection: Upgrade\r\nUpgrade: h2c, websocket\r\n"), Upgrade::kOther);
  EXPECT_EQ(upgrade(get, "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"),
            Upgrade::kOther);
  EXPECT_EQ(upgrade(get, "Connection: Upgrade\r\nUpgrade: TLS/1.0\r\n"), Upgrade::kOther);
  EXPECT_EQ(upgrade(get, "Upgrade:\r\n"), Upgrade::kOther);
}

// Every piece but the last one needs more, whatever the pieces are.
TEST(RequestHeadTest, PiecesGiveWhatTheWholeGives) {
  const std::string bytes =
      "POST http://h.example/a?b HTTP/1.1\r\nHost: h.example\r\nTransfer-Encoding: chunked\r\n\r\n";
  const RequestHead whole = Read(bytes, Role::kProxy);
  HeadScanner scanner(ObsText::kRefuse);
  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto piece = ParseRequestHead(bytes.substr(0, size), Role::kProxy, &scanner);
    EXPECT_TRUE(std::holds_alternative<NeedMore>(piece)) << size;
  }
  EXPECT_EQ(std::get<RequestHead>(ParseRequestHead(bytes, Role::kProxy, &scanner)), whole);
}

}  // namespace
}  // namespace odyssey::egress::http
