#include "policy/dialect/llm_do_rules.h"

#include <algorithm>
#include <utility>

#include "policy/dialect/llm_do_words.h"

namespace odyssey::dialect::llm_do {
namespace {

constexpr size_t kMaxTools = 256;
constexpr size_t kMaxRules = 256;

// Commands that hold one of these are refused before any rule is looked at.
constexpr std::string_view kRefusedInCommands[] = {"|", ">", "<", ";", "&", "`", "$(", "${"};

// The words of a pattern; none of one that is wrong.
std::vector<std::string> ReadPattern(const Source& source, const Text& pattern) {
  const std::string shown = ": `" + pattern.value + "`";
  const std::string_view refused = RefusedIn(pattern.value);
  if (!refused.empty()) {
    source.Invalid(
        pattern.line, pattern.key,
        "can never match: commands with `" + std::string(refused) + "` are refused" + shown);
  }
  Result<std::vector<std::string>> words = SplitWords(pattern.value);
  if (!words.ok()) {
    source.Invalid(pattern.line, pattern.key,
                   "cannot be split into words: " + words.status().message() + shown);
    return {};
  }
  if (words->empty()) source.Invalid(pattern.line, pattern.key, "cannot be empty");
  return std::move(words).value();
}

ShellRule ReadShellRule(MapReader map, Worker* worker) {
  ShellRule rule;
  if (const auto pattern = map.String("pattern", Need::kRequired)) {
    rule.pattern = pattern->value;
    rule.words = ReadPattern(map.source(), *pattern);
    worker->origins.Add("shell_rules[" + std::to_string(worker->shell_rules.size()) + "]",
                        PlaceOf(map.source(), *pattern));
  }
  for (Text& name : map.Strings("sandbox_paths")) {
    const bool known = std::any_of(worker->paths.begin(), worker->paths.end(),
                                   [&](const Path& path) { return path.name == name.value; });
    if (!known) {
      map.source().Invalid(name.line, name.key,
                           "no path of the sandbox is named `" + name.value + "`");
    }
    rule.paths.push_back(std::move(name.value));
  }
  rule.approval_required = map.Bool("approval_required").value_or(true);
  MapReader grants = map.Map("grants");
  rule.grants_network = grants.Bool("network").value_or(false);
  grants.Finish();
  map.Finish();
  return rule;
}

void ReadShellRules(MapReader* map, std::string_view name, Worker* worker) {
  for (const MapReader& rule : map->Maps(name, kMaxRules)) {
    worker->shell_rules.push_back(ReadShellRule(rule, worker));
  }
}

// toolsets.shell: {rules, default}.
void ReadShellToolset(MapReader shell, Worker* worker) {
  if (!shell.present()) return;
  if (!worker->shell_rules.empty() && Find(*shell.node(), "rules") != nullptr) {
    shell.source().Invalid(shell.line(), shell.KeyOf("rules"),
                           "and `shell_rules` mean the same: give one");
  }
  ReadShellRules(&shell, "rules", worker);
  MapReader otherwise = shell.Map("default");
  if (otherwise.present()) {
    worker->shell_default = otherwise.Bool("approval_required").value_or(true);
  }
  otherwise.Finish();
  shell.Finish();
}

void ReadDelegation(MapReader delegation, Worker* worker) {
  if (!delegation.present()) return;
  std::vector<std::string> names;
  for (Text& name : delegation.Strings("allow_workers")) {
    if (name.value.empty()) {
      delegation.source().Invalid(name.line, name.key, "cannot be empty");
    }
    names.push_back(std::move(name.value));
  }
  worker->allow_workers = std::move(names);
  delegation.Finish();
}

}  // namespace

std::string_view RefusedIn(std::string_view text) {
  for (const std::string_view refused : kRefusedInCommands) {
    if (text.find(refused) != std::string_view::npos) return refused;
  }
  return "";
}

void ReadRules(MapReader* document, Worker* worker) {
  for (auto& [tool, map] : document->MapOfMaps("tool_rules", kMaxTools)) {
    MapReader rule = map;
    const std::optional<bool> asks = rule.Bool("approval_required");
    if (asks) worker->tool_approval[tool.name] = *asks;
    rule.Finish();
  }
  ReadShellRules(document, "shell_rules", worker);

  MapReader toolsets = document->Map("toolsets");
  ReadShellToolset(toolsets.Map("shell"), worker);
  ReadDelegation(toolsets.Map("delegation"), worker);
  // Other toolsets are the author's own, with settings of their own.
}

}  // namespace odyssey::dialect::llm_do
