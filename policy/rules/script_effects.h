#ifndef ODYSSEY_POLICY_RULES_SCRIPT_EFFECTS_H_
#define ODYSSEY_POLICY_RULES_SCRIPT_EFFECTS_H_

// What the program text of sed or awk does besides editing its input. Pure.

#include <string>
#include <string_view>
#include <vector>

namespace odyssey::rules {

struct ScriptEffects {
  bool runs_commands = false;
  bool writes_unnamed = false;  // files that the text names at run time
  bool reads_unnamed = false;
  std::vector<std::string> written;
  std::vector<std::string> read;
};

// A text that is not plain counts as one that runs commands.
ScriptEffects SedEffects(std::string_view script);
ScriptEffects AwkEffects(std::string_view script);

}  // namespace odyssey::rules

#endif  // ODYSSEY_POLICY_RULES_SCRIPT_EFFECTS_H_
