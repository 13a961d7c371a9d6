#include "supervisor/rpc/root_client.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <vector>

namespace odyssey::supervisor {
namespace {

class RootClientTest : public ::testing::Test {
 protected:
  RootClientTest() {
    auto ends = MessageSocketPair();
    root_ = std::move(ends->first);
    client_ = std::make_unique<RootClient>(std::move(ends->second));
    client_->set_on_gone([this](const wire::Gone& gone) { gone_.push_back(gone.cell_id); });
  }
  UniqueFd root_;
  std::unique_ptr<RootClient> client_;
  std::vector<std::string> gone_;
};

TEST_F(RootClientTest, RootThatStopsIsToldFromOneThatDied) {
  ASSERT_TRUE(SendMessage(root_.get(), wire::Encode(wire::Gone{.cell_id = "cel_1"})).ok());
  shutdown(root_.get(), SHUT_WR);
  EXPECT_TRUE(client_->ReadOne().ok());  // what it said before counts
  EXPECT_EQ(gone_, std::vector<std::string>{"cel_1"});
  EXPECT_EQ(client_->ReadOne(), Cancelled("the supervisor was stopped"));
  root_.reset();
  EXPECT_EQ(client_->ReadOne(), Unavailable("receive message: peer closed"));
}

TEST_F(RootClientTest, RootThatBreaksTheProtocolIsNoStop) {
  ASSERT_TRUE(SendMessage(root_.get(), "?").ok());
  shutdown(root_.get(), SHUT_WR);
  EXPECT_EQ(client_->ReadOne().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace odyssey::supervisor
