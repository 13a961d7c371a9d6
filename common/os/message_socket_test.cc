#include "common/os/message_socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <string.h>
#include <sys/socket.h>

#include <filesystem>

namespace odyssey {
namespace {

long OpenDescriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

class MessageSocketTest : public ::testing::Test {
 protected:
  MessageSocketTest() {
    auto pair = MessageSocketPair();
    one_ = std::move(pair->first);
    other_ = std::move(pair->second);
  }
  void DoNotBlock() { fcntl(other_.get(), F_SETFL, O_NONBLOCK); }

  UniqueFd one_, other_;
};

TEST_F(MessageSocketTest, KeepsTheBordersOfMessages) {
  ASSERT_TRUE(SendMessage(one_.get(), "first").ok());
  ASSERT_TRUE(SendMessage(one_.get(), "second").ok());
  EXPECT_EQ(ReceiveMessage(other_.get())->bytes, "first");
  EXPECT_EQ(ReceiveMessage(other_.get())->bytes, "second");
}

TEST_F(MessageSocketTest, CarriesDescriptorsCloseOnExec) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const UniqueFd reader(ends[0]), writer(ends[1]);
  ASSERT_TRUE(SendMessage(one_.get(), "x", {writer.get(), reader.get()}).ok());
  const auto message = ReceiveMessage(other_.get());
  ASSERT_EQ(message->fds.size(), 2u);
  EXPECT_EQ(fcntl(message->fds[0].get(), F_GETFD), FD_CLOEXEC);
  ASSERT_EQ(write(message->fds[0].get(), "y", 1), 1);
  char byte = 0;
  EXPECT_EQ(read(reader.get(), &byte, 1), 1);
  EXPECT_EQ(byte, 'y');
}

TEST_F(MessageSocketTest, TheLargestMessagePassesAndALargerOneIsRefused) {
  ASSERT_TRUE(SendMessage(one_.get(), std::string(kMaxMessageBytes, 'x')).ok());
  EXPECT_EQ(ReceiveMessage(other_.get())->bytes.size(), kMaxMessageBytes);
  ASSERT_TRUE(SendMessage(one_.get(), std::string(kMaxMessageBytes + 1, 'x')).ok());
  EXPECT_EQ(ReceiveMessage(other_.get()).status().code(), Code::kInvalidArgument);
}

TEST_F(MessageSocketTest, TooManyDescriptorsAreRefusedAndNoneIsKept) {
  const long before = OpenDescriptors();
  constexpr size_t kMany = kMaxMessageFds + 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMany)] = {};
  iovec iov{const_cast<char*>("x"), 1};
  msghdr header{};
  header.msg_iov = &iov;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof(control);
  cmsghdr* cmsg = CMSG_FIRSTHDR(&header);
  cmsg->cmsg_level = SOL_SOCKET;
  cmsg->cmsg_type = SCM_RIGHTS;
  cmsg->cmsg_len = CMSG_LEN(sizeof(int) * kMany);
  const int fds[kMany] = {};
  memcpy(CMSG_DATA(cmsg), fds, sizeof(fds));
  ASSERT_EQ(sendmsg(one_.get(), &header, 0), 1);
  EXPECT_EQ(ReceiveMessage(other_.get()).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(OpenDescriptors(), before);
}

TEST_F(MessageSocketTest, AClosedPeerIsUnavailable) {
  one_.reset();
  EXPECT_EQ(ReceiveMessage(other_.get()).status(), Unavailable("receive message: peer closed"));
  EXPECT_EQ(SendMessage(other_.get(), "x").code(), Code::kUnavailable);
}

TEST_F(MessageSocketTest, NothingToReadAndNoRoomToSendAreSaidWithoutBlocking) {
  DoNotBlock();
  EXPECT_EQ(ReceiveMessage(other_.get()).status().code(), Code::kResourceExhausted);
  Status sent;
  while (sent.ok()) sent = SendMessage(other_.get(), std::string(10'000, 'x'));
  EXPECT_EQ(sent.code(), Code::kResourceExhausted);
}

}  // namespace
}  // namespace odyssey
