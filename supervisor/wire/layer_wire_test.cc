#include "supervisor/wire/layer_wire.h"

#include <gtest/gtest.h>

#include "common/base/status_codec.h"

namespace odyssey::layer {
namespace {

TEST(LayerWireTest, Order) {
  const Order order = {.op = Op::kPack,
                       .max_bytes = 1,
                       .max_entries = 2,
                       .path = "/etc",
                       .leave_out = {"proc", "dev"},
                       .programs = {"sh", "/usr/bin/git"}};
  Order back;
  ASSERT_TRUE(Decode(Encode(order), &back).ok());
  EXPECT_EQ(back, order);
  EXPECT_FALSE(Decode(Encode(order) + "x", &back).ok());
}

TEST(LayerWireTest, DoneFitsOneMessage) {
  const Done done = {.status = InvalidArgument(std::string(kMaxStatusText, 'e')),
                     .entries = 1,
                     .bytes = 2,
                     .set_id_files = 3,
                     .passwd = {FileState::kText, std::string(kMaxAccounts, 'p')},
                     .group = {FileState::kHidden, std::string(kMaxAccounts, 'g')}};
  Done back;
  ASSERT_TRUE(Decode(Encode(done), &back).ok());
  EXPECT_EQ(back.status.message(), done.status.message());
  EXPECT_EQ(back.set_id_files, 3u);
  EXPECT_EQ(back.passwd, done.passwd);
  EXPECT_EQ(back.group, done.group);
  EXPECT_LT(Encode(done).size(), 160u * 1024);  // kMaxMessageBytes of message_socket.h
}

TEST(LayerWireTest, WhatIsTooLongIsRefused) {
  Done done, back;
  done.passwd.text = std::string(kMaxAccounts + 1, 'p');
  EXPECT_FALSE(Decode(Encode(done), &back).ok());
}

}  // namespace
}  // namespace odyssey::layer
