#ifndef ODYSSEY_POLICY_DIALECT_LLM_DO_RULES_H_
#define ODYSSEY_POLICY_DIALECT_LLM_DO_RULES_H_

#include <string_view>

#include "policy/dialect/llm_do.h"

namespace odyssey::dialect::llm_do {

// `tool_rules`, `shell_rules` and `toolsets` of a worker whose paths are read already.
void ReadRules(MapReader* document, Worker* worker);

// What is in the text that no command may have, "|" or the like; "" if nothing is.
std::string_view RefusedIn(std::string_view text);

}  // namespace odyssey::dialect::llm_do

#endif  // ODYSSEY_POLICY_DIALECT_LLM_DO_RULES_H_
