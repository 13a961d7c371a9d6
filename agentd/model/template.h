#ifndef ODYSSEY_AGENTD_MODEL_TEMPLATE_H_
#define ODYSSEY_AGENTD_MODEL_TEMPLATE_H_

// Text with references: "found ${todos.stdout | lines} lines". Pure. The language is in
// SCENARIO.md.

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/base/status.h"

namespace odyssey::model {

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

// What names stand for.
using Scope = std::map<std::string, nlohmann::json>;

// INVALID_ARGUMENT: what is wrong, and what is allowed.
Result<Template> ParseTemplate(std::string_view text);

// The names that it refers to.
std::vector<std::string> NamesIn(const Template& text);

// The value of a template that is exactly one reference is the value itself; of any other, a
// string. FAILED_PRECONDITION: a reference without a value, a filter that does not fit it, or a
// result larger than kMaxRenderedBytes.
inline constexpr size_t kMaxRenderedBytes = 4 * 1024 * 1024;
Result<nlohmann::json> Render(const Template& text, const Scope& scope);
Result<std::string> RenderText(const Template& text, const Scope& scope);

// A value as text: a string as it is, null as nothing, anything else as JSON.
std::string TextOf(const nlohmann::json& value);

}  // namespace odyssey::model

#endif  // ODYSSEY_AGENTD_MODEL_TEMPLATE_H_
