#include "ctl/approval/approval_prompt.h"

#include "ctl/base/console.h"

namespace odyssey::ctl {

std::optional<AutomaticAnswer> AnswerWithoutAsking(ApproveMode mode, bool has_terminal) {
  if (mode == ApproveMode::kAll) {
    return AutomaticAnswer{agent::v1::DECISION_ALLOW_ONCE, "", "allowed, as --approve all says"};
  }
  if (mode == ApproveMode::kDeny) {
    return AutomaticAnswer{agent::v1::DECISION_DENY, "denied by the client's --approve deny",
                           "denied, as --approve deny says"};
  }
  if (has_terminal) return std::nullopt;
  return AutomaticAnswer{agent::v1::DECISION_DENY, "nobody was there to ask",
                         "denied: there is no terminal to ask on; --approve all would allow it"};
}

std::optional<agent::v1::Decision> ParseAnswer(std::string_view line) {
  const size_t first = line.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return std::nullopt;
  const std::string_view word = line.substr(first, line.find_last_not_of(" \t\r\n") - first + 1);
  if (word == "y" || word == "yes") return agent::v1::DECISION_ALLOW_ONCE;
  if (word == "a" || word == "always") return agent::v1::DECISION_ALLOW_ALWAYS;
  if (word == "n" || word == "no") return agent::v1::DECISION_DENY;
  return std::nullopt;
}

std::string PromptText(bool color) {
  return Paint("  allow? y once, a always, n deny: ", Style::kBold, color);
}

}  // namespace odyssey::ctl
