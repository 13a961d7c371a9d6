// config check, config show.
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "ctl/base/command.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/sanitize.h"
#include "ctl/settings/settings_reader.h"
#include "ctl/settings/settings_text.h"
#include "policy/dialect/ceiling_directory.h"

namespace odyssey::ctl {
namespace {

using Json = nlohmann::json;

// The daemons that the command is about.
Result<std::vector<const DaemonSettings*>> Named(const Invocation& call) {
  std::vector<const DaemonSettings*> out;
  if (!call.options.Word(0).empty()) {
    ODY_ASSIGN_OR_RETURN(const DaemonSettings* one, FindDaemon(call.options.Word(0)));
    return std::vector<const DaemonSettings*>{one};
  }
  for (const DaemonSettings& daemon : AllSettings()) out.push_back(&daemon);
  return out;
}

std::string DirectoryOf(const Invocation& call) {
  const std::string named = call.options.Text("directory");
  return named.empty() ? kSettingsDirectory : named;
}

// What was found of one daemon, or of the ceiling.
struct Checked {
  std::vector<std::string> files;
  dialect::Problems problems;
};

Checked CheckDaemon(const DaemonSettings& daemon, const std::string& directory) {
  Checked out;
  const Result<dialect::OperatorFiles> files = FindSettingsFiles(daemon, directory);
  if (!files.ok()) {
    out.problems.push_back({dialect::ProblemKind::kIo, "", 0, "", files.status().message()});
    return out;
  }
  for (const dialect::OperatorFile& file : *files) out.files.push_back(file.file);
  const auto values = ParseSettings(daemon, *files, &out.problems);
  (void)ToArguments(WithDefaults(daemon, values), &out.problems);
  return out;
}

Checked CheckCeiling(const std::string& directory) {
  Checked out;
  const std::string path = directory + "/policy.d";
  const auto files = dialect::ReadOperatorFiles(path);
  if (files.ok() && *files) {
    for (const dialect::OperatorFile& file : **files) out.files.push_back(file.file);
  }
  const Status status = files.ok() ? dialect::ParseCeiling(*files).status() : files.status();
  if (!status.ok()) {
    out.problems.push_back({dialect::ProblemKind::kPolicy, "", 0, "", status.message()});
  }
  return out;
}

Json AsJson(const Checked& checked) {
  Json out = {{"files", checked.files}, {"problems", Json::array()}};
  for (const dialect::Problem& problem : checked.problems) {
    out["problems"].push_back({{"file", problem.file},
                               {"line", problem.line},
                               {"key", problem.key},
                               {"message", problem.message}});
  }
  return out;
}

int CheckCommand(const Invocation& call) {
  const Console& console = *call.console;
  const Result<std::vector<const DaemonSettings*>> daemons = Named(call);
  if (!daemons.ok()) {
    return console.Fail({"check the settings", daemons.status().message(), ""});
  }
  const std::string directory = DirectoryOf(call);
  Checked all;
  const auto add = [&](Checked one) {
    all.files.insert(all.files.end(), one.files.begin(), one.files.end());
    all.problems.insert(all.problems.end(), one.problems.begin(), one.problems.end());
  };
  for (const DaemonSettings* daemon : *daemons) add(CheckDaemon(*daemon, directory));
  if (call.options.Word(0).empty()) add(CheckCeiling(directory));
  if (console.json) {
    console.PrintJson(AsJson(all));
  } else {
    for (const dialect::Problem& problem : all.problems) {
      console.Warn(Sanitize(dialect::ToString(problem), Lines::kOne));
    }
    for (const std::string& file : all.files) console.PrintLine(Sanitize(file, Lines::kOne));
    if (all.files.empty() && all.problems.empty())
      console.PrintLine("no files in " + Sanitize(directory, Lines::kOne));
  }
  return all.problems.empty() ? kExitOk : kExitFailed;
}

Json AsJson(const std::vector<SettingValue>& values) {
  Json out = Json::array();
  for (const SettingValue& value : values) {
    Json row = {{"key", value.setting->key}, {"value", value.value}};
    if (value.file.empty()) {
      row["default"] = true;
    } else {
      row["file"] = value.file;
      row["line"] = value.line;
    }
    out.push_back(std::move(row));
  }
  return out;
}

int ShowCommand(const Invocation& call) {
  const Console& console = *call.console;
  const Result<std::vector<const DaemonSettings*>> daemons = Named(call);
  if (!daemons.ok()) return console.Fail({"show the settings", daemons.status().message(), ""});
  Json json = Json::object();
  for (const DaemonSettings* daemon : *daemons) {
    Result<std::vector<SettingValue>> values = ReadSettings(*daemon, DirectoryOf(call));
    if (!values.ok()) {
      return console.Fail({"show the settings", values.status().message(),
                           "odyssey-ctl config check shows all that is wrong."});
    }
    if (call.options.Has("effective")) values = WithDefaults(*daemon, *std::move(values));
    if (console.json) {
      json[std::string(daemon->name)] = AsJson(*values);
      continue;
    }
    if (daemons->size() > 1) console.PrintLine("# " + std::string(daemon->program));
    console.Print(Sanitize(EffectiveFile(*values), Lines::kMany));
  }
  if (console.json) console.PrintJson(json);
  return kExitOk;
}

}  // namespace

std::vector<Command> SettingsCommands() {
  const PositionalSpec daemon = {.name = "DAEMON", .required = false};
  const OptionSpec directory = {.name = "directory",
                                .kind = ValueKind::kDirectory,
                                .value_name = "DIR",
                                .help = "where the files are (default /etc/odyssey)"};
  return {{.name = "config check",
           .summary = "check the daemons' settings and the ceiling, without starting anything",
           .positionals = {daemon},
           .options = {directory},
           .notes = "DAEMON is supervisor, egress or agentd; without it, all of them and policy.d. "
                    "Prints the files that were read; each problem with its file and line goes to "
                    "stderr, and the exit code is 1.",
           .run = CheckCommand},
          {.name = "config show",
           .summary = "show the daemons' settings, and where each is written",
           .positionals = {daemon},
           .options = {directory, {.name = "effective", .help = "with the defaults of other keys"}},
           .run = ShowCommand}};
}

}  // namespace odyssey::ctl
