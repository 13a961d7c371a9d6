#ifndef ODYSSEY_POLICY_RULES_RISK_H_
#define ODYSSEY_POLICY_RULES_RISK_H_

// How much a call risks, by the table of programs: a second opinion beside the rules. Pure.

#include <map>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "policy/rules/risk_class.h"
#include "policy/rules/shell_split.h"

namespace odyssey::rules {

struct Risk {
  RiskClass risk = RiskClass::kSafe;
  std::string reason;  // "rm removes /", "curl"
  std::map<RiskClass, std::string>
      parts;  // every class that a part has, each with its first reason
  friend bool operator==(const Risk&, const Risk&) = default;
};

// The highest class of what the line runs and of the files that it names. The errors of SplitShell.
Result<Risk> ClassifyCommand(std::string_view line);
Risk Classify(const ShellLine& split, std::string_view line);

// Of a file that is read or written, by its name.
RiskClass ClassifyPath(std::string_view path, FileAccess access);

}  // namespace odyssey::rules

#endif  // ODYSSEY_POLICY_RULES_RISK_H_
