#ifndef ODYSSEY_POLICY_MODEL_OWN_VARIABLES_H_
#define ODYSSEY_POLICY_MODEL_OWN_VARIABLES_H_

// Variables that every command of a cell gets from Odyssey itself.

#include <string_view>

namespace odyssey::policy {

inline constexpr std::string_view kRunVariable = "ODYSSEY_RUN";
inline constexpr std::string_view kSandboxVariable = "ODYSSEY_SANDBOX";

// Then no policy may set it.
constexpr bool IsOwnVariable(std::string_view name) {
  return name == kRunVariable || name == kSandboxVariable;
}

// Why not, and what is allowed.
inline constexpr char kOwnVariableRule[] = "every command gets its own; any other name is allowed";

}  // namespace odyssey::policy

#endif  // ODYSSEY_POLICY_MODEL_OWN_VARIABLES_H_
