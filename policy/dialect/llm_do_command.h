#ifndef ODYSSEY_POLICY_DIALECT_LLM_DO_COMMAND_H_
#define ODYSSEY_POLICY_DIALECT_LLM_DO_COMMAND_H_

#include <string>

#include "common/base/status.h"
#include "policy/dialect/llm_do_worker.h"
#include "policy/rules/tool_rules.h"

namespace odyssey::dialect::llm_do {

// What a worker's shell rules say of a command line: no shell reads it, the first rule counts whose
// words it begins with and whose paths hold all its arguments, those of options too. The decision's
// rule is its key in the file, "shell_rules[2]"; `worker.origins` knows its line. Looks at names
// only, not at what links lead to. INVALID_ARGUMENT "Empty command", "Cannot parse command: …".
Result<rules::Decision> DecideCommand(const Worker& worker, const std::string& command);

}  // namespace odyssey::dialect::llm_do

#endif  // ODYSSEY_POLICY_DIALECT_LLM_DO_COMMAND_H_
