// Decide: which rule wins for a call, and what the answer is called.

#include <algorithm>
#include <set>
#include <tuple>

#include "policy/model/tool_table.h"
#include "policy/rules/network_rules.h"
#include "policy/rules/path_names.h"
#include "policy/rules/program_table.h"
#include "policy/rules/risk.h"
#include "policy/rules/shell_split.h"
#include "policy/rules/shell_wrappers.h"
#include "policy/rules/target_match.h"
#include "policy/rules/tool_rules.h"

namespace odyssey::rules {
namespace {

constexpr char kRead[] = "Read";
// Of the directories that a line may be in.
constexpr size_t kMaxDirectories = 8;

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
  return ShownText(std::move(text));
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
  if (by_name && !command.canonical.empty()) {
    match = std::max(match, MatchCommand(target, command.canonical));
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

// --- paths ---

// How a target fits a path, which may hold text known only at run time. "a/**" is "a" too.
Match MatchPath(std::string_view target, const std::string& path) {
  while (target.substr(0, 2) == "./") target.remove_prefix(2);
  constexpr std::string_view kBelow = "/**";
  const bool tree =
      target.size() > kBelow.size() && target.substr(target.size() - kBelow.size()) == kBelow;
  Match match = Match::kNo;
  for (const std::string& name : PathNames(path)) {
    match = std::max(match, MatchText(target, name));
    if (!tree) continue;
    match = std::max(match, MatchText(target.substr(0, target.size() - kBelow.size()), name));
  }
  return match;
}

enum class Coarse { kCounts, kIgnored };

Finding FindForPath(const ToolRules& rules, const std::string& tool, const std::string* path,
                    Coarse coarse = Coarse::kCounts) {
  Contest contest;
  for (const Rule& rule : rules.rules) {
    if (!Applies(rule, tool)) continue;
    if (!rule.target && coarse == Coarse::kIgnored) continue;
    const Match match = !rule.target      ? Match::kYes
                        : path == nullptr ? Match::kNo
                                          : MatchPath(*rule.target, *path);
    const std::string shown = path != nullptr ? ShownText(*path) : tool;
    if (match == Match::kYes) {
      contest.Enter(rule, rule.action, Because(rule, "matches", shown));
    } else if (match == Match::kMaybe && rule.action != Verdict::kAllow) {
      contest.Enter(rule, Verdict::kAsk, Because(rule, "may match", shown));
    }
  }
  return contest.Take();
}

// A path that a tool is given names one file: none of its characters stands for others.
std::string Literal(std::string path) {
  std::replace_if(path.begin(), path.end(), IsUnknown, '\x7f');
  return path;
}

// --- the files of a shell line ---

// The directories that its relative names may be relative to.
std::vector<std::string> Directories(const ShellLine& line, const std::string& cwd) {
  std::vector<std::string> out = {cwd};
  if (line.directories_by_variable && !line.directories.empty()) out.emplace_back(1, kUnknown);
  for (const std::string& to : line.directories) {
    const size_t known = out.size();
    for (size_t i = 0; i < known; ++i) {
      if (out.size() >= kMaxDirectories) return {cwd, std::string(1, kUnknown)};
      std::string directory = JoinPath(out[i], to);
      if (std::find(out.begin(), out.end(), directory) == out.end()) {
        out.push_back(std::move(directory));
      }
    }
  }
  return out;
}

// The paths that the file may have, from every directory.
std::vector<std::string> PathsOf(const FileUse& file, const ShellLine& line,
                                 const std::vector<std::string>& directories) {
  std::set<std::string> out;
  if (line.patterns_fit_any_case && HasUnknown(file.path)) out.insert(std::string(1, kUnknown));
  for (const std::string& directory : directories) out.insert(JoinPath(directory, file.path));
  if (file.path[0] == '~') out.insert(kUnknown + file.path.substr(file.path.find('/') + 1));
  if (IsTree(file.access)) {
    const std::set<std::string> roots = out;
    for (const std::string& root : roots) {
      out.insert(root + "/" + kBelow);
      if (PathNames(root)[0] == "/") out.insert(std::string(1, kBelow));  // the workspace is below
    }
  }
  return {out.begin(), out.end()};
}

bool IsSink(const FileUse& file) {
  return !IsRead(file.access) && ClassifyPath(file.path, file.access) == RiskClass::kSafe;
}

// By the rules of the tools that write, or of Read.
Finding FindForFile(const ToolRules& rules, const FileUse& file, const ShellLine& line,
                    const std::vector<std::string>& directories) {
  Finding strictest;
  if (IsSink(file)) return strictest;
  for (const std::string& path : PathsOf(file, line, directories)) {
    if (IsRead(file.access)) {
      Finding finding = FindForPath(rules, kRead, &path, Coarse::kIgnored);
      if (Beats(finding, strictest)) strictest = std::move(finding);
      if (file.access != FileAccess::kLink) continue;
    }
    const Coarse coarse = file.access == FileAccess::kLink ? Coarse::kIgnored : Coarse::kCounts;
    for (const policy::ToolRow& row : policy::kTools) {
      if (row.kind != policy::ToolKind::kWritesFile) continue;
      Finding finding = FindForPath(rules, row.name, &path, coarse);
      if (Beats(finding, strictest)) strictest = std::move(finding);
    }
  }
  if (strictest.rule != nullptr) strictest.reason += ", for " + file.by;
  return strictest;
}

// Whether a rule could make a file of a shell line matter.
bool RulesJudgeFiles(const ToolRules& rules) {
  return std::any_of(rules.rules.begin(), rules.rules.end(), [](const Rule& rule) {
    if (rule.action == Verdict::kAllow) return false;
    const bool writes = std::any_of(policy::kTools.begin(), policy::kTools.end(), [&](auto& row) {
      return row.kind == policy::ToolKind::kWritesFile && Applies(rule, row.name);
    });
    return writes || (rule.target && Applies(rule, kRead));
  });
}

std::string FileText(const FileUse& file) { return file.by + " " + ShownText(file.path); }

// --- a shell line ---

class LineJudge final {
 public:
  LineJudge(const ToolRules& rules, const ToolCall& call, ShellLine line, std::vector<Part>* parts)
      : rules_(rules), call_(call), line_(std::move(line)), parts_(parts) {
    // Coarse rules count for the line as such, whether or not it starts anything.
    if (std::none_of(line_.commands.begin(), line_.commands.end(), CountsAsWhole)) {
      line_.commands.push_back({CommandKind::kRuns, {}, {}});
    }
  }

  Decision Judge() {
    const Rule* restricting = RestrictingRule(rules_);
    for (const SimpleCommand& command : line_.commands) Command(command, restricting);
    if (parts_ != nullptr || RulesJudgeFiles(rules_)) {
      const std::vector<std::string> directories = Directories(line_, call_.cwd);
      for (const FileUse& file : line_.files) File(file, directories);
    }
    Decision out;
    out.verdict = strictest_.verdict;
    out.rule = strictest_.rule != nullptr ? strictest_.rule->text : "";
    out.reason = strictest_.rule != nullptr || strictest_.verdict != Verdict::kAllow
                     ? strictest_.reason
                     : "no rule matches";
    out.scope = Scope();
    return out;
  }

  const ShellLine& line() const { return line_; }

 private:
  void Command(const SimpleCommand& command, const Rule* restricting) {
    Finding finding = FindForCommand(rules_, command);
    const bool opaque = command.kind == CommandKind::kOpaque;
    if (opaque && restricting != nullptr && finding.verdict == Verdict::kAllow) {
      finding = {Verdict::kAsk, nullptr,
                 "what runs cannot be known beforehand (" + Shown(command.words) +
                     "), and there are rules such as " + restricting->text};
    }
    if (parts_ != nullptr && (command.kind != CommandKind::kGuess || finding.rule != nullptr)) {
      parts_->push_back(PartOf(command, finding));
    }
    Enter(std::move(finding));
  }

  void File(const FileUse& file, const std::vector<std::string>& directories) {
    Finding finding = FindForFile(rules_, file, line_, directories);
    if (parts_ != nullptr && (file.redirected || finding.rule != nullptr)) {
      parts_->push_back({FileText(file), "", finding.verdict,
                         finding.rule != nullptr ? finding.rule->text : "", finding.reason,
                         ClassifyPath(file.path, file.access)});
    }
    if (finding.verdict != Verdict::kAllow) Enter(std::move(finding));
  }

  static Part PartOf(const SimpleCommand& command, const Finding& finding) {
    return {Shown(command.words), command.canonical.empty() ? "" : Shown(command.canonical),
            finding.verdict,      finding.rule != nullptr ? finding.rule->text : "",
            finding.reason,       command.risk};
  }

  void Enter(Finding finding) {
    if (finding.verdict == Verdict::kAsk && finding.rule != nullptr) {
      asking_.insert(finding.rule->text);
    }
    if (!entered_ || Beats(finding, strictest_)) strictest_ = std::move(finding);
    entered_ = true;
  }

  // Whether an "always" may cover the programs with other arguments.
  bool Repeats() const {
    const auto plain = [](const SimpleCommand& command) {
      const bool named = command.kind != CommandKind::kOpaque && !command.words.empty();
      return named && command.kind != CommandKind::kGuess && command.repeats;
    };
    return std::all_of(line_.commands.begin(), line_.commands.end(), plain) &&
           std::all_of(line_.files.begin(), line_.files.end(),
                       [](const FileUse& file) { return IsRead(file.access) || IsSink(file); });
  }

  // The rules that ask, and "the programs", or the line itself where its programs do not say it
  // all.
  std::string Scope() const {
    std::string scope;
    for (const std::string& rule : asking_) scope += (scope.empty() ? "" : " + ") + rule;
    if (scope.empty()) {
      scope = strictest_.rule != nullptr ? strictest_.rule->text : std::string(policy::kBash);
    }
    if (!Repeats()) {
      return scope + ": exactly `" + call_.command + "`" +
             (call_.cwd.empty() ? "" : " in " + call_.cwd);
    }
    std::set<std::string> programs;
    for (const SimpleCommand& command : line_.commands) programs.insert(ProgramOf(command));
    std::string separator = ": ";
    for (const std::string& program : programs) {
      scope += separator + program;
      separator = ", ";
    }
    return scope;
  }

  // "find", "git status".
  static std::string ProgramOf(const SimpleCommand& command) {
    const std::string& program = command.words[0];
    const Program* row = FindProgram(Basename(program));
    if (row == nullptr || !Has(*row, kSubcommands)) return program;
    const auto& words = command.canonical.empty() ? command.words : command.canonical;
    return words.size() < 2 ? program : program + " " + words[1];
  }

  const ToolRules& rules_;
  const ToolCall& call_;
  ShellLine line_;
  std::vector<Part>* const parts_;
  Finding strictest_;
  bool entered_ = false;
  std::set<std::string> asking_;
};

void TakeOpinion(const std::pair<const RiskClass, Verdict>& opinion, const std::string& reason,
                 Decision* decision) {
  const std::string name(RiskName(opinion.first));
  decision->verdict = opinion.second;
  decision->rule = "risk " + name;
  decision->reason =
      "the call is of the risk class " + name + (reason.empty() ? "" : " (" + reason + ")");
  decision->scope = decision->rule + ": " + decision->scope;
}

// The second opinion: of the verdict on every class of risk that a part of the call has and the
// decision the strictest one.
void JudgeRisk(const ToolRules& rules, const Risk& risk, Decision* decision) {
  decision->risk = risk.risk;
  if (rules.risk.empty()) return;
  for (const auto& [part, reason] : risk.parts) {
    const auto opinion = rules.risk.find(part);
    if (opinion == rules.risk.end() || opinion->second <= decision->verdict) continue;
    TakeOpinion(*opinion, reason, decision);
  }
}

Result<Decision> DecideBash(const ToolRules& rules, const ToolCall& call,
                            std::vector<Part>* parts) {
  const std::string& line = call.command;
  if (line.size() > kMaxCommandBytes) {
    return InvalidArgument("invalid shell command: longer than " +
                           std::to_string(kMaxCommandBytes) + " bytes");
  }
  Result<ShellLine> split = SplitShell(line);
  if (!split.ok()) return InvalidArgument("invalid shell command: " + split.status().message());
  LineJudge judge(rules, call, std::move(split).value(), parts);
  Decision decision = judge.Judge();
  JudgeRisk(rules, Classify(judge.line(), line), &decision);
  return decision;
}

// --- the other tools ---

Risk RiskOfTool(const ToolCall& call) {
  const policy::ToolRow* row = policy::FindTool(call.name);
  if (row == nullptr) {
    return {RiskClass::kUnknown, call.name, {{RiskClass::kUnknown, call.name}}};
  }
  const FileAccess access =
      row->kind == policy::ToolKind::kWritesFile ? FileAccess::kWrite : FileAccess::kRead;
  Risk out;
  for (const std::string& path : call.paths) {
    const RiskClass risk = ClassifyPath(Literal(path), access);
    const auto part = out.parts.emplace(risk, call.name + " " + path).first;
    if (risk > out.risk) std::tie(out.risk, out.reason) = *part;
  }
  return out;
}

Decision DecideTool(const ToolRules& rules, const ToolCall& call) {
  std::vector<std::string> paths;
  for (const std::string& path : call.paths) paths.push_back(Literal(path));
  Finding strictest = FindForPath(rules, call.name, paths.empty() ? nullptr : &paths[0]);
  for (const std::string& path : paths) {
    Finding finding = FindForPath(rules, call.name, &path);
    if (Beats(finding, strictest)) strictest = std::move(finding);
  }
  const Rule* rule = strictest.rule;
  const std::string scope = rule == nullptr     ? call.name
                            : rule->tool == "*" ? rule->text + ": " + call.name
                                                : rule->text;
  return {strictest.verdict, rule != nullptr ? rule->text : "",
          rule != nullptr ? strictest.reason : "no rule matches", scope, RiskClass::kSafe};
}

}  // namespace

const Rule* RestrictingRule(const ToolRules& rules) {
  for (const Rule& rule : rules.rules) {
    if (!Applies(rule, policy::kBash)) continue;
    if (rule.action != Verdict::kAllow || (rule.target && !IsAnything(*rule.target))) return &rule;
  }
  return nullptr;
}

Result<Decision> Decide(const ToolRules& rules, const ToolCall& call, std::vector<Part>* parts) {
  if (call.name == policy::kBash) return DecideBash(rules, call, parts);
  Decision decision = DecideTool(rules, call);
  JudgeRisk(rules, RiskOfTool(call), &decision);
  return decision;
}

Result<bool> Fits(const Rule& rule, const std::string& example) {
  if (IsOfNetwork(rule)) return FitsDestination(rule, example);
  const bool bash = rule.tool == policy::kBash || rule.tool == "*";
  ToolRules alone;
  const bool allows = rule.action == Verdict::kAllow;
  if (allows && !rule.target) return true;
  if (allows) alone.rules.push_back({Verdict::kDeny, rule.tool, std::nullopt, ""});
  alone.rules.push_back(rule);
  const ToolCall call =
      bash ? ToolCall{policy::kBash, example, {}, ""} : ToolCall{rule.tool, "", {example}, ""};
  ODY_ASSIGN_OR_RETURN(const Decision decision, Decide(alone, call));
  return decision.rule == rule.text && (!allows || decision.verdict == Verdict::kAllow);
}

bool IsPathDenied(const ToolRules& rules, const std::string& tool, const std::string& path) {
  const std::string literal = Literal(path);
  return FindForPath(rules, tool, &literal).verdict == Verdict::kDeny;
}

}  // namespace odyssey::rules
