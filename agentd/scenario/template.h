#ifndef ODYSSEY_AGENTD_SCENARIO_TEMPLATE_H_
#define ODYSSEY_AGENTD_SCENARIO_TEMPLATE_H_

// Text with references: "found ${todos.stdout | lines} lines". Pure. The language is in
// docs/SCRIPT.md.

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/base/status.h"

namespace odyssey::scenario {

enum class FilterKind { kLines, kCount, kTrim, kHead, kTail, kJoin, kPluck, kShell, kDefault };

struct Filter {
  FilterKind kind = FilterKind::kTrim;
  std::string text;     // of kJoin, kPluck, kDefault
  uint64_t number = 0;  // of kHead, kTail
  friend bool operator==(const Filter&, const Filter&) = default;
};

// ${name.field.0 | filter | filter 3}
struct Reference {
  std::vector<std::string> path;  // at least the name
  std::vector<Filter> filters;
  friend bool operator==(const Reference&, const Reference&) = default;
};

struct Template {
  std::vector<std::variant<std::string, Reference>> pieces;
  friend bool operator==(const Template&, const Template&) = default;
};

// INVALID_ARGUMENT: what is wrong, and what is allowed.
Result<Template> ParseTemplate(std::string_view text);

// The names that it refers to.
std::vector<std::string> NamesIn(const Template& text);

}  // namespace odyssey::scenario

#endif  // ODYSSEY_AGENTD_SCENARIO_TEMPLATE_H_
