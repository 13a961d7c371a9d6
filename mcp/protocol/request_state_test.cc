#include "mcp/protocol/request_state.h"

#include <gtest/gtest.h>

namespace odyssey::mcp {
namespace {

TEST(RequestStateTest, OpensWhatItHasSealed) {
  RequestStates states("key");
  const Json content = {{"turn", "trn_1"}, {"text", "\xff ü"}};
  const std::string state = states.Seal("caller", {{"turn", "trn_1"}}, 100);
  EXPECT_EQ(*states.Open("caller", state, 99), Json({{"turn", "trn_1"}}));
  EXPECT_TRUE(states.Open("caller", states.Seal("caller", content, 100), 99).ok());
}

TEST(RequestStateTest, RefusesWhatIsChangedForeignOrNone) {
  RequestStates states("key");
  const std::string state = states.Seal("caller", {{"turn", "trn_1"}}, 100);
  for (size_t i = 0; i < state.size(); ++i) {
    std::string changed = state;
    changed[i] = changed[i] == '0' ? '1' : '0';
    EXPECT_EQ(states.Open("caller", changed, 1).status().code(), Code::kInvalidArgument) << i;
  }
  for (const std::string& other :
       {std::string(), std::string("x"), state + "00", state.substr(0, 64),
        state.substr(0, state.size() - 2), RequestStates("other key").Seal("caller", {}, 100)}) {
    EXPECT_EQ(states.Open("caller", other, 1).status().code(), Code::kInvalidArgument) << other;
  }
  EXPECT_EQ(states.Open("another caller", state, 1).status().code(), Code::kInvalidArgument);
}

TEST(RequestStateTest, APurposeDoesNotRunIntoTheText) {
  RequestStates states("key");
  const std::string state = states.Seal("a", {}, 100);
  EXPECT_FALSE(states.Open("a7b", state.substr(0, 64) + state.substr(66), 1).ok());
}

TEST(RequestStateTest, ExpiresAndIsSpentOnce) {
  RequestStates states("key");
  const std::string state = states.Seal("caller", 1, 100);
  EXPECT_EQ(states.Open("caller", state, 100).status().code(), Code::kFailedPrecondition);
  ASSERT_TRUE(states.Open("caller", state, 99).ok());
  ASSERT_TRUE(states.Open("caller", state, 99).ok());
  states.Spend(state);
  EXPECT_EQ(states.Open("caller", state, 99).status().code(), Code::kFailedPrecondition);
  EXPECT_TRUE(states.Open("caller", states.Seal("caller", 1, 101), 99).ok());
}

}  // namespace
}  // namespace odyssey::mcp
