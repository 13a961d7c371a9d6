#ifndef ODYSSEY_AGENTD_APPROVAL_COMMAND_ANSWER_H_
#define ODYSSEY_AGENTD_APPROVAL_COMMAND_ANSWER_H_

// What the operator's approval command and approval webhook read and write. Pure.

#include <cstddef>
#include <string>
#include <string_view>

#include "agentd/approval/registry.h"
#include "common/base/status.h"

namespace odyssey::approval {

inline constexpr size_t kMaxCommandAnswer = 8 * 1024;

// One line of JSON with its newline: every field of the question, as `-o json approval list`.
std::string QuestionLine(const Question& question);

// {"decision":"allow_once|allow_always|deny","note":"…"}, the note optional and no other member.
// INVALID_ARGUMENT: anything else.
Result<Answer> ParseCommandAnswer(std::string_view output);

}  // namespace odyssey::approval

#endif  // ODYSSEY_AGENTD_APPROVAL_COMMAND_ANSWER_H_
