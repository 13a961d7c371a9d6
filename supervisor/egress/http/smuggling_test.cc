// The attacks on framing, targets and fields, each with its bytes: what is refused, with which
// status.

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "supervisor/egress/http/body.h"
#include "supervisor/egress/http/forward.h"
#include "supervisor/egress/http/path.h"
#include "supervisor/egress/http/request_head.h"
#include "supervisor/egress/http/response_head.h"

namespace odyssey::egress::http {
namespace {

using std::string_literals::operator""s;

// 0: accepted; -1: more is needed.
template <typename T>
int StatusOf(const Parsed<T>& parsed) {
  if (std::holds_alternative<NeedMore>(parsed)) return -1;
  const auto* error = std::get_if<ParseError>(&parsed);
  return error != nullptr ? error->status : 0;
}

// The same bytes, one more at each call.
template <typename Parse>
int StatusByteByByte(const std::string& bytes, HeadScanner scanner, Parse parse) {
  int status = -1;
  for (size_t size = 0; size <= bytes.size() && status == -1; ++size) {
    status = StatusOf(parse(std::string_view(bytes).substr(0, size), &scanner));
  }
  return status;
}

int RequestStatus(const std::string& bytes, Role role) {
  const int whole = StatusOf(ParseRequestHead(bytes, role));
  const int pieces = StatusByteByByte(bytes, HeadScanner(ObsText::kRefuse),
                                      [&](std::string_view piece, HeadScanner* scanner) {
                                        return ParseRequestHead(piece, role, scanner);
                                      });
  EXPECT_EQ(whole, pieces) << bytes;
  return whole;
}

int ResponseStatus(const std::string& bytes, const Asked& asked) {
  const int whole = StatusOf(ParseResponseHead(bytes, asked));
  const int pieces = StatusByteByByte(bytes, HeadScanner(ObsText::kAllow),
                                      [&](std::string_view piece, HeadScanner* scanner) {
                                        return ParseResponseHead(piece, asked, scanner);
                                      });
  EXPECT_EQ(whole, pieces) << bytes;
  return whole;
}

struct Row {
  std::string attack;
  std::string bytes;
  int status;
};

// A request of a client in a tunnel, with these lines behind Host.
std::string Get(const std::string& lines) {
  return "GET /a HTTP/1.1\r\nHost: h.example\r\n" + lines + "\r\n";
}
std::string Post(const std::string& lines) {
  return "POST /a HTTP/1.1\r\nHost: h.example\r\n" + lines + "\r\n";
}

TEST(SmugglingTest, FramingIsReadInOneWay) {
  const std::vector<Row> rows = {
      {"none", Post(""), 0},
      {"a length", Post("Content-Length: 5\r\n"), 0},
      {"a length of zero", Post("Content-Length: 0\r\n"), 0},
      {"chunked", Post("Transfer-Encoding: chunked\r\n"), 0},
      {"chunked in another case", Post("transfer-encoding: Chunked\r\n"), 0},
      {"CL+TE", Post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"), 400},
      {"TE+CL", Post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"), 400},
      {"CL 0 + TE", Post("Content-Length: 0\r\nTransfer-Encoding: chunked\r\n"), 400},
      {"two CL", Post("Content-Length: 5\r\nContent-Length: 6\r\n"), 400},
      {"two equal CL", Post("Content-Length: 5\r\ncontent-length: 5\r\n"), 400},
      {"CL list", Post("Content-Length: 5, 5\r\n"), 400},
      {"CL list of other lengths", Post("Content-Length: 5,6\r\n"), 400},
      {"CL +", Post("Content-Length: +5\r\n"), 400},
      {"CL -", Post("Content-Length: -5\r\n"), 400},
      {"CL with a space", Post("Content-Length: 5 5\r\n"), 400},
      {"CL hexadecimal", Post("Content-Length: 0x5\r\n"), 400},
      {"CL octal", Post("Content-Length: 010\r\n"), 400},
      {"CL empty", Post("Content-Length:\r\n"), 400},
      {"CL fraction", Post("Content-Length: 5.0\r\n"), 400},
      {"CL in quotes", Post("Content-Length: \"5\"\r\n"), 400},
      {"CL above 2^62", Post("Content-Length: 4611686018427387905\r\n"), 400},
      {"CL above 2^64", Post("Content-Length: 18446744073709551621\r\n"), 400},
      {"CL with a vertical tab", Post("Content-Length: \v5\r\n"), 400},
      {"TE list", Post("Transfer-Encoding: gzip, chunked\r\n"), 400},
      {"TE twice in one", Post("Transfer-Encoding: chunked, chunked\r\n"), 400},
      {"two TE", Post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 400},
      {"two TE, one unknown", Post("Transfer-Encoding: chunked\r\nTransfer-encoding: x\r\n"), 400},
      {"TE with a comma", Post("Transfer-Encoding: chunked,\r\n"), 400},
      {"TE with a comma before", Post("Transfer-Encoding: ,chunked\r\n"), 400},
      {"TE not final", Post("Transfer-Encoding: chunked, gzip\r\n"), 400},
      {"TE identity", Post("Transfer-Encoding: identity\r\n"), 400},
      {"TE xchunked", Post("Transfer-Encoding: xchunked\r\n"), 400},
      {"TE with a parameter", Post("Transfer-Encoding: chunked;q=1\r\n"), 400},
      {"TE in quotes", Post("Transfer-Encoding: \"chunked\"\r\n"), 400},
      {"TE empty", Post("Transfer-Encoding:\r\n"), 400},
      {"TE with a vertical tab", Post("Transfer-Encoding: \vchunked\r\n"), 400},
      {"TE with CL, TE unknown", Post("Content-Length: 5\r\nTransfer-Encoding: chunked,\r\n"), 400},
      {"TE in 1.0", "POST / HTTP/1.0\r\nHost: h.example\r\nTransfer-Encoding: chunked\r\n\r\n",
       400},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(RequestStatus(row.bytes, Role::kOrigin), row.status) << row.attack;
  }
}

TEST(SmugglingTest, LinesAndFieldsHaveOneReading) {
  const std::vector<Row> rows = {
      {"white space around a value", Get("A: \t b \t\r\n"), 0},
      {"an empty value", Get("A:\r\n"), 0},
      {"space before the colon", Get("Transfer-Encoding : chunked\r\n"), 400},
      {"tab before the colon", Get("Content-Length\t: 5\r\n"), 400},
      {"obs-fold with a space", Get("A: b\r\n c\r\n"), 400},
      {"obs-fold with a tab", Get("Transfer-Encoding:\r\n\tchunked\r\n"), 400},
      {"a first field that begins with a space", "GET / HTTP/1.1\r\n Host: h.example\r\n\r\n", 400},
      {"bare LF behind a field", Get("A: b\nContent-Length: 5\r\n"), 400},
      {"bare LF behind the first line", "GET / HTTP/1.1\nHost: h.example\r\n\r\n", 400},
      {"bare LF for the empty line", "GET / HTTP/1.1\r\nHost: h.example\r\n\n", 400},
      {"only LF", "GET / HTTP/1.1\nHost: h.example\n\n", 400},
      {"bare CR in a value", Get("A: b\rContent-Length: 5\r\n"), 400},
      {"CR CR LF", Get("A: b\r\r\n"), 400},
      {"CR in the first line", "GET /\r HTTP/1.1\r\nHost: h.example\r\n\r\n", 400},
      {"NUL in a value", Get("A: b\0c\r\n"s), 400},
      {"NUL in a name", Get("A\0: b\r\n"s), 400},
      {"control in a value", Get("A: \x01\r\n"), 400},
      {"control in a name", Get("A\x01: b\r\n"), 400},
      {"DEL in a value", Get("A: \x7f\r\n"), 400},
      {"escape in a value", Get("A: \x1b[0m\r\n"), 400},
      {"obs-text in a value", Get("A: \xc3\xa4\r\n"), 400},
      {"obs-text in a name", Get("\xc3\xa4: b\r\n"), 400},
      {"obs-text in the target", "GET /\xc3\xa4 HTTP/1.1\r\nHost: h.example\r\n\r\n", 400},
      {"no colon", Get("Content-Length 5\r\n"), 400},
      {"no name", Get(": b\r\n"), 400},
      {"a space in a name", Get("A B: c\r\n"), 400},
      {"a name in parentheses", Get("(A): c\r\n"), 400},
      {"an empty line first", "\r\nGET / HTTP/1.1\r\nHost: h.example\r\n\r\n", 400},
      {"white space first", " GET / HTTP/1.1\r\nHost: h.example\r\n\r\n", 400},
      {"two spaces", "GET  / HTTP/1.1\r\nHost: h.example\r\n\r\n", 400},
      {"a tab for a space", "GET\t/ HTTP/1.1\r\nHost: h.example\r\n\r\n", 400},
      {"a space behind the version", "GET / HTTP/1.1 \r\nHost: h.example\r\n\r\n", 400},
      {"no version", "GET /\r\nHost: h.example\r\n\r\n", 400},
      {"HTTP/0.9", "GET / HTTP/0.9\r\nHost: h.example\r\n\r\n", 400},
      {"HTTP/1.2", "GET / HTTP/1.2\r\nHost: h.example\r\n\r\n", 400},
      {"HTTP/01.1", "GET / HTTP/01.1\r\nHost: h.example\r\n\r\n", 400},
      {"http/1.1", "GET / http/1.1\r\nHost: h.example\r\n\r\n", 400},
      {"HTTP/2.0", "GET / HTTP/2.0\r\nHost: h.example\r\n\r\n", 400},
      {"the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400},
      {"a method that is no word", "G(T / HTTP/1.1\r\nHost: h.example\r\n\r\n", 400},
      {"no method", "/ HTTP/1.1\r\nHost: h.example\r\n\r\n", 400},
      {"TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc"s, 400},
      {"TRACE", "TRACE / HTTP/1.1\r\nHost: h.example\r\n\r\n", 405},
      {"TRACK", "TRACK / HTTP/1.1\r\nHost: h.example\r\n\r\n", 405},
      {"trace", "trace / HTTP/1.1\r\nHost: h.example\r\n\r\n", 405},
      {"get stays as it is", "get / HTTP/1.1\r\nHost: h.example\r\n\r\n", 0},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(RequestStatus(row.bytes, Role::kOrigin), row.status) << row.attack;
  }
}

TEST(SmugglingTest, HostIsTheTarget) {
  const auto with = [](const std::string& first, const std::string& lines) {
    return first + " HTTP/1.1\r\n" + lines + "\r\n";
  };
  const std::string connect = "CONNECT h.example:443", absolute = "GET http://h.example/a";
  const std::vector<Row> rows = {
      {"CONNECT", with(connect, "Host: h.example:443\r\n"), 0},
      {"CONNECT, Host without a port", with(connect, "Host: h.example\r\n"), 0},
      {"CONNECT, Host in another case", with(connect, "Host: H.EXAMPLE.:443\r\n"), 0},
      {"CONNECT in 1.0", "CONNECT h.example:443 HTTP/1.0\r\n\r\n", 0},
      {"CONNECT with CL 0", with(connect, "Host: h.example\r\nContent-Length: 0\r\n"), 0},
      {"absolute", with(absolute, "Host: h.example\r\n"), 0},
      {"absolute, Host with port 80", with(absolute, "Host: h.example:80\r\n"), 0},
      {"absolute in 1.0", "GET http://h.example/ HTTP/1.0\r\n\r\n", 0},
      {"CONNECT, another Host", with(connect, "Host: other.example:443\r\n"), 400},
      {"CONNECT, another port", with(connect, "Host: h.example:80\r\n"), 400},
      {"CONNECT in 1.0, another Host", "CONNECT h.example:443 HTTP/1.0\r\nHost: o.example\r\n\r\n",
       400},
      {"CONNECT with a body", with(connect, "Host: h.example\r\nContent-Length: 5\r\n"), 400},
      {"CONNECT with chunks", with(connect, "Host: h.example\r\nTransfer-Encoding: chunked\r\n"),
       400},
      {"absolute, another Host", with(absolute, "Host: other.example\r\n"), 400},
      {"absolute, another port", with(absolute, "Host: h.example:8080\r\n"), 400},
      {"absolute with a port, Host without",
       with("GET http://h.example:8080/", "Host: h.example\r\n"), 400},
      {"two Host", with(absolute, "Host: h.example\r\nHost: h.example\r\n"), 400},
      {"two Host in other cases", with(absolute, "Host: h.example\r\nhOST: o.example\r\n"), 400},
      {"no Host", with(absolute, ""), 400},
      {"no Host with CONNECT", with(connect, ""), 400},
      {"Host empty", with(absolute, "Host:\r\n"), 400},
      {"Host list", with(absolute, "Host: h.example, o.example\r\n"), 400},
      {"Host with a path", with(absolute, "Host: h.example/a\r\n"), 400},
      {"Host with userinfo", with(absolute, "Host: u@h.example\r\n"), 400},
      {"Host with space before the colon", with(absolute, "Host : h.example\r\n"), 400},
      {"NUL in Host (evil\\0.google.com)", with(absolute, "Host: h.example\0.o.example\r\n"s), 400},
      {"NUL in CONNECT", with("CONNECT evil\0.google.com:443"s, "Host: h.example\r\n"), 400},
      {"encoded NUL in CONNECT", with("CONNECT evil%00.google.com:443", "Host: h\r\n"), 400},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(RequestStatus(row.bytes, Role::kProxy), row.status) << row.attack;
  }
}

TEST(SmugglingTest, TargetsHaveTheFormOfTheirRole) {
  struct Target {
    Role role;
    std::string method_and_target;
    int status;
  };
  const std::vector<Target> rows = {
      {Role::kProxy, "GET http://h.example/a?b=c", 0},
      {Role::kProxy, "GET HTTP://h.example", 0},
      {Role::kProxy, "OPTIONS *", 0},
      {Role::kProxy, "GET /a", 400},
      {Role::kProxy, "GET h.example:80", 400},
      {Role::kProxy, "GET *", 400},
      {Role::kProxy, "connect h.example:80", 400},
      {Role::kProxy, "GET https://h.example/a", 400},
      {Role::kProxy, "GET ftp://h.example/a", 400},
      {Role::kProxy, "GET http:/h.example/a", 400},
      {Role::kProxy, "GET http:///a", 400},
      {Role::kProxy, "GET http://", 400},
      {Role::kProxy, "GET //h.example/a", 400},
      {Role::kProxy, "GET http://u:p@h.example/", 400},
      {Role::kProxy, "GET http://o.example@h.example/", 400},
      {Role::kProxy, "GET http://h.example#@o.example/", 400},
      {Role::kProxy, "GET http://h.example\\@o.example/", 400},
      {Role::kProxy, "GET http://h.example/a#b", 400},
      {Role::kProxy, "GET http://h.example/a\\b", 400},
      {Role::kProxy, "GET http://h.example/a b", 400},
      {Role::kProxy, "GET http://h.example/a\tb", 400},
      {Role::kProxy, "GET http://h.example:/", 400},
      {Role::kProxy, "GET http://h.example:080/", 400},
      {Role::kProxy, "GET http://h.example:+80/", 400},
      {Role::kProxy, "GET http://h.example:80:80/", 400},
      {Role::kProxy, "GET http://h.example:0/", 400},
      {Role::kProxy, "GET http://h.example:65536/", 400},
      {Role::kProxy, "GET http://*.h.example/", 400},
      {Role::kProxy, "CONNECT *", 400},
      {Role::kProxy, "CONNECT h.example", 400},
      {Role::kProxy, "CONNECT http://h.example:443", 400},
      {Role::kProxy, "CONNECT h.example:443/", 400},
      {Role::kProxy, "CONNECT h.example:0443", 400},
      {Role::kProxy, "CONNECT h.example:+443", 400},
      {Role::kProxy, "CONNECT h.example:", 400},
      {Role::kProxy, "CONNECT h.example:1:2", 400},
      {Role::kProxy, "CONNECT h.example:65979", 400},
      {Role::kProxy, "CONNECT :443", 400},
      {Role::kProxy, "CONNECT /a", 400},
      {Role::kOrigin, "GET /a?b=c", 0},
      {Role::kOrigin, "OPTIONS *", 0},
      {Role::kOrigin, "GET *", 400},
      {Role::kOrigin, "GET http://h.example/a", 400},
      {Role::kOrigin, "GET a", 400},
      {Role::kOrigin, "GET ?a", 400},
      {Role::kOrigin, "GET @o.example/", 400},
      {Role::kOrigin, "GET /a#b", 400},
      {Role::kOrigin, "GET /a\\b", 400},
      {Role::kOrigin, "CONNECT h.example:443", 400},
      {Role::kOrigin, "CONNECT /a", 400},
  };
  for (const Target& row : rows) {
    const std::string bytes = row.method_and_target + " HTTP/1.1\r\nHost: h.example\r\n\r\n";
    EXPECT_EQ(RequestStatus(bytes, row.role), row.status) << row.method_and_target;
  }
}

TEST(SmugglingTest, ConnectionRemovesNoFieldOfTheRequest) {
  const std::vector<Row> rows = {
      {"close", Get("Connection: close\r\n"), 0},
      {"known names", Get("Connection: keep-alive, TE, Upgrade, HTTP2-Settings\r\n"), 0},
      {"authorization", Get("Connection: authorization, host\r\n"), 400},
      {"in a second field", Get("Connection: close\r\nConnection: X-Api-Key\r\n"), 400},
      {"content-length", Get("Connection: Content-Length\r\n"), 400},
      {"transfer-encoding", Get("Connection: close, Transfer-Encoding\r\n"), 400},
      {"in quotes", Get("Connection: \"close\"\r\n"), 400},
      {"expectation", Get("Expect: 100-Continue\r\n"), 0},
      {"an unknown expectation", Get("Expect: 200-ok\r\n"), 417},
      {"two expectations", Get("Expect: 100-continue\r\nExpect: 100-continue\r\n"), 417},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(RequestStatus(row.bytes, Role::kOrigin), row.status) << row.attack;
  }
}

TEST(SmugglingTest, HeadsAreBounded) {
  const auto fields = [](size_t count) {
    std::string lines;
    for (size_t i = 0; i < count; ++i) lines += "A: b\r\n";
    return lines;
  };
  const auto target = [](size_t size) {
    return "GET /" + std::string(size - 1, 'a') + " HTTP/1.1\r\nHost: h.example\r\n\r\n";
  };
  const auto head = [](size_t size) {
    return Get("A: " + std::string(size - Get("A: \r\n").size(), 'b') + "\r\n");
  };
  const std::vector<Row> rows = {
      {"100 fields", Get(fields(99)), 0},
      {"101 fields", Get(fields(100)), 431},
      {"a target of 8 KiB", target(kMaxTargetBytes), 0},
      {"a longer target", target(kMaxTargetBytes + 1), 414},
      {"a first line without an end", std::string(kMaxHeadBytes, 'a'), 414},
      {"a head of 64 KiB", head(kMaxHeadBytes), 0},
      {"a longer head", head(kMaxHeadBytes + 1), 431},
      {"a field without an end", "GET / HTTP/1.1\r\nA: " + std::string(kMaxHeadBytes, 'a'), 431},
      {"a head that is not whole", head(kMaxHeadBytes).substr(0, kMaxHeadBytes - 1), -1},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(StatusOf(ParseRequestHead(row.bytes, Role::kOrigin)), row.status) << row.attack;
  }
}

TEST(SmugglingTest, PipelinedRequestsAreReadOneByOne) {
  const std::string allowed = Get(""), denied = "DELETE /b HTTP/1.1\r\nHost: h.example\r\n\r\n";
  const std::string bytes = allowed + denied;
  const auto first = ParseRequestHead(bytes, Role::kOrigin);
  ASSERT_EQ(StatusOf(first), 0);
  const size_t size = std::get<RequestHead>(first).size;
  ASSERT_EQ(size, allowed.size());
  const auto second = ParseRequestHead(std::string_view(bytes).substr(size), Role::kOrigin);
  ASSERT_EQ(StatusOf(second), 0);
  EXPECT_EQ(std::get<RequestHead>(second).method, "DELETE");

  // What is behind the head has no influence on it: early bytes of TLS, or anything else.
  for (const std::string& rest : {"\x16\x03\x01\0"s, "\n\r\0"s, " fold: x\r\n\r\n"s}) {
    EXPECT_EQ(ParseRequestHead(allowed + rest, Role::kOrigin), first);
  }
}

TEST(SmugglingTest, ChunksHaveOneReading) {
  struct Chunks {
    std::string attack;
    std::string bytes;
    BodyReader::State state;
  };
  using State = BodyReader::State;
  const std::string end = "0\r\n\r\n";
  const std::vector<Chunks> rows = {
      {"a body", "5\r\nhello\r\n" + end, State::kEnd},
      {"hexadecimal", "A\r\n0123456789\r\n" + end, State::kEnd},
      {"an extension", "1;a=b;c=\"d\"\r\nx\r\n0;e\r\n\r\n", State::kEnd},
      {"a trailer", "0\r\nA: b\r\nC:\r\n\r\n", State::kEnd},
      {"LF behind a size", "5\nhello\r\n" + end, State::kError},
      {"LF behind a chunk", "5\r\nhello\n" + end, State::kError},
      {"LF behind the last chunk", "0\n\n", State::kError},
      {"LF at the end", "0\r\n\n", State::kError},
      {"LF in an extension", "1;a\nx\r\n" + end, State::kError},
      {"CR in an extension", "1;a\rb\r\nx\r\n" + end, State::kError},
      {"NUL in an extension", "1;\0\r\nx\r\n"s + end, State::kError},
      {"a chunk longer than its size", "1\r\nxx\r\n" + end, State::kError},
      {"no size", "\r\nx\r\n" + end, State::kError},
      {"0x", "0x5\r\nhello\r\n" + end, State::kError},
      {"a sign", "+5\r\nhello\r\n" + end, State::kError},
      {"a minus", "-1\r\n" + end, State::kError},
      {"a space before", " 5\r\nhello\r\n" + end, State::kError},
      {"a space behind", "5 \r\nhello\r\n" + end, State::kError},
      {"no hexadecimal digit", "g\r\n" + end, State::kError},
      {"2^64", "10000000000000000\r\n", State::kError},
      {"2^64 - 1", "ffffffffffffffff\r\n", State::kError},
      {"2^62 + 1", "4000000000000001\r\n", State::kError},
      {"17 digits", "00000000000000005\r\nhello\r\n" + end, State::kError},
      {"4 KiB of extensions", "1;" + std::string(kMaxExtensionBytes, 'a') + "\r\n", State::kMore},
      {"more extensions", "1;" + std::string(kMaxExtensionBytes + 1, 'a'), State::kError},
      {"8 KiB of trailers", "0\r\nA:" + std::string(kMaxTrailerBytes, 'a'), State::kError},
      {"a trailer that is a request", "0\r\nGET / HTTP/1.1\r\n\r\n", State::kError},
      {"a trailer with obs-fold", "0\r\nA: b\r\n c\r\n\r\n", State::kError},
      {"a trailer with space before the colon", "0\r\nA : b\r\n\r\n", State::kError},
      {"a trailer with LF", "0\r\nA: b\n\r\n", State::kError},
      {"a trailer with NUL", "0\r\nA: \0\r\n\r\n"s, State::kError},
      {"a trailer without a name", "0\r\n: b\r\n\r\n", State::kError},
  };
  for (const Chunks& row : rows) {
    for (const size_t piece : {row.bytes.size(), size_t{1}}) {
      BodyReader reader({.kind = FramingKind::kChunked});
      BodyReader::Step step;
      for (size_t at = 0; at < row.bytes.size();) {
        step = reader.Read(std::string_view(row.bytes).substr(at, piece));
        at += step.taken;
        if (step.state == State::kEnd || step.state == State::kError) break;
      }
      EXPECT_EQ(step.state, row.state) << row.attack << " in pieces of " << piece;
    }
  }
}

TEST(SmugglingTest, ExtensionsAreCappedOverAllChunks) {
  BodyReader reader({.kind = FramingKind::kChunked});
  const std::string chunk = "1;" + std::string(100, 'a') + "\r\nx\r\n";
  size_t chunks = 0;
  for (BodyReader::Step step; step.state != BodyReader::State::kError && chunks < 1000; ++chunks) {
    for (size_t at = 0; at < chunk.size() && step.state != BodyReader::State::kError;) {
      step = reader.Read(std::string_view(chunk).substr(at));
      at += step.taken;
    }
  }
  EXPECT_EQ(chunks, kMaxExtensionBytes / 100 + 1);
}

TEST(SmugglingTest, ResponsesOfServersAreRefusedToo) {
  const auto ok = [](const std::string& lines) { return "HTTP/1.1 200 OK\r\n" + lines + "\r\n"; };
  const std::vector<Row> rows = {
      {"a response", ok("Content-Length: 5\r\n"), 0},
      {"until close", ok(""), 0},
      {"no reason", "HTTP/1.1 200\r\n\r\n", 0},
      {"an empty reason", "HTTP/1.1 200 \r\n\r\n", 0},
      {"obs-text in a value", ok("Content-Disposition: attachment; filename=\xc3\xa4\r\n"), 0},
      {"CL+TE", ok("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"), 502},
      {"two CL", ok("Content-Length: 5\r\nContent-Length: 5\r\n"), 502},
      {"CL list", ok("Content-Length: 5, 5\r\n"), 502},
      {"TE list", ok("Transfer-Encoding: gzip, chunked\r\n"), 502},
      {"TE in 1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", 502},
      {"space before the colon", ok("Content-Length : 5\r\n"), 502},
      {"obs-fold", ok("A: b\r\n c\r\n"), 502},
      {"bare LF", "HTTP/1.1 200 OK\nContent-Length: 5\r\n\r\n", 502},
      {"bare CR", ok("A: b\rc\r\n"), 502},
      {"NUL", ok("A: \0\r\n"s), 502},
      {"HTTP/0.9", "<html>\r\n\r\n", 502},
      {"HTTP/2", "HTTP/2 200 OK\r\n\r\n", 502},
      {"status of two digits", "HTTP/1.1 20 OK\r\n\r\n", 502},
      {"status of four digits", "HTTP/1.1 2000 OK\r\n\r\n", 502},
      {"status 600", "HTTP/1.1 600 OK\r\n\r\n", 502},
      {"status 099", "HTTP/1.1 099 OK\r\n\r\n", 502},
      {"status with a sign", "HTTP/1.1 +20 OK\r\n\r\n", 502},
      {"no space", "HTTP/1.1200 OK\r\n\r\n", 502},
      {"an unsolicited 101", "HTTP/1.1 101 S\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
       502},
      {"204 with a body", "HTTP/1.1 204 N\r\nContent-Length: 5\r\n\r\n", 502},
      {"204 with chunks", "HTTP/1.1 204 N\r\nTransfer-Encoding: chunked\r\n\r\n", 502},
      {"100 with a body", "HTTP/1.1 100 C\r\nContent-Length: 5\r\n\r\n", 502},
      {"100 in 1.0", "HTTP/1.0 100 C\r\n\r\n", 502},
      {"a longer head", ok("A: " + std::string(kMaxHeadBytes, 'a') + "\r\n"), 502},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(ResponseStatus(row.bytes, {.method = "GET"}), row.status) << row.attack;
  }
}

}  // namespace
}  // namespace odyssey::egress::http
