#ifndef ODYSSEY_POLICY_RULES_RISK_CLASS_H_
#define ODYSSEY_POLICY_RULES_RISK_CLASS_H_

#include <array>
#include <optional>
#include <string_view>

namespace odyssey::rules {

// In order of rank: of several classes the highest counts.
enum class RiskClass {
  kSafe = 1,
  kLocalWrite = 2,
  kInstall = 3,
  kNetworkEgress = 4,
  kCodeExecution = 5,
  kSystemWrite = 6,
  kUnknown = 7,
  kDestructive = 8,
  kBlocked = 9,
};

// As agent.yaml and the events write it: in the order of rank.
inline constexpr auto kRiskNames = std::to_array<std::string_view>(
    {"safe", "local_write", "install", "network_egress", "code_execution", "system_write",
     "unknown", "destructive", "blocked"});

constexpr std::string_view RiskName(RiskClass risk) {
  return kRiskNames[static_cast<size_t>(risk) - 1];
}

constexpr std::optional<RiskClass> FindRisk(std::string_view name) {
  for (size_t i = 0; i < kRiskNames.size(); ++i) {
    if (kRiskNames[i] == name) return static_cast<RiskClass>(i + 1);
  }
  return std::nullopt;
}

}  // namespace odyssey::rules

#endif  // ODYSSEY_POLICY_RULES_RISK_CLASS_H_
