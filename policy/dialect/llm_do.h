#ifndef ODYSSEY_POLICY_DIALECT_LLM_DO_H_
#define ODYSSEY_POLICY_DIALECT_LLM_DO_H_

// The file of an llm-do worker, and what a cell makes of it.

#include "policy/dialect/llm_do_worker.h"
#include "policy/dialect/policy.h"
#include "policy/dialect/schema.h"

namespace odyssey::dialect::llm_do {

Worker ReadWorker(const Node& document, const Source& source);

// Named paths become mounts below /workspace/mount. A relative root begins at the workshop's
// directory; below there a missing root is to be made.
void AddRequest(const Worker& worker, const Source& source, const PolicyContext& context,
                Policy* out);

}  // namespace odyssey::dialect::llm_do

#endif  // ODYSSEY_POLICY_DIALECT_LLM_DO_H_
