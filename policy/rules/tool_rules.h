#ifndef ODYSSEY_POLICY_RULES_TOOL_RULES_H_
#define ODYSSEY_POLICY_RULES_TOOL_RULES_H_

// May this tool call run: the allow, ask and deny rules of an agent. Pure: values in, values out.
//
//   rule   := TOOL | TOOL "(" target ")" | "*"
//   target := any text without parentheses; "*" stands for any text
//
// A rule for a tool speaks of those too that count as it (policy::RuleSpeaksOf): Edit, of
// MultiEdit.
//
// A rule with a target is granular. For Bash it is matched against "word … word:rest of the
// command" of every simple command in the line (shell_split.h), as typed and in canonical form; for
// the other tools against the path or name. Of the rules that match, granular beats coarse, then
// deny beats ask beats allow, then the later one wins; without a match the call is allowed. Of
// several simple commands the strictest verdict counts. What cannot be known before it runs is
// never matched by a granular allow.
//
// A file that a shell line writes is judged as one that Write, Edit and MultiEdit are asked to
// write; one that it reads, by the granular ask and deny rules of Read. `risk` is a second opinion:
// the stricter one counts. Rules of Network are about no tool (network_rules.h). docs/RULES.md is
// the reference.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "policy/rules/risk_class.h"

namespace odyssey::rules {

inline constexpr size_t kMaxRules = 1024;
inline constexpr size_t kMaxRuleBytes = 4096;
inline constexpr size_t kMaxCommandBytes = 64 * 1024;

// In order of strictness.
enum class Verdict { kAllow = 0, kAsk = 1, kDeny = 2 };

// "allow", "ask", "deny".
std::string_view VerdictName(Verdict verdict);

struct Rule {
  Verdict action = Verdict::kAllow;
  std::string tool;                   // "*" = every tool
  std::optional<std::string> target;  // granular
  std::string text;                   // as shown: "Bash(find:*)"
  friend bool operator==(const Rule&, const Rule&) = default;
};

// In the order of precedence's last criterion: allow, then ask, then deny.
struct ToolRules {
  std::vector<Rule> rules;
  std::map<RiskClass, Verdict> risk;
  friend bool operator==(const ToolRules&, const ToolRules&) = default;
};

// One call, in the terms that rules speak of.
struct ToolCall {
  std::string name;                // "Bash"
  std::string command;             // Bash: the whole line
  std::vector<std::string> paths;  // the other tools: as the model gave them
  std::string cwd;                 // Bash: where the line starts; empty = in the workspace
};

struct Decision {
  Verdict verdict = Verdict::kAllow;
  std::string rule;    // the winning rule as shown; "" = no rule matched
  std::string reason;  // one line, for people: which simple command, and why
  // What allow_always would allow from now on, as shown to the person; a later call whose scope is
  // equal needs no second question. "Bash(find:*): find, sort" or "Write".
  std::string scope;
  RiskClass risk = RiskClass::kSafe;
  friend bool operator==(const Decision&, const Decision&) = default;
};

// What one part of a shell line comes to: a simple command, or a file that it names.
struct Part {
  std::string text;       // "git -C r push", "> note.txt"
  std::string canonical;  // "git push"; empty: equal to `text`
  Verdict verdict = Verdict::kAllow;
  std::string rule;  // the winning rule; "" = none matched
  std::string reason;
  RiskClass risk = RiskClass::kSafe;
  friend bool operator==(const Part&, const Part&) = default;
};

// One entry. `label` is "agent.tools.ask" or the like and begins the message.
Result<Rule> ParseRule(std::string_view label, Verdict action, std::string_view entry);

// All entries; `risk`: the names of classes and of verdicts. INVALID_ARGUMENT "invalid tool
// permission rule `X`: …" for the first that is wrong.
Result<ToolRules> Parse(const std::vector<std::string>& allow, const std::vector<std::string>& ask,
                        const std::vector<std::string>& deny,
                        const std::map<std::string, std::string>& risk = {});

// "allow", "ask", "deny"; nullopt for other text.
std::optional<Verdict> FindVerdict(std::string_view name);

// INVALID_ARGUMENT "invalid shell command: missing closing quote" for a line that the shell would
// refuse to read; "invalid shell command: …" for one that is too long or holds a NUL byte.
// `parts`, if not null, receives what each part of a shell line comes to.
Result<Decision> Decide(const ToolRules& rules, const ToolCall& call,
                        std::vector<Part>* parts = nullptr);

// Whether the rule fits the call that an author wrote beside it: a command line for Bash, a
// destination for Network, else a path or name. An allow rule fits a line if it covers every part
// of it. The errors of Decide.
Result<bool> Fits(const Rule& rule, const std::string& example);

// A rule for Bash that is not about every line; nullptr: there is none. With one, a line that
// cannot be known before it runs is asked about at least. Points into `rules`.
const Rule* RestrictingRule(const ToolRules& rules);

// True if the rules deny `tool` this one path: what a listing leaves out.
bool IsPathDenied(const ToolRules& rules, const std::string& tool, const std::string& path);

// Whether the model is offered a tool that there is: allow and ask name it, or name none or "*",
// and no rule denies it as a whole.
bool IsOffered(const ToolRules& rules, const std::string& tool);

// The tools that the model is offered: of `manifest_tools` (all of `registry` if empty), those that
// allow and ask name, unless they name none or "*"; without those denied as a whole. One that comes
// with another (policy::ToolRow) is there if the other is. Sorted, unique, known to the registry.
std::vector<std::string> SelectTools(const std::vector<std::string>& manifest_tools,
                                     const std::vector<std::string>& registry,
                                     const ToolRules& rules);

}  // namespace odyssey::rules

#endif  // ODYSSEY_POLICY_RULES_TOOL_RULES_H_
