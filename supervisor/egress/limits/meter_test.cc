#include "supervisor/egress/limits/meter.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace odyssey::egress {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr char kHost[] = "api.example.com";
constexpr uint64_t kPerHost = 256;

class MeterTest : public testing::Test {
 protected:
  MeterTest() {
    policy_.rules = {{.key = "x", .endpoints = {{.key = "first"}, {.key = "second"}}}};
    Set();
  }

  void Set() { meter_.SetPolicy(policy_); }
  Budget& cell() { return policy_.budget; }
  Budget& first() { return policy_.rules[0].endpoints[0].budget; }
  Budget& second() { return policy_.rules[0].endpoints[1].budget; }

  std::vector<Pair> Pairs(std::initializer_list<int> endpoints = {0}) {
    std::vector<Pair> out;
    for (const int i : endpoints) {
      out.push_back({&policy_.rules[0], &policy_.rules[0].endpoints[static_cast<size_t>(i)]});
    }
    return out;
  }

  std::unique_ptr<Meter::Account> Open(std::initializer_list<int> endpoints = {0},
                                       const std::string& host = kHost) {
    why_ = {};
    return meter_.Open(host, Pairs(endpoints), now_, &why_);
  }

  // "": it may be sent.
  std::string Request(std::initializer_list<int> endpoints = {0}) {
    why_ = meter_.AddRequest(Pairs(endpoints), now_).value_or(Excess());
    return why_.reason;
  }

  int RequestsNow() {
    int count = 0;
    while (count < 1000 && Request().empty()) ++count;
    return count;
  }

  NetworkPolicy policy_;
  Meter meter_{kPerHost};
  SteadyTime now_{seconds(1000)};
  Excess why_;
};

TEST_F(MeterTest, WithoutABudgetNothingIsRefused) {
  EXPECT_EQ(RequestsNow(), 1000);
  const auto open = Open();
  ASSERT_NE(open, nullptr);
  EXPECT_TRUE(open->Count(Direction::kUp, UINT64_MAX / 2));
}

TEST_F(MeterTest, ARateIsAFullMinuteAtOnceAndThenEvenly) {
  first().requests_per_minute = 6;
  Set();
  EXPECT_EQ(RequestsNow(), 6);
  EXPECT_EQ(why_.code, kBudgetExceeded);
  EXPECT_EQ(why_.reason, "first has used its budget of 6 requests a minute");
  EXPECT_EQ(why_.retry_after, seconds(10));
  now_ += milliseconds(9999);
  EXPECT_EQ(RequestsNow(), 0);
  EXPECT_EQ(why_.retry_after, seconds(1));
  now_ += milliseconds(1);
  EXPECT_EQ(RequestsNow(), 1);
  now_ += std::chrono::hours(5);
  EXPECT_EQ(RequestsNow(), 6);
}

TEST_F(MeterTest, ARateThatIsTooHighToMatterRefusesNothing) {
  for (const uint64_t rate : {uint64_t{1} << 40, uint64_t{1} << 63, UINT64_MAX}) {
    cell().requests_per_minute = rate;
    Set();
    EXPECT_EQ(RequestsNow(), 1000) << rate;
  }
}

TEST_F(MeterTest, ConnectionsAMinute) {
  cell().connections_per_minute = 2;
  Set();
  EXPECT_NE(Open(), nullptr);
  EXPECT_NE(Open({1}, "other.example.com"), nullptr);
  EXPECT_EQ(Open(), nullptr);
  EXPECT_EQ(why_.reason, "the cell has used its budget of 2 connections a minute");
  EXPECT_EQ(why_.retry_after, seconds(30));
  now_ += seconds(30);
  EXPECT_NE(Open(), nullptr);
}

TEST_F(MeterTest, ConnectionsAtATimeAreGivenBack) {
  first().max_connections = 1;
  Set();
  auto open = Open();
  ASSERT_NE(open, nullptr);
  EXPECT_EQ(Open(), nullptr);
  EXPECT_EQ(why_.reason, "first has used its budget of 1 connections at a time");
  EXPECT_NE(Open({1}), nullptr);
  open.reset();
  EXPECT_NE(Open(), nullptr);
}

TEST_F(MeterTest, OneHostHasABoundWhateverThePolicySays) {
  std::vector<std::unique_ptr<Meter::Account>> open;
  for (uint64_t i = 0; i < kPerHost; ++i) open.push_back(Open());
  ASSERT_NE(open.back(), nullptr);
  EXPECT_EQ(Open(), nullptr);
  EXPECT_EQ(why_.code, kOverloaded);
  EXPECT_NE(Open({0}, "other.example.com"), nullptr);
  open.pop_back();
  EXPECT_NE(Open(), nullptr);
}

TEST_F(MeterTest, ManyHostsAreForgottenOnceClosed) {
  const auto kept = Open({0}, "kept.example.com");
  for (int i = 0; i < 10000; ++i) Open({0}, "h" + std::to_string(i));
  std::vector<std::unique_ptr<Meter::Account>> open;
  for (uint64_t i = 1; i < kPerHost; ++i) open.push_back(Open({0}, "kept.example.com"));
  ASSERT_NE(open.back(), nullptr);
  EXPECT_EQ(Open({0}, "kept.example.com"), nullptr);
}

TEST_F(MeterTest, EveryBudgetThatCoversItCounts) {
  first().requests_per_minute = 3;
  second().requests_per_minute = 1;
  Set();
  EXPECT_EQ(Request({0, 1}), "");
  EXPECT_EQ(Request({0, 1}), "second has used its budget of 1 requests a minute");
  // What was refused used nothing of the first.
  EXPECT_EQ(RequestsNow(), 2);
}

TEST_F(MeterTest, BytesBeyondABudgetArePassedOnByNoConnection) {
  cell().bytes_up = 100;
  Set();
  const auto one = Open(), other = Open();
  ASSERT_TRUE(one && other);
  EXPECT_TRUE(one->Count(Direction::kUp, 60));
  EXPECT_TRUE(other->Count(Direction::kUp, 40));
  EXPECT_TRUE(one->Count(Direction::kDown, 1000));
  EXPECT_FALSE(one->Count(Direction::kUp, 1));
  EXPECT_FALSE(one->Count(Direction::kDown, 1));
  ASSERT_TRUE(one->excess());
  EXPECT_EQ(one->excess()->reason, "the cell has used its budget of 100 bytes sent");
  EXPECT_EQ(one->excess()->retry_after, seconds(0));
  EXPECT_TRUE(other->Count(Direction::kDown, 1));
  // Nor by a new one, or a request.
  EXPECT_EQ(Open(), nullptr);
  EXPECT_NE(Request(), "");
}

TEST_F(MeterTest, APartThatIsTooLargeUsesTheBudgetUp) {
  first().bytes_down = 100;
  Set();
  EXPECT_FALSE(Open()->Count(Direction::kDown, 101));
  EXPECT_EQ(Open(), nullptr);
  EXPECT_EQ(why_.reason, "first has used its budget of 100 bytes received");
}

TEST_F(MeterTest, AChangedPolicyKeepsWhatWasUsed) {
  first().requests_per_minute = 4;
  first().bytes_up = 100;
  Set();
  const auto open = Open();
  ASSERT_TRUE(open->Count(Direction::kUp, 80));
  EXPECT_EQ(RequestsNow(), 4);
  Set();
  EXPECT_NE(Request(), "");
  first().bytes_up = 90;  // also for what is open
  first().max_connections = 1;
  Set();
  EXPECT_EQ(Open(), nullptr);
  EXPECT_FALSE(open->Count(Direction::kUp, 20));
  // Away, and back.
  const NetworkPolicy before = policy_;
  policy_.rules[0].endpoints[0].key = "another";
  Set();
  policy_ = before;
  Set();
  EXPECT_NE(Request(), "");
}

TEST_F(MeterTest, ACountSurvivesTheProcess) {
  cell().bytes_up = 100;
  Set();
  ASSERT_TRUE(Open()->Count(Direction::kUp, 70));
  const std::vector<Used> used = meter_.TakeChanged();
  EXPECT_EQ(used, (std::vector<Used>{{"", 70, 0}, {"first", 70, 0}}));
  EXPECT_TRUE(meter_.TakeChanged().empty());
  Meter next(kPerHost);
  for (const Used& one : used) next.Restore(one);
  next.SetPolicy(policy_);
  next.Restore({"", 10, 0});  // of a process before
  const auto open = next.Open(kHost, Pairs(), now_, &why_);
  ASSERT_NE(open, nullptr);
  EXPECT_FALSE(open->Count(Direction::kUp, 31));
}

TEST_F(MeterTest, SaysWhatIsOpen) {
  auto open = Open({0, 1});
  const auto other = Open({1});
  ASSERT_TRUE(other->Count(Direction::kDown, 5));
  EXPECT_EQ(meter_.TakeChanged(),
            (std::vector<Used>{{"", 0, 5, 2}, {"first", 0, 0, 1}, {"second", 0, 5, 2}}));
  open.reset();
  EXPECT_EQ(meter_.TakeChanged(),
            (std::vector<Used>{{"", 0, 5, 1}, {"first", 0, 0, 0}, {"second", 0, 5, 1}}));
}

TEST_F(MeterTest, AConnectionMayOutliveIt) {
  std::unique_ptr<Meter::Account> open;
  {
    Meter meter(kPerHost);
    open = meter.Open(kHost, Pairs(), now_, &why_);
  }
  EXPECT_TRUE(open->Count(Direction::kUp, 1));
}

}  // namespace
}  // namespace odyssey::egress
