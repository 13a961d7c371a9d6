#ifndef ODYSSEY_CTL_SESSION_SESSION_BUDGET_H_
#define ODYSSEY_CTL_SESSION_SESSION_BUDGET_H_

// What a session may use: the options that say it, and its text. Pure.

#include <string>
#include <vector>

#include "ctl/base/option_parser.h"
#include "odyssey/agent/v1/session.pb.h"

namespace odyssey::ctl {

OptionSpec MaxTokensOption();
OptionSpec MaxCostOption();
OptionSpec MaxToolCallsOption();
OptionSpec MaxTimeOption();
// All four.
std::vector<OptionSpec> BudgetOptions();

// INVALID_ARGUMENT names the option.
Result<agent::v1::Budget> ReadBudget(const ParsedOptions& options);

// "900 of 10000 tokens, $0.01 of $0.50, 1.2 s": kinds without use and bound are left out; "none" if
// that is all. Without bounds the uses alone.
std::string BudgetText(const agent::v1::Budget& used, const agent::v1::Budget& bound);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_SESSION_SESSION_BUDGET_H_
