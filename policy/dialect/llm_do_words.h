#ifndef ODYSSEY_POLICY_DIALECT_LLM_DO_WORDS_H_
#define ODYSSEY_POLICY_DIALECT_LLM_DO_WORDS_H_

#include <string>
#include <vector>

#include "common/base/status.h"

namespace odyssey::dialect::llm_do {

// The words of a command line, or of the pattern that one begins with, as a POSIX shell splits
// them, without anything that it would replace. May be none. INVALID_ARGUMENT for an open quote and
// a `\` at the end.
Result<std::vector<std::string>> SplitWords(const std::string& text);

}  // namespace odyssey::dialect::llm_do

#endif  // ODYSSEY_POLICY_DIALECT_LLM_DO_WORDS_H_
