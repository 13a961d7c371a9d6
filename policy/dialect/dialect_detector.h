#ifndef ODYSSEY_POLICY_DIALECT_DIALECT_DETECTOR_H_
#define ODYSSEY_POLICY_DIALECT_DIALECT_DETECTOR_H_

#include <optional>
#include <string>

#include "policy/dialect/policy.h"
#include "policy/dialect/schema.h"

namespace odyssey::dialect {

// What a document is: a policy, or the file of an agent, which says nothing of a sandbox itself.
struct Detected {
  Dialect dialect = Dialect::kOdyssey;
  bool is_agent = false;
};

// By the keys that only one dialect has; nullopt, with a problem that names them all, if there are
// none or those of two. `path` decides for an empty odek configuration only.
std::optional<Detected> DetectDialect(const Node& document, const std::string& path,
                                      const Source& source);

}  // namespace odyssey::dialect

#endif  // ODYSSEY_POLICY_DIALECT_DIALECT_DETECTOR_H_
