#ifndef ODYSSEY_POLICY_DIFFERENCE_WORKERS_H_
#define ODYSSEY_POLICY_DIFFERENCE_WORKERS_H_

#include "policy/dialect/llm_do_worker.h"
#include "policy/difference/difference.h"

namespace odyssey::difference {

// What two workers of llm-do say of things that no cell enforces: approvals of tools, shell
// commands and paths, attachments, delegation. A path counts where both name it. Pure.
Difference CompareWorkers(const dialect::llm_do::Worker& first,
                          const dialect::llm_do::Worker& second);

}  // namespace odyssey::difference

#endif  // ODYSSEY_POLICY_DIFFERENCE_WORKERS_H_
