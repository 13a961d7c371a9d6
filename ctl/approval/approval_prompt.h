#ifndef ODYSSEY_CTL_APPROVAL_APPROVAL_PROMPT_H_
#define ODYSSEY_CTL_APPROVAL_APPROVAL_PROMPT_H_

// How approvals that a turn asks for are answered while it is watched.

#include <optional>
#include <string>
#include <string_view>

#include "odyssey/agent/v1/approval.pb.h"

namespace odyssey::ctl {

enum class ApproveMode { kAsk, kAll, kDeny };

struct AutomaticAnswer {
  agent::v1::Decision decision = agent::v1::DECISION_UNSPECIFIED;
  std::string note;    // for the model, with a denial
  std::string notice;  // for the person
};

// The answer that needs no person; empty if one is to be asked. Without a terminal there is nobody
// to ask, so asking fails closed.
std::optional<AutomaticAnswer> AnswerWithoutAsking(ApproveMode mode, bool has_terminal);

// "y", "a" or "n" (and the words); empty for anything else.
std::optional<agent::v1::Decision> ParseAnswer(std::string_view line);

// What stands before the cursor.
std::string PromptText(bool color);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_APPROVAL_APPROVAL_PROMPT_H_
