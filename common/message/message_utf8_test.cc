#include "common/message/message_utf8.h"

#include <gtest/gtest.h>

#include "odyssey/agent/v1/event.pb.h"

namespace odyssey::message {
namespace {

TEST(MessageUtf8Test, MendsStringsWhereverTheyAre) {
  agent::v1::Event event;
  event.set_session_id("ses_\xFF");
  event.mutable_exec_command_begin()->set_cwd("/\xFF");
  event.mutable_exec_command_begin()->add_command("sh");
  event.mutable_exec_command_begin()->add_command("\xFF");
  SanitizeStrings(&event);
  EXPECT_EQ(event.session_id(), "ses_\xEF\xBF\xBD");
  EXPECT_EQ(event.exec_command_begin().cwd(), "/\xEF\xBF\xBD");
  EXPECT_EQ(event.exec_command_begin().command(0), "sh");
  EXPECT_EQ(event.exec_command_begin().command(1), "\xEF\xBF\xBD");
}

TEST(MessageUtf8Test, ReachesNestedMessages) {
  agent::v1::Event event;
  event.mutable_access_denied()->mutable_denial()->set_resource("/a\xFF");
  SanitizeStrings(&event);
  EXPECT_EQ(event.access_denied().denial().resource(), "/a\xEF\xBF\xBD");
}

}  // namespace
}  // namespace odyssey::message
