#include "supervisor/wire/tool_wire.h"

#include <sys/socket.h>

#include <thread>

#include <gtest/gtest.h>

#include "common/os/unique_fd.h"

namespace odyssey::tool {
namespace {

Request SampleRequest() {
  return {.op = Op::kEdit,
          .path = "src/a.cc",
          .offset = 1,
          .max_bytes = 2,
          .content = "text",
          .old_text = std::string("old\0", 4),
          .new_text = "new",
          .mode = 0755,
          .replace_all = true,
          .edits = {{"a", "b", true}, {"c", "d"}},
          .directories = 3,
          .names = {"run_0000000000000001", "run_0000000000000002"}};
}

Response SampleResponse() {
  return {.code = Code::kNotFound,
          .error = "no such file",
          .content = "abc",
          .total_bytes = uint64_t{1} << 40,
          .next_offset = 3,
          .truncated = true,
          .bytes = 6,
          .created = true,
          .replacements = 4,
          .directories = 5,
          .runs = 64,
          .entries = {{"a", "d/a", "file", 9, 0755}, {"b", "d/b", "dir", 0, 0}}};
}

struct Pair {
  Pair() {
    int fds[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    a.reset(fds[0]);
    b.reset(fds[1]);
  }
  UniqueFd a, b;
};

TEST(ToolWireTest, DecodesWhatItEncodes) {
  Request request;
  ASSERT_TRUE(Decode(Encode(SampleRequest()), &request).ok());
  EXPECT_EQ(request, SampleRequest());
  Response response;
  ASSERT_TRUE(Decode(Encode(SampleResponse()), &response).ok());
  EXPECT_EQ(response, SampleResponse());
}

TEST(ToolWireTest, RefusesCutAndTrailingBytes) {
  const std::string request = Encode(SampleRequest());
  const std::string response = Encode(SampleResponse());
  Request request_out;
  Response response_out;
  for (size_t n = 0; n < request.size(); ++n) {
    EXPECT_FALSE(Decode(std::string_view(request).substr(0, n), &request_out).ok()) << n;
  }
  for (size_t n = 0; n < response.size(); ++n) {
    EXPECT_FALSE(Decode(std::string_view(response).substr(0, n), &response_out).ok()) << n;
  }
  EXPECT_FALSE(Decode(request + "x", &request_out).ok());
  EXPECT_FALSE(Decode(response + "x", &response_out).ok());
}

TEST(ToolWireTest, RefusesUnknownVersionOpAndCode) {
  Request request;
  std::string bytes = Encode(SampleRequest());
  bytes[0] = 2;
  EXPECT_FALSE(Decode(bytes, &request).ok());
  bytes = Encode(SampleRequest());
  bytes[1] = 13;
  EXPECT_FALSE(Decode(bytes, &request).ok());
  Response response;
  bytes = Encode(SampleResponse());
  bytes[1] = 17;
  EXPECT_FALSE(Decode(bytes, &response).ok());
}

TEST(ToolWireTest, RefusesContentAndListsOverTheirBounds) {
  Request request = SampleRequest();
  request.content.assign(kMaxContent + 1, 'x');
  EXPECT_FALSE(Decode(Encode(request), &request).ok());
  request = SampleRequest();
  request.names.resize(kMaxNames + 1);
  EXPECT_FALSE(Decode(Encode(request), &request).ok());
  request = SampleRequest();
  request.edits.resize(kMaxEdits + 1);
  EXPECT_FALSE(Decode(Encode(request), &request).ok());
  Response response = SampleResponse();
  response.entries.resize(kMaxListEntries + 1);
  EXPECT_FALSE(Decode(Encode(response), &response).ok());
}

TEST(ToolWireTest, CarriesFramesLargerThanTheSocketBuffer) {
  Pair pair;
  const std::string sent(4 * 1024 * 1024, 'x');
  std::thread writer([&] {
    EXPECT_TRUE(WriteFrame(pair.a.get(), sent).ok());
    EXPECT_TRUE(WriteFrame(pair.a.get(), "").ok());
  });
  const Result<std::string> first = ReadFrame(pair.b.get());
  const Result<std::string> second = ReadFrame(pair.b.get());
  writer.join();
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE(*first == sent);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(*second, "");
}

TEST(ToolWireTest, SaysWhenThePeerClosed) {
  Pair pair;
  ASSERT_EQ(send(pair.a.get(), "\5\0\0", 3, 0), 3);
  pair.a.reset();
  EXPECT_EQ(ReadFrame(pair.b.get()).status().code(), Code::kUnavailable);
  EXPECT_EQ(WriteFrame(pair.b.get(), "x").code(), Code::kUnavailable);
}

TEST(ToolWireTest, RefusesAFrameOverTheBoundBeforeReadingIt) {
  Pair pair;
  ASSERT_EQ(send(pair.a.get(), "\xff\xff\xff\xff", 4, 0), 4);
  EXPECT_EQ(ReadFrame(pair.b.get()).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(WriteFrame(pair.a.get(), std::string(kMaxFrame + 1, 'x')).code(),
            Code::kInvalidArgument);
}

}  // namespace
}  // namespace odyssey::tool
