#ifndef ODYSSEY_POLICY_DIALECT_LLM_DO_WORKSHOP_H_
#define ODYSSEY_POLICY_DIALECT_LLM_DO_WORKSHOP_H_

#include <string>

#include "policy/dialect/policy.h"
#include "policy/dialect/schema.h"

namespace odyssey::dialect::llm_do {

// Where relative roots of a worker begin and its workshop's file is: the directory of the worker's
// file, or above it if that is named `workers`. Absolute.
std::string WorkshopOf(const std::string& file, const PolicyContext& context);

struct Merged {
  Node document;  // what counts
  // The same with the workshop's word for what both say: what the worker replaces can be checked.
  Node replaced;
};

// The worker's document over the defaults of its workshop, the file `workshop.yaml` there; just the
// worker's if there is no such file, or it is the one that is read. Of `sandbox` and `toolsets` the
// two are merged name by name; of everything else the worker's word counts. Lines of the workshop's
// file are those of source->beside, which is set.
Merged WithWorkshop(const Node& worker, const PolicyContext& context, Source* source, Policy* out);

}  // namespace odyssey::dialect::llm_do

#endif  // ODYSSEY_POLICY_DIALECT_LLM_DO_WORKSHOP_H_
