#ifndef ODYSSEY_POLICY_DIALECT_LLM_DO_RULES_H_
#define ODYSSEY_POLICY_DIALECT_LLM_DO_RULES_H_

#include "policy/dialect/llm_do.h"

namespace odyssey::dialect::llm_do {

// `tool_rules`, `shell_rules` and `toolsets` of a worker whose paths are read already.
void ReadRules(MapReader* document, Worker* worker);

}  // namespace odyssey::dialect::llm_do

#endif  // ODYSSEY_POLICY_DIALECT_LLM_DO_RULES_H_
