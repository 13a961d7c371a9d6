#include "agentd/model/sse_parser.h"

#include <gtest/gtest.h>

#include <vector>

namespace odyssey::model {
namespace {

// The events of `stream`, pushed in pieces of `piece` bytes.
std::vector<std::string> Parse(std::string_view stream, size_t piece) {
  SseParser parser;
  std::vector<std::string> out;
  const SseParser::Sink sink = [&](std::string_view data) {
    out.emplace_back(data);
    return OkStatus();
  };
  for (size_t i = 0; i < stream.size(); i += piece) {
    EXPECT_TRUE(parser.Push(stream.substr(i, piece), sink).ok());
  }
  EXPECT_TRUE(parser.Finish(sink).ok());
  return out;
}

struct Case {
  const char* stream;
  std::vector<std::string> events;
};

TEST(SseParserTest, ReadsEveryLineEndAtEveryCut) {
  const std::vector<Case> cases = {
      {"data: a\n\ndata: b\n\n", {"a", "b"}},
      {"data: a\r\n\r\ndata: b\r\n\r\n", {"a", "b"}},
      {"data: a\r\rdata: b\r\r", {"a", "b"}},
      {"data:a\ndata:b\n\n", {"a\nb"}},
      {"data:  a\n\n", {" a"}},
      {": keep-alive\n\nevent: x\nid: 1\ndata: a\nretry: 5\n\n", {"a"}},
      {"data\n\n", {""}},
      {"data: last", {"last"}},
      {"\xEF\xBB\xBF"
       "data: a\n\n",
       {"a"}},
      {"database: a\n\n", {}},
      {"\n\n\n", {}},
      {"", {}},
  };
  for (const Case& c : cases) {
    for (const size_t piece : {1, 2, 3, 1000})
      EXPECT_EQ(Parse(c.stream, piece), c.events) << c.stream;
  }
}

TEST(SseParserTest, RefusesAnEndlessEvent) {
  SseParser parser;
  const SseParser::Sink sink = [](std::string_view) { return OkStatus(); };
  const std::string chunk(1024 * 1024, 'x');
  Status status = parser.Push("data: ", sink);
  for (int i = 0; i < 5 && status.ok(); ++i) status = parser.Push(chunk, sink);
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
}

TEST(SseParserTest, ReturnsTheSinksError) {
  SseParser parser;
  EXPECT_EQ(parser.Push("data: a\n\n", [](std::string_view) { return Internal("x"); }),
            Internal("x"));
}

}  // namespace
}  // namespace odyssey::model
