#ifndef ODYSSEY_POLICY_DIALECT_OPENSHELL_H_
#define ODYSSEY_POLICY_DIALECT_OPENSHELL_H_

// An OpenShell policy, `version: 1`: what it says, and what a cell makes of it.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policy/dialect/policy.h"
#include "policy/dialect/schema.h"

namespace odyssey::dialect::openshell {

struct Path {
  std::string path;  // clean
  policy::Access access = policy::Access::kReadOnly;
  int line = 0;
  std::string key;
};

struct Document {
  bool include_workdir = false;
  std::vector<Path> paths;
  std::optional<policy::Landlock> landlock;  // nullopt: not said
  uint32_t user = 0;                         // 0: `sandbox`
  egress::NetworkPolicy network;
  Origins origins;  // of what is no path
};

// Checks everything that can be checked without a look at the host.
Document ReadDocument(const Node& document, const Source& source);

// Paths of the system are the cell's own; others become mounts under the same name. Reports paths
// that no cell shows; warns of those that are not there.
void AddRequest(const Document& document, const Source& source, const PolicyContext& context,
                Policy* out);

}  // namespace odyssey::dialect::openshell

#endif  // ODYSSEY_POLICY_DIALECT_OPENSHELL_H_
