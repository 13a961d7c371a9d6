#ifndef ODYSSEY_POLICY_DIALECT_JSON5_H_
#define ODYSSEY_POLICY_DIALECT_JSON5_H_

#include <optional>
#include <string>
#include <string_view>

#include "policy/dialect/node.h"

namespace odyssey::dialect {

// JSON5 1.0: JSON with comments, trailing commas, unquoted keys, single quotes, hexadecimal
// numbers, and strings over several lines. `text` is UTF-8. Use ParseDocument.
std::optional<Node> ParseJson5(const std::string& file, std::string_view text, Problems* problems);

}  // namespace odyssey::dialect

#endif  // ODYSSEY_POLICY_DIALECT_JSON5_H_
