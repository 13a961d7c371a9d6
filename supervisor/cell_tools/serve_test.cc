#include "supervisor/cell_tools/serve.h"

#include <sys/socket.h>

#include <gtest/gtest.h>

#include <thread>

#include "supervisor/cell_tools/test_tree.h"
#include "supervisor/wire/tool_wire.h"

namespace odyssey::cell_tools {
namespace {

class ServeTest : public TestTree {
 protected:
  void SetUp() override {
    TestTree::SetUp();
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    client_.reset(ends[0]);
    server_.reset(ends[1]);
    thread_ = std::thread([this] { result_ = Serve(server_.get(), MakeReach()); });
  }

  // How the loop ended, after the client closed its end.
  Status Close() {
    client_.reset();
    thread_.join();
    return result_;
  }

  tool::Response Ask(std::string_view payload) {
    EXPECT_TRUE(tool::WriteFrame(client_.get(), payload).ok());
    const Result<std::string> frame = tool::ReadFrame(client_.get());
    EXPECT_TRUE(frame.ok()) << frame.status().ToString();
    tool::Response response;
    EXPECT_TRUE(tool::Decode(*frame, &response).ok());
    return response;
  }

  UniqueFd client_;

 private:
  UniqueFd server_;
  std::thread thread_;
  Status result_;
};

TEST_F(ServeTest, AnswersInOrderUntilThePeerCloses) {
  const auto wrote =
      Ask(tool::Encode(tool::Request{.op = tool::Op::kWrite, .path = "a", .content = "one"}));
  EXPECT_TRUE(wrote.created) << wrote.error;
  EXPECT_EQ(Ask(tool::Encode(tool::Request{.op = tool::Op::kRead, .path = "a"})).content, "one");
  EXPECT_EQ(Close(), OkStatus());
}

TEST_F(ServeTest, AnswersAMalformedRequestAndGoesOn) {
  EXPECT_EQ(Ask("\xFF garbage").code, Code::kInvalidArgument);
  EXPECT_EQ(Ask(tool::Encode(tool::Request{.op = tool::Op::kList})).code, Code::kOk);
  EXPECT_EQ(Close(), OkStatus());
}

TEST_F(ServeTest, EndsOnAFrameThatIsTooLong) {
  const unsigned char length[4] = {0xFF, 0xFF, 0xFF, 0xFF};
  ASSERT_EQ(send(client_.get(), length, sizeof(length), MSG_NOSIGNAL), 4);
  EXPECT_EQ(Close().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace odyssey::cell_tools
