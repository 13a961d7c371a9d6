#ifndef ODYSSEY_AGENTD_SCENARIO_SCENARIO_H_
#define ODYSSEY_AGENTD_SCENARIO_SCENARIO_H_

// A scenario, parsed and checked: what docs/SCRIPT.md describes. A value.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "agentd/scenario/template.h"
#include "common/base/status.h"
#include "policy/dialect/problem.h"

namespace odyssey::scenario {

inline constexpr size_t kMaxScenarioSteps = 1000;  // in all
inline constexpr int kMaxScenarioDepth = 16;       // of `if` in `if`
inline constexpr size_t kMaxScenarioCalls = 16;    // of one step
inline constexpr size_t kMaxPatternBytes = 512;

// A JSON value whose strings are templates.
struct ArgumentTemplate {
  enum class Kind { kLiteral, kText, kList, kMap };
  Kind kind = Kind::kLiteral;
  nlohmann::json literal;
  Template text;
  std::vector<ArgumentTemplate> items;  // of a list; of a map, beside `keys`
  std::vector<std::string> keys;
};

enum class Operator { kEquals, kContains, kMatches, kLess, kAtMost, kGreater, kAtLeast, kEmpty };

struct Condition {
  enum class Kind { kTest, kAll, kAny, kNot };
  Kind kind = Kind::kTest;
  int line = 0;
  // kTest
  Template value;
  Operator op = Operator::kEquals;
  Template operand;              // of kEquals and kContains
  std::string pattern;           // of kMatches
  double number = 0;             // of the comparisons
  bool wanted = true;            // of kEmpty
  std::vector<Condition> parts;  // of the others
};

inline constexpr uint64_t kMaxScenarioTokens = 1'000'000'000;

struct Step;

struct Say {
  Template text;
};
struct Think {
  Template text;
};
struct ToolCallStep {
  std::string tool;
  ArgumentTemplate arguments;
  std::string as;  // "" = the result is not named
};
struct Calls {
  std::vector<ToolCallStep> calls;  // at least one
};
// What the provider reports of the answer that the step is in.
struct Usage {
  uint64_t input = 0, cached_input = 0, output = 0;
};
struct Set {
  std::vector<std::pair<std::string, Template>> values;
};
struct If {
  Condition condition;
  std::vector<Step> then, otherwise;
};
struct Fail {
  Template message;
};
struct End {};

struct Step {
  int line = 0;
  std::variant<Say, Think, Calls, Usage, Set, If, Fail, End> what;
};

struct Scenario {
  std::string file;  // as errors name it
  std::vector<Step> steps;
};

// Nothing is returned beside a problem. `file` names it in problems.
std::optional<Scenario> ParseScenario(const std::string& file, std::string_view yaml,
                                      dialect::Problems* problems);

}  // namespace odyssey::scenario

#endif  // ODYSSEY_AGENTD_SCENARIO_SCENARIO_H_
