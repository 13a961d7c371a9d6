#ifndef ODYSSEY_POLICY_DIALECT_YAML_H_
#define ODYSSEY_POLICY_DIALECT_YAML_H_

#include <optional>
#include <string>
#include <string_view>

#include "policy/dialect/node.h"

namespace odyssey::dialect {

// One YAML document without anchors, aliases, merge keys and tags; plain scalars are typed as
// YAML 1.2 does: null, true, false, numbers. Use ParseDocument.
std::optional<Node> ParseYaml(const std::string& file, std::string_view text, Problems* problems);

}  // namespace odyssey::dialect

#endif  // ODYSSEY_POLICY_DIALECT_YAML_H_
