#include "common/message/message_json.h"

#include <gtest/gtest.h>

#include "odyssey/agent/v1/event.pb.h"
#include "odyssey/agent/v1/session.pb.h"
#include "odyssey/supervisor/v1/supervisor.pb.h"

namespace odyssey::message {
namespace {

TEST(MessageJsonTest, NumbersAreNumbersAndEnumsAreWords) {
  agent::v1::Turn turn;
  turn.set_id("trn_1");
  turn.set_status(agent::v1::TURN_STATUS_RUNNING);
  turn.add_chat_history()->set_role("user");
  const Json json = ToJson(turn);
  EXPECT_EQ(json["status"], "running");
  EXPECT_EQ(json["chat_history"][0]["role"], "user");
  EXPECT_EQ(json["error"], "");

  supervisor::v1::CellInfo cell;
  cell.set_memory_bytes(uint64_t{1} << 60);
  EXPECT_EQ(ToJson(cell)["memory_bytes"], uint64_t{1} << 60);
}

TEST(MessageJsonTest, MapIsAnObject) {
  agent::v1::CreateSessionRequest request;
  (*request.mutable_env())["A"] = "1";
  EXPECT_EQ(ToJson(request)["env"], (Json{{"A", "1"}}));
}

TEST(MessageJsonTest, ReadsWhatItWrites) {
  supervisor::v1::Denial denial;
  denial.set_kind("path");
  denial.set_count(uint64_t{1} << 60);
  denial.set_grant_key(supervisor::v1::GRANT_KEY_MOUNT_READ);
  supervisor::v1::Denial back;
  ASSERT_TRUE(FromJson(ToJson(denial), &back).ok());
  EXPECT_EQ(back.SerializeAsString(), denial.SerializeAsString());
}

TEST(MessageJsonTest, ReadsMessagesInLists) {
  agent::v1::PermissionRequested request;
  for (const char* word : {"one", "two"}) {
    request.mutable_parsed()->add_commands()->add_argv(word);
  }
  agent::v1::PermissionRequested back;
  ASSERT_TRUE(FromJson(ToJson(request), &back).ok());
  EXPECT_EQ(back.SerializeAsString(), request.SerializeAsString());
  Json wrong = ToJson(request);
  wrong["parsed"]["commands"] = {"one"};
  EXPECT_EQ(FromJson(wrong, &back).code(), Code::kDataLoss);
}

TEST(MessageJsonTest, RefusesWhatItDoesNotWrite) {
  const Json whole = ToJson(agent::v1::ExecCommandBegin());
  Json unknown = whole, missing = whole, mistyped = whole, mixed = whole;
  unknown["new"] = 1;
  missing.erase("cwd");
  mistyped["cwd"] = 1;
  mixed["command"] = {"sh", 1};
  for (const Json& json : {unknown, missing, mistyped, mixed, Json::array(), Json("text")}) {
    agent::v1::ExecCommandBegin out;
    EXPECT_EQ(FromJson(json, &out).code(), Code::kDataLoss) << json;
  }
}

TEST(MessageJsonTest, AnEnumIsReadByTheNamesThatItsValuesHave) {
  Json json = ToJson(supervisor::v1::Denial());
  supervisor::v1::Denial out;
  json["grant_key"] = "network_full";
  EXPECT_TRUE(FromJson(json, &out).ok());
  EXPECT_EQ(out.grant_key(), supervisor::v1::GRANT_KEY_NETWORK_FULL);
  json["grant_key"] = "everything";
  EXPECT_EQ(FromJson(json, &out).code(), Code::kDataLoss);
}

// How a protocol shrinks.
TEST(MessageJsonTest, AReservedNameIsReadOver) {
  Json json = ToJson(supervisor::v1::Denial());
  json["source"] = "kernel";
  supervisor::v1::Denial out;
  EXPECT_TRUE(FromJson(json, &out).ok());
}

// How a protocol grows without making what was written before it unreadable.
TEST(MessageJsonTest, AFieldWithPresenceMayBeMissing) {
  agent::v1::AccessDenied out;
  EXPECT_TRUE(FromJson({{"turn_id", "trn_1"}, {"tool_call_id", ""}}, &out).ok());
  EXPECT_FALSE(out.has_denial());
}

}  // namespace
}  // namespace odyssey::message
