// agent: other people's agents in a cell.
#include <unistd.h>

#include <utility>
#include <vector>

#include "ctl/agent/agent_profiles.h"
#include "ctl/agent/agent_program.h"
#include "ctl/agent/agent_run.h"
#include "ctl/base/command.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/sanitize.h"
#include "ctl/exec/exec_call.h"
#include "ctl/exec/exec_run.h"
#include "policy/dialect/ceiling_directory.h"

namespace odyssey::ctl {
namespace {

constexpr char kRun[] = "agent run";

int AgentList(const Invocation& call) {
  const Console& console = *call.console;
  const std::vector<std::string> directories = ProfileDirectories();
  const Result<std::vector<std::string>> names = ProfileNames(directories);
  if (!names.ok()) return console.Fail({"agent list", names.status().message(), ""});
  Json list = Json::array();
  std::vector<std::vector<std::string>> rows;
  for (const std::string& name : *names) {
    NamedPlaces places;
    const Result<NamedProfile> found = FindProfile(name, directories, &places);
    Json entry = {{"name", name}};
    std::string where;
    if (!found.ok()) {
      where = found.status().message();
      entry["error"] = where;
      rows.push_back({name, "", Sanitize(where, Lines::kOne)});
      list.push_back(std::move(entry));
      continue;
    }
    const Result<AgentProgram> program =
        FindAgentProgram(found->profile, SearchOf(call.options, &places));
    entry["profile"] = found->profile.file;
    entry["summary"] = found->profile.summary;
    entry["api"] = found->profile.api;
    if (program.ok()) {
      entry["program"] = program->argv;
      where = program->argv.back();
    } else {
      entry["missing"] = program.status().message();
      where = "not found: " + program.status().message();
    }
    rows.push_back({name, found->profile.api, Sanitize(where, Lines::kOne)});
    list.push_back(std::move(entry));
  }
  if (console.json) {
    console.PrintJson(list);
  } else {
    console.Print(FormatTable({"NAME", "SPEAKS", "PROGRAM"}, rows));
  }
  return kExitOk;
}

// What the file says, with its variables.
Json ToJson(const NamedProfile& found) {
  const AgentProfile& profile = found.profile;
  Json out = {{"name", found.name},
              {"profile", profile.file},
              {"summary", profile.summary},
              {"command", profile.command},
              {"package", profile.package},
              {"programs", profile.programs},
              {"node", profile.node},
              {"models",
               {{"api", profile.api},
                {"server", profile.server},
                {"model", profile.model},
                {"key", profile.key}}},
              {"environment", Json::object()},
              {"arguments", profile.arguments},
              {"files", Json::object()},
              {"first_files", Json::object()},
              {"policy", Json::parse(dialect::ToJson(profile.policy))}};
  for (const auto& [name, value] : profile.environment) out["environment"][name] = value;
  for (const HomeFile& file : profile.files) {
    out[file.keep ? "first_files" : "files"][file.path] = file.text;
  }
  return out;
}

int AgentShow(const Invocation& call) {
  const Console& console = *call.console;
  NamedPlaces places;
  const Result<NamedProfile> found =
      FindProfile(call.options.Word(0), ProfileDirectories(), &places);
  if (!found.ok()) return console.Fail({"agent show", found.status().message(), ""});
  if (console.json) {
    console.PrintJson(ToJson(*found));
  } else {
    console.Print("# " + Sanitize(found->profile.file, Lines::kOne) + "\n" + Sanitize(found->text));
  }
  return kExitOk;
}

int AgentRun(const Invocation& call) {
  const Console& console = *call.console;
  ExecInputs inputs = MakeExecInputs();
  Result<ExecOptions> options = ReadAgentRun(call.options, console, &inputs);
  if (!options.ok()) {
    const bool missing = options.status().code() == Code::kNotFound;
    return CannotExec(console, {kRun, options.status().message(),
                                missing ? "odyssey-ctl agent list shows what was found."
                                        : "odyssey-ctl agent run --help lists the options."});
  }
  options->verb = kRun;
  const PolicyAsker asker(dialect::OwnerOf(getuid()), call.locations);
  return RunExec(console, asker, *std::move(options), inputs.places.get());
}

}  // namespace

std::vector<Command> AgentCommands() {
  std::vector<OptionSpec> run = AgentRunOptionSpecs();
  return {{.name = "agent run",
           .summary = "run an agent of others, such as claude-code, in a cell with a ready policy",
           .positionals = {{.name = "NAME"}, {.name = "ARG", .required = false, .rest = true}},
           .options = std::move(run),
           .notes =
               "NAME is a profile (see agent list), or the path of one. What stands after -- are "
               "the agent's own arguments.\nModels are asked at inference.local, by the operator's "
               "routes; with --key at the agent's own server, with a\nkey that the cell does not "
               "see. Exit codes are those of exec.",
           .usage_exit = kExitCannot,
           .run = AgentRun},
          {.name = "agent list",
           .summary = "list profiles of agents, and where their programs are",
           .options = ProgramOptionSpecs(),
           .run = AgentList},
          {.name = "agent show",
           .summary = "print the profile of an agent",
           .positionals = {{.name = "NAME"}},
           .run = AgentShow}};
}

}  // namespace odyssey::ctl
