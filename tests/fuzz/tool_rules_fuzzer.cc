// A command line is the model's: whatever it holds, an answer comes, soon; and a rule about every
// command is never escaped. The input is rules, one a line ("allow …", "ask …", "deny …"), an empty
// line, and the command.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "policy/rules/tool_rules.h"

namespace {

// Takes the rules off the front of `text`.
odyssey::Result<odyssey::rules::ToolRules> TakeRules(std::string_view* text) {
  std::vector<std::string> allow;
  std::vector<std::string> ask;
  std::vector<std::string> deny;
  while (!text->empty()) {
    const size_t end = text->find('\n');
    const std::string_view line = text->substr(0, end);
    text->remove_prefix(end == std::string_view::npos ? text->size() : end + 1);
    if (line.empty()) break;
    if (line.substr(0, 6) == "allow ") allow.emplace_back(line.substr(6));
    if (line.substr(0, 4) == "ask ") ask.emplace_back(line.substr(4));
    if (line.substr(0, 5) == "deny ") deny.emplace_back(line.substr(5));
  }
  return odyssey::rules::Parse(allow, ask, deny);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using odyssey::rules::Verdict;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto rules = TakeRules(&text);
  if (!rules.ok()) return 0;

  const std::string command(text);
  const auto decision = odyssey::rules::Decide(*rules, {.name = "Bash", .command = command});
  const auto path = odyssey::rules::Decide(*rules, {.name = "Read", .paths = {command}});
  ODY_CHECK(path.ok());
  ODY_CHECK((path->verdict == Verdict::kDeny) ==
            odyssey::rules::IsPathDenied(*rules, "Read", command));

  // Whether the line can be read does not depend on the rules.
  const auto only = odyssey::rules::Parse({}, {"Bash"}, {});
  const auto asked = odyssey::rules::Decide(*only, {.name = "Bash", .command = command});
  ODY_CHECK(asked.ok() == decision.ok());
  ODY_CHECK(!asked.ok() || asked->verdict == Verdict::kAsk);

  // Nor does asking for the parts change the answer; one more denial only makes it stricter.
  std::vector<odyssey::rules::Part> parts;
  const odyssey::rules::ToolCall call{.name = "Bash", .command = command, .paths = {}, .cwd = ""};
  const auto again = odyssey::rules::Decide(*rules, call, &parts);
  ODY_CHECK(again.ok() == decision.ok() && (!again.ok() || *again == *decision));
  odyssey::rules::ToolRules stricter = *rules;
  stricter.risk = {{odyssey::rules::RiskClass::kSafe, Verdict::kDeny},
                   {odyssey::rules::RiskClass::kUnknown, Verdict::kAsk}};
  const auto more = odyssey::rules::Decide(stricter, call);
  ODY_CHECK(more.ok() == decision.ok() && (!more.ok() || more->verdict >= decision->verdict));
  return 0;
}
