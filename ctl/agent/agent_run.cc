#include "ctl/agent/agent_run.h"

#include <stdlib.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "ctl/agent/agent_profiles.h"
#include "ctl/policy/policy_file.h"

namespace odyssey::ctl {
namespace {

// Puts the variables of a profile before the program. They are no variables of the policy: those a
// ceiling bounds, since they may be secrets of the client's.
constexpr char kEnv[] = "/usr/bin/env";
constexpr char kInference[] = "inference.local";
// What an agent finds where it looks for a key; the key is odyssey-egress's.
constexpr char kNoKey[] = "odyssey-egress-has-the-key";
constexpr char kSearchPath[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

// Of `exec`: what a profile decides, and what would run the agent outside a cell.
constexpr std::string_view kNotOfAgents[] = {
    "mode", "dangerous-sandbox-mode", "owner", "tools", "tool", "network", "landlock"};

// Options of `exec` that mean something else without a value here.
constexpr std::pair<std::string_view, std::string_view> kOtherDefaults[] = {
    {"policy", "a policy of any kind in place of the profile's"},
    {"workspace", "this directory is /workspace in the cell, writable (default: the working one)"},
    {"cell", "keep the cell and the agent's home under this name, or use the one that is"},
    {"tty", "give the agent a terminal (default where stdin and stdout are one)"},
    {"denials",
     "print what was refused on stderr: always (default), auto (on a terminal) or never"}};

bool IsOfAgents(const OptionSpec& spec) {
  return std::find(std::begin(kNotOfAgents), std::end(kNotOfAgents), spec.name) ==
         std::end(kNotOfAgents);
}

// As if they had been typed for `exec`, with what `agent run` has for those that were not.
ParsedOptions AsOfExec(const ParsedOptions& options, const Console& console) {
  const std::vector<OptionSpec> specs = ExecOptionSpecs();
  ParsedOptions out(specs);
  for (const OptionSpec& spec : specs) {
    if (!IsOfAgents(spec)) continue;
    for (const std::string& value : options.All(spec.name)) out.Add(spec.name, value);
  }
  if (options.Has("key")) out.Add("provider", options.Text("key"));
  if (!options.Has("workspace")) out.Add("workspace", ".");
  if (!options.Has("denials")) out.Add("denials", "always");
  if (!options.Has("tty") && console.in_is_terminal && console.out_is_terminal) out.Add("tty", "");
  return out;
}

Status CheckModel(const std::string& model) {
  for (const char c : model) {
    const bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      std::string_view("-._:/@+").find(c) != std::string_view::npos;
    if (!good) {
      return InvalidArgument("--model \"" + model +
                             "\": expected letters, digits and -._:/@+ alone");
    }
  }
  return OkStatus();
}

std::set<std::string> NamesOf(const std::vector<std::string>& environment) {
  std::set<std::string> out;
  for (const std::string& entry : environment) out.insert(entry.substr(0, entry.find('=')));
  return out;
}

}  // namespace

std::vector<OptionSpec> ProgramOptionSpecs() {
  return {{.name = "program",
           .kind = ValueKind::kFile,
           .value_name = "PATH",
           .help = "the agent's program, or the directory that npm installed it in (default: as "
                   "$PATH has it, else npm root -g)"},
          {.name = "node",
           .kind = ValueKind::kFile,
           .value_name = "FILE",
           .help = "the Node that runs agents written in JavaScript (default: as $PATH has it)"}};
}

std::vector<OptionSpec> AgentRunOptionSpecs() {
  std::vector<OptionSpec> specs = ProgramOptionSpecs();
  specs.push_back({.name = "model",
                   .kind = ValueKind::kText,
                   .value_name = "NAME",
                   .help = "the model that is asked for (default: the profile's)"});
  specs.push_back({.name = "key",
                   .kind = ValueKind::kText,
                   .value_name = "NAME",
                   .help = "ask the agent's own server of models, with the key of this provider "
                           "(`odyssey-ctl provider`; default: inference.local)"});
  specs.push_back({.name = "server",
                   .kind = ValueKind::kText,
                   .value_name = "URL",
                   .help = "with --key: another server of the same protocol, https://HOST[/PATH]"});
  for (OptionSpec& spec : ExecOptionSpecs()) {
    if (!IsOfAgents(spec)) continue;
    for (const auto& [name, help] : kOtherDefaults) {
      if (spec.name == name) spec.help = help;
    }
    specs.push_back(std::move(spec));
  }
  return specs;
}

ProgramSearch SearchOf(const ParsedOptions& options, NamedPlaces* places) {
  const char* const path = getenv("PATH");
  return {options.Text("program"), options.Text("node"), path == nullptr ? kSearchPath : path,
          places};
}

Result<AgentCall> MakeAgentCall(const AgentProfile& profile, const AgentProgram& program,
                                const ParsedOptions& options) {
  const bool own_key = options.Has("key");
  ODY_RETURN_IF_ERROR(CheckModel(options.Text("model")));
  if (options.Has("server") && !own_key) {
    return InvalidArgument("--server: only with --key, which goes there");
  }
  const std::string server =
      !own_key ? std::string("https://") + kInference
               : (options.Has("server") ? options.Text("server") : profile.server);
  const Result<ServerPlace> place = ParseServer(server);
  if (!place.ok()) return InvalidArgument("--server " + place.status().message());
  AgentCall out;
  out.profile = FillProfile(
      profile, {{"host", place->host},
                {"path", place->path},
                {"key", profile.key},
                {"model", options.Has("model") ? options.Text("model") : profile.model},
                {"node", program.argv.size() > 1 ? program.executable : "/usr/bin/node"},
                {"program", program.executable},
                {"server", server}});

  const std::set<std::string> typed = NamesOf(options.All("env"));
  std::vector<std::pair<std::string, std::string>> variables = out.profile.environment;
  // With credentials of the user's odyssey-egress sets the variable to a placeholder.
  if (!own_key) variables.emplace_back(profile.key, kNoKey);
  out.argv = {kEnv};
  if (program.argv.size() > 1 && program.executable.rfind("/usr/", 0) != 0) {
    const std::string directory = program.executable.substr(0, program.executable.rfind('/'));
    variables.emplace_back("PATH", directory + ":" + kSearchPath);
  }
  for (const auto& [name, value] : variables) {
    if (!typed.contains(name)) out.argv.push_back(name + "=" + value);
  }
  out.argv.insert(out.argv.end(), program.argv.begin(), program.argv.end());
  const std::vector<std::string>& fixed = out.profile.arguments;
  out.argv.insert(out.argv.end(), fixed.begin(), fixed.end());
  const std::vector<std::string>& words = options.words();
  out.argv.insert(out.argv.end(), words.begin() + 1, words.end());
  return out;
}

Result<ExecOptions> ReadAgentRun(const ParsedOptions& options, const Console& console,
                                 ExecInputs* inputs) {
  NamedPlaces* const places = inputs->places.get();
  ODY_ASSIGN_OR_RETURN(const NamedProfile named,
                       FindProfile(options.Word(0), ProfileDirectories(), places));
  ODY_ASSIGN_OR_RETURN(const AgentProgram program,
                       FindAgentProgram(named.profile, SearchOf(options, places)));
  ODY_ASSIGN_OR_RETURN(AgentCall call, MakeAgentCall(named.profile, program, options));

  ODY_ASSIGN_OR_RETURN(const FoundPlace cwd, inputs->resolve("."));
  dialect::PolicyContext context = MakePolicyContext(cwd.name, inputs->environment, inputs->places);
  context.judges_secrets = true;  // the supervisor is asked
  dialect::Problems problems;
  std::optional<dialect::Policy> policy = ReadProfilePolicy(call.profile, context, &problems);
  if (!policy) return dialect::ToStatus(problems);
  // They are no option of the person: a supervisor that cannot enforce one runs the agent without
  // it.
  policy->request.unsaid_limits = policy->request.limits;
  const Walk& file = places->Look(call.profile.file, Links::kFileItself);
  inputs->base = ExecBase{*std::move(policy), file.name, program.trees};
  ODY_ASSIGN_OR_RETURN(ExecOptions out, ReadExecOptions(AsOfExec(options, console), *inputs));
  out.argv = std::move(call.argv);
  out.files = std::move(call.profile.files);
  return out;
}

}  // namespace odyssey::ctl
