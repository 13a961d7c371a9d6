// Decide: which rule wins for a call, and what the answer is called.

#include <algorithm>
#include <set>
#include <tuple>

#include "policy/model/tool_table.h"
#include "policy/rules/shell_split.h"
#include "policy/rules/shell_wrappers.h"
#include "policy/rules/target_match.h"
#include "policy/rules/tool_rules.h"

namespace odyssey::rules {
namespace {

constexpr std::string_view kWorkspace = "/workspace";

// What the rules say of one part of a call: a simple command or a path.
struct Finding {
  Verdict verdict = Verdict::kAllow;
  const Rule* rule = nullptr;  // nullptr: none matched
  std::string reason;
};

// Keeps the winning rule: granular, then strict, then late.
class Contest final {
 public:
  void Enter(const Rule& rule, Verdict verdict, std::string reason) {
    if (winner_.rule != nullptr && Rank(rule, verdict) < Rank(*winner_.rule, winner_.verdict)) {
      return;
    }
    winner_ = {verdict, &rule, std::move(reason)};
  }
  Finding Take() { return std::move(winner_); }

 private:
  static std::tuple<bool, Verdict> Rank(const Rule& rule, Verdict verdict) {
    return {rule.target.has_value(), verdict};
  }
  Finding winner_;
};

bool Applies(const Rule& rule, const std::string& tool) {
  return policy::RuleSpeaksOf(rule.tool, tool);
}

bool IsAnything(const std::string& target) {
  return target.find_first_not_of('*') == std::string::npos;
}

std::string Shown(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  constexpr size_t kMaxShown = 120;
  if (text.size() > kMaxShown) text = text.substr(0, kMaxShown) + "…";
  for (size_t at = text.find(kUnknown); at != std::string::npos; at = text.find(kUnknown)) {
    text.replace(at, 1, "…");
  }
  return text;
}

std::string Because(const Rule& rule, std::string_view verb, const std::string& what) {
  return "`" + what + "` " + std::string(verb) + " " + std::string(VerdictName(rule.action)) +
         " rule " + rule.text;
}

// --- Bash ---

// How a granular rule fits a command. An allow must fit the program as it is named, unless the name
// is a path of the system's; the others also fit any program of that name.
Match MatchUnit(const Rule& rule, const SimpleCommand& command) {
  const std::string& target = *rule.target;
  if (command.words.empty()) return IsAnything(target) ? Match::kYes : Match::kNo;
  Match match = MatchCommand(target, command.words);
  const std::string base(Basename(command.words[0]));
  const bool by_name = rule.action != Verdict::kAllow || IsSystemProgram(command.words[0]);
  if (by_name && base != command.words[0]) {
    std::vector<std::string> words = command.words;
    words[0] = base;
    match = std::max(match, MatchCommand(target, words));
  }
  if (command.kind == CommandKind::kGuess) match = std::min(match, Match::kMaybe);
  return match;
}

void EnterGranular(const Rule& rule, const SimpleCommand& command, Contest* contest) {
  if (command.kind == CommandKind::kOpaque) return;
  if (rule.action == Verdict::kAllow && command.kind != CommandKind::kRuns) return;
  const Match match = MatchUnit(rule, command);
  const std::string shown = Shown(command.words);
  if (match == Match::kYes) {
    contest->Enter(rule, rule.action, Because(rule, "matches", shown));
  } else if (match == Match::kMaybe && rule.action != Verdict::kAllow) {
    contest->Enter(rule, Verdict::kAsk, Because(rule, "may match", shown));
  }
}

// Whether coarse rules speak of it: a wrapper's own command follows it in the list.
bool CountsAsWhole(const SimpleCommand& command) {
  return command.kind == CommandKind::kRuns || command.kind == CommandKind::kOpaque;
}

Finding FindForCommand(const ToolRules& rules, const SimpleCommand& command) {
  Contest contest;
  for (const Rule& rule : rules.rules) {
    if (!Applies(rule, policy::kBash)) continue;
    if (rule.target) {
      EnterGranular(rule, command, &contest);
    } else if (CountsAsWhole(command)) {
      contest.Enter(rule, rule.action, Because(rule, "matches", Shown(command.words)));
    }
  }
  return contest.Take();
}

bool Beats(const Finding& a, const Finding& b) {
  const auto rank = [](const Finding& f) {
    return std::tuple(f.verdict, f.rule != nullptr,
                      f.rule != nullptr && f.rule->target.has_value());
  };
  return rank(a) > rank(b);
}

// "rule: the programs", or the line itself where its programs do not say it all.
std::string BashScope(const Finding& finding, const std::vector<SimpleCommand>& commands,
                      const std::string& line) {
  std::set<std::string> programs;
  bool exact = false;
  for (const SimpleCommand& command : commands) {
    const bool named = command.kind != CommandKind::kOpaque && !command.words.empty();
    exact = exact || !named || command.kind == CommandKind::kGuess;
    if (named) programs.insert(command.words[0]);
  }
  std::string scope = (finding.rule != nullptr ? finding.rule->text : policy::kBash) + ": ";
  if (exact) return scope + "exactly `" + line + "`";
  std::string separator;
  for (const std::string& program : programs) {
    scope += separator + program;
    separator = ", ";
  }
  return scope;
}

Result<Decision> DecideBash(const ToolRules& rules, const std::string& line) {
  if (line.size() > kMaxCommandBytes) {
    return InvalidArgument("invalid shell command: longer than " +
                           std::to_string(kMaxCommandBytes) + " bytes");
  }
  Result<std::vector<SimpleCommand>> split = SplitShell(line);
  if (!split.ok()) return InvalidArgument("invalid shell command: " + split.status().message());
  std::vector<SimpleCommand> commands = std::move(split).value();
  // Coarse rules count for the line as such, whether or not it starts anything.
  if (std::none_of(commands.begin(), commands.end(), CountsAsWhole)) {
    commands.push_back({CommandKind::kRuns, {}});
  }

  const Rule* restricting = RestrictingRule(rules);
  Finding strictest = FindForCommand(rules, commands[0]);
  for (const SimpleCommand& command : commands) {
    Finding finding = FindForCommand(rules, command);
    const bool opaque = command.kind == CommandKind::kOpaque;
    if (opaque && restricting != nullptr && finding.verdict == Verdict::kAllow) {
      finding = {Verdict::kAsk, nullptr,
                 "what runs cannot be known beforehand (" + Shown(command.words) +
                     "), and there are rules such as " + restricting->text};
    }
    if (Beats(finding, strictest)) strictest = std::move(finding);
  }
  return Decision{strictest.verdict, strictest.rule != nullptr ? strictest.rule->text : "",
                  strictest.rule != nullptr || strictest.verdict != Verdict::kAllow
                      ? strictest.reason
                      : "no rule matches",
                  BashScope(strictest, commands, line)};
}

// --- the other tools ---

// Without "." and empty components and, where it can be told, without "..".
std::string Normalized(std::string_view path) {
  const bool absolute = !path.empty() && path[0] == '/';
  std::vector<std::string_view> parts;
  for (size_t at = 0; at <= path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, end - at);
    at = end + 1;
    if (part.empty() || part == ".") continue;
    if (part == ".." && !parts.empty() && parts.back() != "..") {
      parts.pop_back();
    } else if (part != ".." || !absolute) {
      parts.push_back(part);
    }
  }
  std::string out = absolute ? "/" : "";
  for (size_t i = 0; i < parts.size(); ++i) out.append(i > 0 ? "/" : "").append(parts[i]);
  return out.empty() ? "." : out;
}

// The names a path has in the cell: relative to the workspace and absolute.
std::vector<std::string> PathNames(const std::string& path) {
  const std::string name = Normalized(path);
  const std::string workspace(kWorkspace);
  if (name == workspace) return {name, "."};
  if (name.compare(0, workspace.size() + 1, workspace + "/") == 0) {
    return {name, name.substr(workspace.size() + 1)};
  }
  if (name[0] == '/' || name.substr(0, 2) == "..") return {name};
  return {name, name == "." ? workspace : workspace + "/" + name};
}

bool MatchesPath(std::string_view target, const std::string& path) {
  while (target.substr(0, 2) == "./") target.remove_prefix(2);
  for (const std::string& name : PathNames(path)) {
    if (MatchText(target, name) == Match::kYes) return true;
  }
  return false;
}

Finding FindForPath(const ToolRules& rules, const std::string& tool, const std::string* path) {
  Contest contest;
  for (const Rule& rule : rules.rules) {
    if (!Applies(rule, tool)) continue;
    if (rule.target && (path == nullptr || !MatchesPath(*rule.target, *path))) continue;
    contest.Enter(rule, rule.action, Because(rule, "matches", path != nullptr ? *path : tool));
  }
  return contest.Take();
}

}  // namespace

const Rule* RestrictingRule(const ToolRules& rules) {
  for (const Rule& rule : rules.rules) {
    if (!Applies(rule, policy::kBash)) continue;
    if (rule.action != Verdict::kAllow || (rule.target && !IsAnything(*rule.target))) return &rule;
  }
  return nullptr;
}

Result<Decision> Decide(const ToolRules& rules, const ToolCall& call) {
  if (call.name == policy::kBash) return DecideBash(rules, call.command);

  Finding strictest = FindForPath(rules, call.name, call.paths.empty() ? nullptr : &call.paths[0]);
  for (const std::string& path : call.paths) {
    Finding finding = FindForPath(rules, call.name, &path);
    if (Beats(finding, strictest)) strictest = std::move(finding);
  }
  const Rule* rule = strictest.rule;
  const std::string scope = rule == nullptr     ? call.name
                            : rule->tool == "*" ? rule->text + ": " + call.name
                                                : rule->text;
  return Decision{strictest.verdict, rule != nullptr ? rule->text : "",
                  rule != nullptr ? strictest.reason : "no rule matches", scope};
}

bool IsPathDenied(const ToolRules& rules, const std::string& tool, const std::string& path) {
  return FindForPath(rules, tool, &path).verdict == Verdict::kDeny;
}

}  // namespace odyssey::rules
