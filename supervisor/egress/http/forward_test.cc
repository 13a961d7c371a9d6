#include "supervisor/egress/http/forward.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>

namespace odyssey::egress::http {
namespace {

RequestHead Request(const std::string& bytes, Role role = Role::kOrigin) {
  const auto parsed = ParseRequestHead(bytes, role);
  const auto* head = std::get_if<RequestHead>(&parsed);
  EXPECT_NE(head, nullptr) << bytes;
  return head != nullptr ? *head : RequestHead{};
}

RequestHead Get(const std::string& lines) {
  return Request("GET /a HTTP/1.1\r\nHost: h.example\r\n" + lines + "\r\n");
}

CanonicalPath PathOf(const RequestHead& head) {
  return std::get<CanonicalPath>(CanonicalizePath(head.path, head.query, {}));
}

const Route kRoute = {.host = "h.example", .port = 443};

// The head that is sent, or "STATUS".
std::string Write(const RequestHead& head, const Route& route = kRoute) {
  const auto written = WriteRequestHead(head, PathOf(head), route);
  if (const auto* error = std::get_if<ParseError>(&written)) return std::to_string(error->status);
  return std::get<std::string>(written);
}

ResponseHead Response(const std::string& bytes, const Asked& asked = {.method = "GET"}) {
  const auto parsed = ParseResponseHead(bytes, asked);
  const auto* head = std::get_if<ResponseHead>(&parsed);
  EXPECT_NE(head, nullptr) << bytes;
  return head != nullptr ? *head : ResponseHead{};
}

TEST(ForwardTest, ARequestIsWrittenInOneSpelling) {
  const RequestHead head = Request(
      "POST http://H.example./%61?b=[] HTTP/1.0\r\nHOST:h.example\r\nx-b:  2\r\nX-A: 1\r\n"
      "Content-Length: 3\r\n\r\n",
      Role::kProxy);
  EXPECT_EQ(
      Write(head, {.host = "h.example", .port = 80, .default_port = 80}),
      "POST /a?b=[] HTTP/1.1\r\nHost: h.example\r\nx-b: 2\r\nX-A: 1\r\nContent-Length: 3\r\n\r\n");
}

TEST(ForwardTest, HostIsTheDecidedOne) {
  const RequestHead head = Get("");
  EXPECT_EQ(Write(head, {.host = "other.example", .port = 8443}),
            "GET /a HTTP/1.1\r\nHost: other.example:8443\r\n\r\n");
  EXPECT_EQ(Write(head, {.host = "2606:4700::1", .port = 443}),
            "GET /a HTTP/1.1\r\nHost: [2606:4700::1]\r\n\r\n");
  EXPECT_EQ(Write(head, {.host = "h.example", .port = 443, .default_port = 80}),
            "GET /a HTTP/1.1\r\nHost: h.example:443\r\n\r\n");
}

TEST(ForwardTest, TheWholeServerIsAnAsterisk) {
  const std::string sent = "OPTIONS * HTTP/1.1\r\nHost: h.example\r\n\r\n";
  EXPECT_EQ(Write(Request("OPTIONS * HTTP/1.1\r\nHost: h.example\r\n\r\n")), sent);
  EXPECT_EQ(
      Write(Request("OPTIONS http://h.example HTTP/1.1\r\nHost: h.example\r\n\r\n", Role::kProxy)),
      sent);
}

TEST(ForwardTest, FieldsOfTheConnectionAndOfProxiesStayHere) {
  const RequestHead head =
      Get("Connection: keep-alive, TE, HTTP2-Settings\r\nKeep-Alive: 5\r\nTE: trailers\r\nTrailer: "
          "A\r\n"
          "HTTP2-Settings: AAMAAABkAAQ\r\nProxy-Connection: keep-alive\r\nProxy-Authorization: "
          "Basic eA==\r\n"
          "Proxy-Anything: x\r\nVia: 1.1 p\r\nForwarded: for=1\r\nX-Forwarded-For: 1\r\n"
          "x-forwarded-host: o.example\r\nExpect: 100-continue\r\nAuthorization: Bearer x\r\n");
  EXPECT_EQ(Write(head), "GET /a HTTP/1.1\r\nHost: h.example\r\nAuthorization: Bearer x\r\n\r\n");
}

TEST(ForwardTest, TheFramingIsWrittenAnew) {
  const RequestHead head = Get("transfer-encoding: Chunked\r\nA: b\r\n");
  EXPECT_EQ(Write(head),
            "GET /a HTTP/1.1\r\nHost: h.example\r\nA: b\r\nTransfer-Encoding: chunked\r\n\r\n");
  Route route = kRoute;
  route.framing = {.kind = FramingKind::kLength, .length = 7};
  EXPECT_EQ(Write(head, route),
            "GET /a HTTP/1.1\r\nHost: h.example\r\nA: b\r\nContent-Length: 7\r\n\r\n");
  EXPECT_EQ(Write(Get("Content-Length: 0\r\n")),
            "GET /a HTTP/1.1\r\nHost: h.example\r\nContent-Length: 0\r\n\r\n");
}

TEST(ForwardTest, EarlyDataIsTooEarly) {
  EXPECT_EQ(Write(Get("Early-Data: 1\r\n")), "425");
  EXPECT_EQ(Write(Get("early-data: x\r\n")), "425");
}

TEST(ForwardTest, AnUpgradeNeedsARule) {
  Route strip = kRoute, websocket = kRoute;
  strip.upgrade = UpgradeRule::kStrip;
  websocket.upgrade = UpgradeRule::kWebSocket;
  const RequestHead h2c =
      Get("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n");
  const RequestHead tls = Get("Connection: Upgrade\r\nUpgrade: TLS/1.0\r\n");
  const RequestHead socket = Get(
      "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
      "Sec-WebSocket-Extensions: permessage-deflate\r\n");
  const std::string plain = "GET /a HTTP/1.1\r\nHost: h.example\r\n";
  const std::string key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
  for (const RequestHead& head : {h2c, tls, socket}) EXPECT_EQ(Write(head), "403");
  EXPECT_EQ(Write(h2c, strip), plain + "\r\n");
  EXPECT_EQ(Write(tls, strip), plain + "\r\n");
  EXPECT_EQ(Write(socket, strip), plain + key + "\r\n");
  EXPECT_EQ(Write(h2c, websocket), "403");
  EXPECT_EQ(Write(tls, websocket), "403");
  const std::string upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
  EXPECT_EQ(Write(socket, websocket), plain + key + upgrade);
  websocket.websocket_extensions = true;
  EXPECT_EQ(Write(socket, websocket),
            plain + key + "Sec-WebSocket-Extensions: permessage-deflate\r\n" + upgrade);
}

TEST(ForwardTest, AFieldThatACallerBrokeIsNotSent) {
  for (const Field& field :
       {Field{"A", "b\r\nContent-Length: 5"}, Field{"A\r\nB", "c"}, Field{"", "b"},
        Field{"A", std::string("\0", 1)}, Field{"A", "\xff"}}) {
    RequestHead head = Get("");
    head.fields.push_back(field);
    EXPECT_EQ(Write(head), "500");
  }
}

TEST(ForwardTest, MethodsByOverrideAreEffective) {
  const RequestHead head = Request(
      "POST /a?_method=put&x=y&_METHOD=patch HTTP/1.1\r\nHost: h.example\r\n"
      "x-http-method-override: delete\r\nX-Method-Override: GET\r\nX-HTTP-Method: Purge\r\n\r\n");
  const std::vector<std::string> methods = {"POST", "DELETE", "GET", "PURGE", "PUT", "PATCH"};
  EXPECT_EQ(EffectiveMethods(head, PathOf(head).pairs), methods);
  EXPECT_EQ(EffectiveMethods(Request("get / HTTP/1.1\r\nHost: h\r\n\r\n"), {}),
            std::vector<std::string>{"get"});
}

TEST(ForwardTest, WhatIsWrittenIsReadTheSame) {
  const RequestHead head = Get("A: b\r\nContent-Length: 3\r\nVia: x\r\n");
  const std::string written = Write(head);
  const RequestHead again = Request(written);
  EXPECT_EQ(again.size, written.size());
  EXPECT_EQ(again.framing, head.framing);
  EXPECT_EQ(Write(again), written);
}

TEST(ForwardTest, AResponseIsWrittenInOneSpelling) {
  const ResponseHead head = Response(
      "HTTP/1.0 200 Fine\r\nconnection: keep-alive, X-Hop\r\nKeep-Alive: 5\r\nX-Hop: 1\r\n"
      "Alt-Svc: h3=\":443\"\r\nProxy-Authenticate: Basic\r\nUpgrade: h2c\r\nTrailer: "
      "A\r\nSet-Cookie: a\r\n"
      "content-length: 3\r\nSet-Cookie: b\r\n\r\n");
  EXPECT_EQ(WriteResponseHead(head, head.framing, false),
            "HTTP/1.1 200 Fine\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nContent-Length: 3\r\n\r\n");
  EXPECT_EQ(WriteResponseHead(head, head.framing, true),
            "HTTP/1.1 200 Fine\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nContent-Length: 3\r\n"
            "Connection: close\r\n\r\n");
}

TEST(ForwardTest, AnOldClientReceivesNoChunks) {
  const ResponseHead head = Response("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_EQ(WriteResponseHead(head, FramingForClient(head, Version::kHttp11), false),
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_EQ(WriteResponseHead(head, FramingForClient(head, Version::kHttp10), false),
            "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
}

TEST(ForwardTest, ABodyThatIsNotSentKeepsItsLength) {
  const ResponseHead head =
      Response("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", {.method = "HEAD"});
  EXPECT_EQ(WriteResponseHead(head, FramingForClient(head, Version::kHttp11), false),
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n");
}

TEST(ForwardTest, ASwitchToWebSocketIsWritten) {
  const ResponseHead head = Response(
      "HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: "
      "WebSocket\r\nSec-WebSocket-Accept: x\r\n\r\n",
      {.method = "GET", .websocket = true});
  EXPECT_EQ(WriteResponseHead(head, head.framing, false),
            "HTTP/1.1 101 Switching\r\nSec-WebSocket-Accept: x\r\nConnection: Upgrade\r\n"
            "Upgrade: websocket\r\n\r\n");
}

}  // namespace
}  // namespace odyssey::egress::http
