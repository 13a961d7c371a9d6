// policy explain|check.
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ctl/command.h"
#include "ctl/exec_options.h"
#include "ctl/exit_code.h"
#include "ctl/explain.h"
#include "ctl/path_check.h"
#include "ctl/policy_file.h"
#include "ctl/sanitize.h"
#include "policy/dialect/bundle.h"
#include "policy/rules/tool_rules.h"

namespace odyssey::ctl {
namespace {

constexpr char kNext[] = "odyssey-ctl bundle validate DIR lists every problem of a bundle.";

Result<policy::SandboxRequest> ReadRequest(const std::string& file) {
  const ExecInputs inputs = MakeExecInputs();
  PolicyContext context;
  context.environment = inputs.environment;
  ODY_ASSIGN_OR_RETURN(context.client_cwd, inputs.resolve("."));
  return ReadPolicy(file, context);
}

int Explain(const Invocation& call) {
  const Result<policy::SandboxRequest> request = ReadRequest(call.options.Word(0));
  Status status = request.status();
  if (request.ok()) status = PrintPlan(*call.console, *request, call.locations.state);
  if (status.ok()) return kExitOk;
  return call.console->Fail({"explain " + call.options.Word(0), status.message(), kNext});
}

Result<rules::Decision> CheckCommand(const std::string& file, const std::string& agent,
                                     const std::string& command) {
  ODY_ASSIGN_OR_RETURN(const std::string directory, BundleDirectory(file));
  ODY_ASSIGN_OR_RETURN(const dialect::Bundle bundle, dialect::LoadBundle(directory));
  ODY_ASSIGN_OR_RETURN(const dialect::AgentSpec spec, dialect::FindAgent(bundle, agent));
  ODY_ASSIGN_OR_RETURN(const rules::ToolRules tool_rules,
                       rules::Parse(spec.tools.allow, spec.tools.ask, spec.tools.deny));
  return rules::Decide(tool_rules, {.name = "Bash", .command = command});
}

Result<rules::Decision> CheckPath(const std::string& file, const std::string& path) {
  ODY_ASSIGN_OR_RETURN(const policy::SandboxRequest request, ReadRequest(file));
  return DecidePath(request, path);
}

int PrintDecision(const Console& console, const rules::Decision& decision) {
  const std::string verdict(rules::VerdictName(decision.verdict));
  if (console.json) {
    console.PrintJson({{"verdict", verdict}, {"rule", decision.rule}, {"reason", decision.reason}});
  } else {
    std::string line = verdict;
    if (!decision.rule.empty()) line += "  by " + Sanitize(decision.rule, Lines::kOne);
    if (!decision.reason.empty()) line += "  (" + Sanitize(decision.reason, Lines::kOne) + ")";
    console.PrintLine(line);
  }
  switch (decision.verdict) {
    case rules::Verdict::kAllow:
      return kExitOk;
    case rules::Verdict::kAsk:
      return kExitPolicyAsk;
    case rules::Verdict::kDeny:
      return kExitPolicyDeny;
  }
  return kExitFailed;
}

// Without a question: does the file validate, and can its sandbox be made on this host.
int CheckFile(const Console& console, const std::string& file) {
  const Result<policy::SandboxRequest> request = ReadRequest(file);
  if (!request.ok()) return console.Fail({"check " + file, request.status().message(), kNext});
  return PrintDecision(console, {.reason = "the file is valid"});
}

int Check(const Invocation& call) {
  const Console& console = *call.console;
  const std::string file = call.options.Word(0);
  const bool command = call.options.Has("cmd");
  const bool path = call.options.Has("path");
  if (command && path) {
    console.Fail({"policy check", "--cmd and --path: expected at most one of them",
                  "Ask one thing at a time."});
    return kExitUsage;
  }
  if (!command && !path) return CheckFile(console, file);
  const Result<rules::Decision> decision =
      command ? CheckCommand(file, call.options.Text("agent"), call.options.Text("cmd"))
              : CheckPath(file, call.options.Text("path"));
  if (!decision.ok()) return console.Fail({"check " + file, decision.status().message(), kNext});
  return PrintDecision(console, *decision);
}

}  // namespace

std::vector<Command> PolicyCommands() {
  const PositionalSpec file = {.name = "FILE", .kind = ValueKind::kFile};
  return {
      {.name = "policy explain",
       .summary = "the compiled plan of a policy, each line with why it is there",
       .positionals = {file},
       .notes = "FILE is a bundle directory, or its manifest.",
       .run = Explain},
      {.name = "policy check",
       .summary = "whether a policy is valid; whether it would allow something, and by which rule",
       .positionals = {file},
       .options = {{.name = "cmd",
                    .kind = ValueKind::kText,
                    .value_name = "COMMAND",
                    .help = "a command line of the Bash tool"},
                   {.name = "path",
                    .kind = ValueKind::kFile,
                    .value_name = "PATH",
                    .help = "a path of this host: does a command see it, may it write it"},
                   {.name = "agent",
                    .kind = ValueKind::kText,
                    .value_name = "ID",
                    .help = "with --cmd: the agent whose rules count (default: the default one)"}},
       .notes = "Exits 0 for allow, 3 for deny, 4 for ask, 1 for a file that does not validate.",
       .run = Check},
  };
}

}  // namespace odyssey::ctl
