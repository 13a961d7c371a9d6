#include "agentd/service/prepared_execs.h"

#include <gtest/gtest.h>

#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_ids.h"

namespace odyssey::service {
namespace {

constexpr uint32_t kAlice = 1000, kBob = 1001;

class PreparedExecsTest : public ::testing::Test {
 protected:
  std::string Add(const std::string& session_id = "ses_1") {
    return *prepared_.Add({session_id, {.request = {}, .owner_uid = kAlice}});
  }
  Code Take(const std::string& id, uint32_t caller = kAlice) {
    return prepared_.Take(id, caller).status().code();
  }
  fakes::FakeClock clock_;
  fakes::FakeIds ids_;
  PreparedExecs prepared_{&clock_, &ids_};
};

TEST_F(PreparedExecsTest, IsFoundOnceByTheUserThatPreparedIt) {
  const std::string id = Add("ses_7");
  EXPECT_TRUE(PreparedExecs::IsId(id));
  EXPECT_FALSE(PreparedExecs::IsId("ses_7"));
  EXPECT_EQ(Take(id, kBob), Code::kNotFound) << "under another user's rights";
  const auto taken = prepared_.Take(id, kAlice);
  ASSERT_TRUE(taken.ok());
  EXPECT_EQ(taken->session_id, "ses_7");
  EXPECT_EQ(Take(id), Code::kNotFound);
  EXPECT_EQ(Take("ope_none"), Code::kNotFound);
}

TEST_F(PreparedExecsTest, EndsAfterAMinute) {
  const std::string id = Add();
  clock_.Advance(PreparedExecs::kLifetime);
  EXPECT_EQ(Take(id), Code::kNotFound);
}

TEST_F(PreparedExecsTest, NoMoreThanTheBoundWait) {
  for (size_t i = 0; i < PreparedExecs::kMost; ++i) Add();
  EXPECT_EQ(prepared_.Add({"ses_1", {}}).status().code(), Code::kResourceExhausted);
  clock_.Advance(PreparedExecs::kLifetime);
  EXPECT_TRUE(prepared_.Add({"ses_1", {}}).ok());
}

}  // namespace
}  // namespace odyssey::service
