#include "supervisor/egress/http/response_head.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>

namespace odyssey::egress::http {
namespace {

const Asked kGet = {.method = "GET"};

ResponseHead Read(const std::string& bytes, const Asked& asked = kGet) {
  const auto parsed = ParseResponseHead(bytes, asked);
  const auto* error = std::get_if<ParseError>(&parsed);
  EXPECT_EQ(error, nullptr) << bytes << (error != nullptr ? error->reason : "");
  const auto* head = std::get_if<ResponseHead>(&parsed);
  return head != nullptr ? *head : ResponseHead{};
}

bool IsRefused(const std::string& bytes, const Asked& asked) {
  const auto parsed = ParseResponseHead(bytes, asked);
  const auto* error = std::get_if<ParseError>(&parsed);
  return error != nullptr && error->status == 502;
}

std::string Head(const std::string& status, const std::string& lines) {
  return "HTTP/1.1 " + status + "\r\n" + lines + "\r\n";
}

TEST(ResponseHeadTest, IsTakenApart) {
  const std::string bytes = Head("404 Not Found", "A:  b\r\nContent-Length: 3\r\n");
  const ResponseHead head = Read(bytes + "abc");
  EXPECT_EQ(head.size, bytes.size());
  EXPECT_EQ(head.status, 404);
  EXPECT_EQ(head.reason, "Not Found");
  EXPECT_EQ(head.fields, (Fields{{"A", "b"}, {"Content-Length", "3"}}));
  EXPECT_EQ(head.framing, (Framing{.kind = FramingKind::kLength, .length = 3}));
  EXPECT_FALSE(head.close);
}

TEST(ResponseHeadTest, FramingDependsOnTheRequestAndTheStatus) {
  const std::string length = "Content-Length: 3\r\n", chunks = "Transfer-Encoding: chunked\r\n";
  EXPECT_EQ(Read(Head("200 OK", chunks)).framing.kind, FramingKind::kChunked);
  EXPECT_EQ(Read(Head("200 OK", "")).framing.kind, FramingKind::kUntilClose);
  EXPECT_TRUE(Read(Head("200 OK", "")).close);
  for (const std::string& lines : {length, chunks, std::string()}) {
    for (const ResponseHead& head :
         {Read(Head("200 OK", lines), {.method = "HEAD"}), Read(Head("304 Same", lines))}) {
      EXPECT_EQ(head.framing, Framing{});
      EXPECT_EQ(head.described_length.has_value(), lines == length);
      EXPECT_FALSE(head.close);
    }
  }
  EXPECT_EQ(Read(Head("204 None", "Content-Length: 0\r\n")).framing, Framing{});
  EXPECT_EQ(Read(Head("100 Continue", "")).framing, Framing{});
  EXPECT_FALSE(Read(Head("100 Continue", "")).close);
}

TEST(ResponseHeadTest, Http10Closes) {
  EXPECT_TRUE(Read("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\n").close);
  EXPECT_TRUE(Read(Head("200 OK", "Connection: Close\r\nContent-Length: 3\r\n")).close);
}

TEST(ResponseHeadTest, AnInformationalFloodIsCapped) {
  Asked asked = kGet;
  const std::string hints = Head("103 Early Hints", "Link: x\r\n");
  for (; asked.informational < kMaxInformational; ++asked.informational) {
    EXPECT_EQ(Read(hints, asked).status, 103);
  }
  EXPECT_TRUE(IsRefused(hints, asked));
  EXPECT_EQ(Read(Head("200 OK", ""), asked).status, 200);
}

TEST(ResponseHeadTest, ASwitchOfProtocolsIsWhatWasAskedFor) {
  const Asked websocket = {.method = "GET", .websocket = true};
  const std::string lines = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
  EXPECT_EQ(Read(Head("101 Switching", lines), websocket).status, 101);
  EXPECT_TRUE(IsRefused(Head("101 Switching", lines), kGet));
  EXPECT_TRUE(IsRefused(Head("101 Switching", ""), websocket));
  EXPECT_TRUE(IsRefused(Head("101 Switching", "Upgrade: websocket\r\n"), websocket));
  EXPECT_TRUE(
      IsRefused(Head("101 Switching", "Connection: Upgrade\r\nUpgrade: h2c\r\n"), websocket));
  EXPECT_TRUE(IsRefused(Head("101 Switching", lines + "Content-Length: 5\r\n"), websocket));
}

TEST(ResponseHeadTest, PiecesGiveWhatTheWholeGives) {
  const std::string bytes = Head("200 OK", "Content-Length: 3\r\nA: \xc3\xa4\r\n");
  HeadScanner scanner(ObsText::kAllow);
  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto piece = ParseResponseHead(bytes.substr(0, size), kGet, &scanner);
    EXPECT_TRUE(std::holds_alternative<NeedMore>(piece)) << size;
  }
  EXPECT_EQ(std::get<ResponseHead>(ParseResponseHead(bytes + "abc", kGet, &scanner)), Read(bytes));
}

}  // namespace
}  // namespace odyssey::egress::http
