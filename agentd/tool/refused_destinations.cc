#include "agentd/tool/refused_destinations.h"

#include <algorithm>

namespace odyssey::tools {
namespace {

namespace pb = ::odyssey::supervisor::v1;

constexpr char kPolicyDenied[] = "policy_denied";

}  // namespace

std::vector<RefusedDestination> RefusedDestinations(const pb::ExecOutcome& ended) {
  std::vector<RefusedDestination> out;
  for (const pb::EgressDecision& decision : ended.egress()) {
    if (decision.verdict() != pb::EGRESS_VERDICT_DENIED || decision.code() != kPolicyDenied)
      continue;
    if (decision.port() == 0 || !decision.rule().empty()) continue;
    const auto same = [&](const RefusedDestination& known) {
      return known.host == decision.host() && known.port == decision.port();
    };
    if (std::any_of(out.begin(), out.end(), same)) continue;
    out.push_back({decision.host(), static_cast<uint16_t>(decision.port()), decision.reason()});
  }
  return out;
}

}  // namespace odyssey::tools
