#ifndef ODYSSEY_POLICY_DIALECT_AGENT_FILE_H_
#define ODYSSEY_POLICY_DIALECT_AGENT_FILE_H_

// One agent's file: the plain form (id, prompt, model, tools), or the one that begins with
// `apiVersion: odyssey.ai/v1`.

#include <string>

#include "policy/dialect/bundle.h"
#include "policy/dialect/schema.h"

namespace odyssey::dialect {

// `defaults` gives executor and memory where the form has none. `abi` is the bundle's, "" = any.
AgentSpec ReadAgent(const Node& document, const Source& source, const AgentSpec& defaults,
                    const std::string& abi);

}  // namespace odyssey::dialect

#endif  // ODYSSEY_POLICY_DIALECT_AGENT_FILE_H_
