#include "policy/dialect/llm_do_command.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "policy/dialect/llm_do_rules.h"
#include "policy/dialect/llm_do_words.h"
#include "policy/dialect/path_text.h"

namespace odyssey::dialect::llm_do {
namespace {

using Words = std::vector<std::string>;

bool BeginsWith(const Words& words, const Words& pattern) {
  return words.size() >= pattern.size() &&
         std::equal(pattern.begin(), pattern.end(), words.begin());
}

// The path that an argument is or, of an option, carries; nothing for an option without one.
std::optional<std::string> PathIn(const std::string& argument) {
  if (argument.empty() || argument[0] != '-') return argument;
  const size_t equals = argument.find('=');
  if (equals != std::string::npos) return argument.substr(equals + 1);
  const size_t slash = argument.find('/');
  if (slash == std::string::npos) return std::nullopt;
  return argument.substr(slash);
}

// "name/rel", "name:rel" or an absolute path, inside one of the worker's paths that are named.
bool IsInside(const std::string& argument, const Words& names, const Worker& worker) {
  for (const Path& path : worker.paths) {
    if (std::find(names.begin(), names.end(), path.name) == names.end()) continue;
    std::string at = argument;
    const bool named = argument.compare(0, path.name.size(), path.name) == 0 &&
                       (argument.size() == path.name.size() || argument[path.name.size()] == '/' ||
                        argument[path.name.size()] == ':');
    if (named)
      at = path.place + "/" + argument.substr(std::min(path.name.size() + 1, argument.size()));
    if (at.empty() || at[0] != '/') continue;
    if (IsAtOrBelow(CleanPath(at), path.place)) return true;
  }
  return false;
}

bool Matches(const ShellRule& rule, const Words& words, const Worker& worker) {
  if (!BeginsWith(words, rule.words)) return false;
  if (rule.paths.empty()) return true;
  return std::all_of(words.begin() + static_cast<ptrdiff_t>(rule.words.size()), words.end(),
                     [&](const std::string& argument) {
                       const std::optional<std::string> path = PathIn(argument);
                       return !path || IsInside(*path, rule.paths, worker);
                     });
}

rules::Verdict VerdictOf(bool asks) { return asks ? rules::Verdict::kAsk : rules::Verdict::kAllow; }

}  // namespace

Result<rules::Decision> DecideCommand(const Worker& worker, const std::string& command) {
  const std::string_view refused = RefusedIn(command);
  if (!refused.empty()) {
    return rules::Decision{.verdict = rules::Verdict::kDeny,
                           .rule = "",
                           .reason = "Command contains blocked metacharacter '" +
                                     std::string(refused) +
                                     "'. Shell metacharacters are not allowed for security "
                                     "reasons.",
                           .scope = ""};
  }
  const Result<Words> split = SplitWords(command);
  if (!split.ok()) return InvalidArgument("Cannot parse command: " + split.status().message());
  const Words& words = *split;
  if (words.empty()) return InvalidArgument("Empty command");
  for (size_t i = 0; i < worker.shell_rules.size(); ++i) {
    const ShellRule& rule = worker.shell_rules[i];
    if (!Matches(rule, words, worker)) continue;
    return rules::Decision{.verdict = VerdictOf(rule.approval_required),
                           .rule = "shell_rules[" + std::to_string(i) + "]",
                           .reason = "it begins with `" + rule.pattern + "`",
                           .scope = ""};
  }
  if (worker.shell_default) {
    return rules::Decision{.verdict = VerdictOf(*worker.shell_default),
                           .rule = "shell default",
                           .reason = "no shell rule matches",
                           .scope = ""};
  }
  return rules::Decision{
      .verdict = rules::Verdict::kDeny,
      .rule = "",
      .reason = "no shell rule matches, and the worker has no default for others",
      .scope = ""};
}

}  // namespace odyssey::dialect::llm_do
