#ifndef ODYSSEY_POLICY_DIALECT_CEILING_FILE_H_
#define ODYSSEY_POLICY_DIALECT_CEILING_FILE_H_

// The YAML of an operator's ceiling → policy/ceiling. docs/policy/ceiling.md has every key.

#include <string>
#include <string_view>

#include "common/base/status.h"
#include "policy/ceiling/ceiling.h"
#include "policy/dialect/problem.h"

namespace odyssey::dialect {

// Every problem of the file is added to `problems`; what is returned beside one is of no use.
// `file` is what problems, and later the refusals, call it.
ceiling::Ceiling ReadCeiling(const std::string& file, std::string_view text, Problems* problems);

}  // namespace odyssey::dialect

#endif  // ODYSSEY_POLICY_DIALECT_CEILING_FILE_H_
