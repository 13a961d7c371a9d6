#ifndef ODYSSEY_POLICY_MODEL_OWN_VARIABLES_H_
#define ODYSSEY_POLICY_MODEL_OWN_VARIABLES_H_

// Variables that every command of a cell has, whatever its policy says: those of Odyssey's own, and
// those of the client.

#include <functional>
#include <map>
#include <optional>
#include <string>
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

// Locale, time zone and terminal of the client, as its own programs see them. No grant is
// needed for them, and they are no part of what a policy gives (ADR 0035).
inline constexpr std::string_view kInheritedVariables[] = {"LANG", "LC_ALL", "LC_CTYPE", "TERM",
                                                           "TZ"};

constexpr bool IsInheritedVariable(std::string_view name) {
  for (const std::string_view inherited : kInheritedVariables) {
    if (name == inherited) return true;
  }
  return false;
}

// Adds those that he has; what the policy says of one holds.
inline void InheritVariables(
    const std::function<std::optional<std::string>(const std::string& name)>& has,
    std::map<std::string, std::string>* env) {
  for (const std::string_view name : kInheritedVariables) {
    const std::optional<std::string> value = has(std::string(name));
    if (value) env->emplace(name, *value);
  }
}

}  // namespace odyssey::policy

#endif  // ODYSSEY_POLICY_MODEL_OWN_VARIABLES_H_
