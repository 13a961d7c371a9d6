#include "ctl/session/session_budget.h"

#include <gtest/gtest.h>

namespace odyssey::ctl {
namespace {

Result<agent::v1::Budget> Read(const std::vector<std::string>& arguments) {
  const Result<ParsedOptions> options = ParseOptions(BudgetOptions(), {}, arguments);
  if (!options.ok()) return options.status();
  return ReadBudget(*options);
}

TEST(SessionBudgetTest, ReadsEachKind) {
  const Result<agent::v1::Budget> budget = Read(
      {"--max-tokens", "1000", "--max-cost", "0.50", "--max-tool-calls", "7", "--max-time", "10m"});
  ASSERT_TRUE(budget.ok()) << budget.status().message();
  EXPECT_EQ(budget->tokens(), 1000u);
  EXPECT_EQ(budget->cost_microdollars(), 500'000u);
  EXPECT_EQ(budget->tool_calls(), 7u);
  EXPECT_EQ(budget->wall_clock_ms(), 600'000u);
  EXPECT_EQ(Read({})->ByteSizeLong(), 0u);
  for (const char* wrong : {"0", "-1", "$1", "1e3", "0.1234567"}) {
    EXPECT_EQ(Read({"--max-cost", wrong}).status().message().rfind("--max-cost \"", 0), 0u)
        << wrong;
  }
  EXPECT_FALSE(Read({"--max-tokens", "0"}).ok());
}

TEST(SessionBudgetTest, ShowsUseAndBound) {
  agent::v1::Budget used, bound;
  EXPECT_EQ(BudgetText(used, bound), "none");
  used.set_tokens(900);
  used.set_wall_clock_ms(1200);
  EXPECT_EQ(BudgetText(used, bound), "900 tokens, 1.2 s");
  bound.set_tokens(1000);
  bound.set_cost_microdollars(500'000);
  EXPECT_EQ(BudgetText(used, bound), "900 of 1000 tokens, $0.00 of $0.50, 1.2 s");
}

}  // namespace
}  // namespace odyssey::ctl
