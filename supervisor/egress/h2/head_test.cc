#include "supervisor/egress/h2/head.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "supervisor/egress/http/forward.h"
#include "supervisor/egress/http/path.h"

namespace odyssey::egress::h2 {
namespace {

using http::Fields;
using http::FramingKind;

const Fields kGet = {
    {":method", "GET"}, {":scheme", "https"}, {":authority", "h.example"}, {":path", "/a?b=c"}};

Fields With(Fields fields, const Fields& more) {
  fields.insert(fields.end(), more.begin(), more.end());
  return fields;
}

Fields Replaced(const std::string& name, const std::string& value) {
  Fields out = kGet;
  for (http::Field& field : out) {
    if (field.name == name) field.value = value;
  }
  return out;
}

Fields Without(const std::string& name) {
  Fields out;
  for (const http::Field& field : kGet) {
    if (field.name != name) out.push_back(field);
  }
  return out;
}

// "malformed", the status of an error, or "" for a head.
std::string Outcome(const Fields& fields, bool ended = true) {
  const auto read = ReadRequest(fields, ended);
  if (std::holds_alternative<Malformed>(read)) return "malformed";
  const auto* error = std::get_if<http::ParseError>(&read);
  return error == nullptr ? "" : std::to_string(error->status);
}

TEST(H2HeadTest, ARequestIsThatOfHttp11) {
  const auto read = ReadRequest(With(kGet, {{"x-a", "1"}, {"cookie", "a=b"}}), true);
  const auto* head = std::get_if<http::RequestHead>(&read);
  ASSERT_NE(head, nullptr);
  EXPECT_EQ(head->method, "GET");
  EXPECT_EQ(head->form, http::TargetForm::kOrigin);
  EXPECT_EQ(head->authority.host, "h.example");
  EXPECT_EQ(head->path, "/a");
  EXPECT_EQ(head->query, "b=c");
  EXPECT_EQ(head->fields, (Fields{{"host", "h.example"}, {"x-a", "1"}, {"cookie", "a=b"}}));
  EXPECT_EQ(head->framing.kind, FramingKind::kNone);
}

TEST(H2HeadTest, ABodyWithoutALengthEndsBySayingSo) {
  const auto read = ReadRequest(kGet, false);
  EXPECT_EQ(std::get<http::RequestHead>(read).framing.kind, FramingKind::kChunked);
  const auto sized = ReadRequest(With(kGet, {{"content-length", "3"}}), false);
  EXPECT_EQ(std::get<http::RequestHead>(sized).framing,
            (http::Framing{.kind = FramingKind::kLength, .length = 3}));
}

TEST(H2HeadTest, WhatBreaksHttp2IsMalformed) {
  const std::vector<Fields> table = {
      With(kGet, {{"X-A", "1"}}),
      With(kGet, {{"connection", "close"}}),
      With(kGet, {{"keep-alive", "5"}}),
      With(kGet, {{"proxy-connection", "close"}}),
      With(kGet, {{"transfer-encoding", "chunked"}}),
      With(kGet, {{"upgrade", "websocket"}}),
      With(kGet, {{"http2-settings", "AAMAAABk"}}),
      With(kGet, {{"te", "gzip"}}),
      With(kGet, {{"host", "other.example"}}),
      With(kGet, {{"host", "h.example"}, {"host", "h.example"}}),
      With(kGet, {{"x-a", "1"}, {":path", "/b"}}),
      With(kGet, {{":path", "/b"}}),
      With(kGet, {{":protocol", "websocket"}}),
      With(kGet, {{":status", "200"}}),
      With(kGet, {{"x-a", "1\r\nx-b: 2"}}),
      With(kGet, {{"x-a", std::string("1\0", 2)}}),
      With(kGet, {{"x a", "1"}}),
      With(kGet, {{"x-a:", "1"}}),
      With(kGet, {{"", "1"}}),
      With(kGet, {{"content-length", "3"}}),
      Replaced(":path", "/a HTTP/1.1\r\nx-b: 2"),
      Replaced(":path", "/a b"),
      Replaced(":path", ""),
      Replaced(":method", "GET /b"),
      Replaced(":method", ""),
      Replaced(":scheme", "http"),
      Replaced(":authority", "h.example\r\nx-b: 2"),
      Without(":path"),
      Without(":method"),
      Without(":scheme"),
      Without(":authority"),
  };
  for (const Fields& fields : table) {
    EXPECT_EQ(Outcome(fields), "malformed") << fields.back().name << " " << fields.back().value;
  }
}

TEST(H2HeadTest, WhatHttp11RefusesIsRefusedAlike) {
  const std::vector<std::pair<Fields, std::string>> table = {
      {Replaced(":path", "http://h.example/a"), "400"},
      {Replaced(":path", "*"), "400"},
      {Replaced(":path", "/a#b"), "400"},
      {Replaced(":path", "/a\\b"), "400"},
      {Replaced(":path", "/" + std::string(9000, 'a')), "414"},
      {Replaced(":method", "TRACE"), "405"},
      {Replaced(":method", "CONNECT"), "405"},
      {Replaced(":authority", "user@h.example"), "400"},
      {Replaced(":authority", "h.example:0443"), "400"},
      {With(kGet, {{"content-length", "+3"}}), "400"},
      {With(kGet, {{"content-length", "3"}, {"content-length", "3"}}), "400"},
      {With(kGet, {{"expect", "200-ok"}}), "417"},
      {With(kGet, Fields(120, {"x-a", "1"})), "431"},
  };
  for (const auto& [fields, status] : table) EXPECT_EQ(Outcome(fields), status) << status;
}

TEST(H2HeadTest, HostMayStandForAuthority) {
  EXPECT_EQ(Outcome(With(kGet, {{"host", "h.example"}})), "");
  EXPECT_EQ(Outcome(With(Without(":authority"), {{"host", "h.example"}})), "");
}

TEST(H2HeadTest, AResponse) {
  const auto read = ReadResponse({{":status", "204"}, {"x-a", "\xc3\xa9"}}, true, {});
  ASSERT_TRUE(std::holds_alternative<http::ResponseHead>(read));
  EXPECT_EQ(std::get<http::ResponseHead>(read).status, 204);
  const auto body = ReadResponse({{":status", "200"}}, false, {.method = "GET"});
  EXPECT_EQ(std::get<http::ResponseHead>(body).framing.kind, FramingKind::kChunked);
  const auto described =
      ReadResponse({{":status", "200"}, {"content-length", "7"}}, true, {.method = "HEAD"});
  EXPECT_EQ(std::get<http::ResponseHead>(described).described_length, 7u);
}

TEST(H2HeadTest, WhatIsNoResponse) {
  const std::vector<Fields> table = {
      {},
      {{":status", "20"}},
      {{":status", "600"}},
      {{":status", "101"}},
      {{":status", "200"}, {":path", "/"}},
      {{":status", "200"}, {"connection", "close"}},
      {{":status", "200"}, {"X-A", "1"}},
      {{":status", "200"}, {"content-length", "3"}},
      {{":status", "200 OK\r\nx-a: 1"}},
      {{":status", "204"}, {"content-length", "3"}},
  };
  for (const Fields& fields : table) {
    EXPECT_TRUE(std::holds_alternative<Malformed>(ReadResponse(fields, true, {.method = "GET"})));
  }
}

TEST(H2HeadTest, TrailersHaveNoPseudoHeaderFields) {
  const Fields trailers = {{"grpc-status", "0"}};
  EXPECT_EQ(std::get<Fields>(ReadTrailers(trailers)), trailers);
  EXPECT_TRUE(std::holds_alternative<Malformed>(ReadTrailers({{":status", "200"}})));
  EXPECT_TRUE(std::holds_alternative<Malformed>(ReadTrailers({{"connection", "close"}})));
}

TEST(H2HeadTest, ARequestIsSentAsHttp11WouldSendIt) {
  const auto read = ReadRequest(With(kGet, {{"x-a", "1"},
                                            {"x-forwarded-for", "1.2.3.4"},
                                            {"proxy-authorization", "x"},
                                            {"via", "1.1 x"}}),
                                false);
  const auto path = http::CanonicalizePath("/a", "b=c", {});
  const auto written =
      http::WriteRequestHead(std::get<http::RequestHead>(read), std::get<http::CanonicalPath>(path),
                             {.host = "h.example", .port = 8443});
  EXPECT_EQ(RequestFields(std::get<std::string>(written)), (Fields{{":method", "GET"},
                                                                   {":scheme", "https"},
                                                                   {":authority", "h.example:8443"},
                                                                   {":path", "/a?b=c"},
                                                                   {"x-a", "1"}}));
}

TEST(H2HeadTest, AResponseIsSentWithoutWhatIsAboutTheConnection) {
  EXPECT_EQ(
      ResponseFields("HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\n"
                     "Content-Length: 3\r\nConnection: close\r\n\r\n{}\n"),
      (Fields{{":status", "403"}, {"content-type", "application/json"}, {"content-length", "3"}}));
}

}  // namespace
}  // namespace odyssey::egress::h2
