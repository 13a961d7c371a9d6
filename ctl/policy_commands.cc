// policy explain|check|diff.
#include <unistd.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ctl/ceiling_view.h"
#include "ctl/command.h"
#include "ctl/compile_here.h"
#include "ctl/destination_check.h"
#include "ctl/exec_options.h"
#include "ctl/exit_code.h"
#include "ctl/explain.h"
#include "ctl/host_facts.h"
#include "ctl/path_check.h"
#include "ctl/policy_diff.h"
#include "ctl/policy_file.h"
#include "ctl/project_approval.h"
#include "ctl/sanitize.h"
#include "policy/dialect/bundle.h"
#include "policy/dialect/llm_do_command.h"
#include "policy/lattice/lattice.h"
#include "policy/plan/plan_check.h"
#include "policy/rules/tool_rules.h"

namespace odyssey::ctl {
namespace {

using dialect::openshell::Destination;

constexpr char kExplainNotes[] =
    "FILE is a policy of any kind (odyssey.policy/v1, llm-do, odek, OpenShell), a bundle "
    "directory, "
    "its manifest,\nor the file of an agent in it. Without it: the operator's ceiling alone.";
constexpr char kCheckNotes[] =
    "FILE is a policy of any kind (odyssey.policy/v1, llm-do, odek, OpenShell), a bundle "
    "directory, "
    "its manifest,\nor the file of an agent in it. What the operator's ceiling refuses is denied.\n"
    "Exits 0 for allow, 3 for deny, 4 for ask, 1 for a file that does not validate.";

// What to do about a file that cannot be read.
std::string NextFor(const std::string& file) {
  if (BundleDirectory(file).ok()) {
    return "odyssey-ctl bundle validate DIR lists every problem of a bundle.";
  }
  return "docs/policy/dialects.md tells the kinds of files and their keys.";
}

// A policy, or what is wrong with its file: its problems are told on stderr, one a line.
Result<dialect::Policy> ReadFile(const Console& console, const std::string& file,
                                 const CeilingView& ceiling) {
  const ExecInputs inputs = MakeExecInputs();
  ODY_ASSIGN_OR_RETURN(const std::string cwd, inputs.resolve("."));
  dialect::Problems problems;
  dialect::PolicyContext context = MakePolicyContext(cwd, inputs.environment);
  context.granted_env = GrantedSecrets(ceiling);
  context.bundle_copy = ceiling.asker.host.bundle_store + "/copy";
  const ceiling::Owner& owner = ceiling.asker.owner;
  if (owner.uid != getuid()) context.home = owner.home;
  Result<dialect::Policy> policy = ReadPolicy(file, context, &problems);
  if (policy.ok()) PrintWarnings(console, policy->warnings);
  if (problems.empty()) return policy;
  for (const dialect::Problem& problem : problems) {
    console.Warn(Sanitize(dialect::ToString(problem), Lines::kOne));
  }
  return Status(policy.status().code(), std::to_string(problems.size()) +
                                            (problems.size() == 1 ? " problem" : " problems"));
}

// The same of the policy that is asked about, with the places that this host may lack for it.
Result<dialect::Policy> ReadAsked(const Console& console, const std::string& file,
                                  const CeilingView& ceiling) {
  ODY_ASSIGN_OR_RETURN(dialect::Policy policy, ReadFile(console, file, ceiling));
  const dialect::Problems doubts = DoubtfulPlaces(policy, file);
  PrintWarnings(console, doubts);
  policy.warnings.insert(policy.warnings.end(), doubts.begin(), doubts.end());
  return policy;
}

// The policy that --within names, nullopt without it. Its warnings are told with the others.
Result<std::optional<dialect::Policy>> ReadWithin(const Invocation& call,
                                                  const CeilingView& ceiling,
                                                  dialect::Problems* warnings) {
  if (!call.options.Has("within")) return std::optional<dialect::Policy>();
  ODY_ASSIGN_OR_RETURN(dialect::Policy policy,
                       ReadFile(*call.console, call.options.Text("within"), ceiling));
  warnings->insert(warnings->end(), policy.warnings.begin(), policy.warnings.end());
  return std::optional<dialect::Policy>(std::move(policy));
}

OptionSpec WithinOption(const char* help) {
  return {.name = "within", .kind = ValueKind::kFile, .value_name = "FILE", .help = help};
}

constexpr char kNoCell[] =
    "; no cell is made of it: its endpoints need the egress proxy, which this version does not "
    "have";

constexpr char kCeilingNext[] = "docs/policy/ceiling.md tells the keys of the operator's files.";

// What may be asked for at all.
int ExplainCeiling(const Console& console, const CeilingView& ceiling) {
  if (console.json) {
    console.PrintJson({{"ceiling", CeilingAsJson(ceiling, {})}});
  } else {
    PrintCeiling(console, ceiling, {});
  }
  return kExitOk;
}

// On the host an agent's commands begin where its session was made: here, for example.
policy::SandboxRequest RequestOf(const dialect::Policy& policy) {
  policy::SandboxRequest request = policy.request;
  const bool agents =
      policy.dialect == dialect::Dialect::kManifest || policy.dialect == dialect::Dialect::kBundle;
  if (!agents || request.mode != policy::Mode::kDangerFullAccess) return request;
  const Result<std::string> here = MakeExecInputs().resolve(".");
  if (here.ok()) request.workspace = *here;
  return request;
}

// Leaves of the policy what the one of --within gives too.
Status NarrowWithin(const Invocation& call, const CeilingView& ceiling, dialect::Policy* policy) {
  ODY_ASSIGN_OR_RETURN(const std::optional<dialect::Policy> parent,
                       ReadWithin(call, ceiling, &policy->warnings));
  if (!parent) return OkStatus();
  ODY_ASSIGN_OR_RETURN(policy->request, lattice::Narrow(parent->request, policy->request));
  policy->origins = {};  // its fields are others now
  return OkStatus();
}

int Explain(const Invocation& call) {
  const Console& console = *call.console;
  const std::string file = call.options.Word(0);
  const Result<CeilingView> ceiling = LoadCeilingView(call.options, call.locations);
  if (!ceiling.ok()) {
    return console.Fail({"read the operator's ceiling", ceiling.status().message(), kCeilingNext});
  }
  if (file.empty()) return ExplainCeiling(console, *ceiling);
  Result<dialect::Policy> policy = ReadAsked(console, file, *ceiling);
  Status status = policy.ok() ? NarrowWithin(call, *ceiling, &*policy) : policy.status();
  if (status.ok()) {
    status = PrintPlan(console, RequestOf(*policy), *ceiling, call.locations, &*policy);
    status = policy->origins.Locate(status);
  }
  if (status.ok()) return kExitOk;
  const bool refused = status.code() == Code::kPermissionDenied;
  return console.Fail(
      {"explain " + file, status.message(), refused ? kCeilingNext : NextFor(file)});
}

// The agent whose file was named, if no other one was asked for.
Result<dialect::AgentSpec> AgentFor(const dialect::Bundle& bundle, const std::string& file,
                                    const std::string& agent) {
  if (agent.empty()) {
    Result<dialect::AgentSpec> named = dialect::FindAgentOfFile(bundle, file);
    if (named.ok()) return named;
  }
  return dialect::FindAgent(bundle, agent);
}

// A command that cannot be read is refused wherever it is tried.
Result<rules::Decision> OrRefusal(Result<rules::Decision> decision) {
  if (decision.status().code() != Code::kInvalidArgument) return decision;
  return rules::Decision{
      .verdict = rules::Verdict::kDeny, .rule = "", .reason = decision.status().message()};
}

// By the rules of a worker; the decision's rule is told with its line.
Result<rules::Decision> CheckWorkerCommand(const dialect::Policy& policy,
                                           const std::string& command) {
  ODY_ASSIGN_OR_RETURN(rules::Decision decision,
                       OrRefusal(dialect::llm_do::DecideCommand(*policy.worker, command)));
  const dialect::Place* place = policy.origins.Find(decision.rule);
  if (place != nullptr) {
    decision.rule = place->file + ":" + std::to_string(place->line) + ": " + place->key;
  }
  return decision;
}

Result<rules::Decision> CheckCommand(const dialect::Policy& policy, const std::string& file,
                                     const std::string& agent, const std::string& command) {
  using dialect::Dialect;
  if (policy.worker) return CheckWorkerCommand(policy, command);
  if (policy.dialect != Dialect::kManifest && policy.dialect != Dialect::kBundle) {
    return InvalidArgument("--cmd: a file of the kind " +
                           std::string(dialect::DialectName(policy.dialect)) +
                           " has no rules about commands; bundles and llm-do workers have");
  }
  ODY_ASSIGN_OR_RETURN(const std::string directory, BundleDirectory(file));
  ODY_ASSIGN_OR_RETURN(const dialect::Bundle bundle, dialect::LoadBundle(directory));
  ODY_ASSIGN_OR_RETURN(const dialect::AgentSpec spec, AgentFor(bundle, file, agent));
  ODY_ASSIGN_OR_RETURN(const rules::ToolRules tool_rules,
                       rules::Parse(spec.tools.allow, spec.tools.ask, spec.tools.deny));
  return OrRefusal(rules::Decide(tool_rules, {.name = "Bash", .command = command}));
}

// As the supervisor would. That endpoints get no cell yet is no mistake of a file, but a path is in
// a cell or nowhere.
Result<compile::Compiled> CompileChecked(const Invocation& call, const dialect::Policy& policy,
                                         const CeilingView& ceiling) {
  policy::SandboxRequest request = RequestOf(policy);
  const bool endpoints = request.network == policy::Network::kEgress;
  if (endpoints && !call.options.Has("path")) request.network = policy::Network::kNone;
  Result<compile::Compiled> compiled = CompileHere(std::move(request), ceiling, call.locations);
  if (!compiled.ok()) return policy.origins.Locate(compiled.status());
  return compiled;
}

// The denial of what the policy of --within does not give; nullopt: it gives all, or is not named.
Result<std::optional<rules::Decision>> DeniedWithin(const Invocation& call,
                                                    const dialect::Policy& policy,
                                                    const CeilingView& ceiling,
                                                    dialect::Problems* warnings) {
  ODY_ASSIGN_OR_RETURN(std::optional<dialect::Policy> named, ReadWithin(call, ceiling, warnings));
  if (!named) return std::optional<rules::Decision>();
  const std::string file = call.options.Text("within");
  ODY_ASSIGN_OR_RETURN(const WholePolicy parent, WholePolicyOf(file, *std::move(named)));
  ODY_ASSIGN_OR_RETURN(const WholePolicy child, WholePolicyOf(call.options.Word(0), policy));
  ODY_ASSIGN_OR_RETURN(const std::optional<std::string> beyond, BeyondParent(child, parent));
  if (!beyond) return std::optional<rules::Decision>();
  return std::optional<rules::Decision>(rules::Decision{
      .verdict = rules::Verdict::kDeny, .rule = "within " + file, .reason = *beyond});
}

// Of the questions that the request answers. `destination` is what --host names.
Result<rules::Decision> Decide(const Invocation& call, const dialect::Policy& policy,
                               const CeilingView& ceiling,
                               const std::optional<Destination>& destination,
                               dialect::Problems* warnings) {
  const ParsedOptions& options = call.options;
  const policy::SandboxRequest& request = policy.request;
  if (auto denied = DeniedByCeiling(ceiling, policy)) {
    const bool egress = request.network == policy::Network::kEgress;
    if (destination && egress) denied->reason += "; " + DecideHost(policy, *destination).reason;
    return *denied;
  }
  ODY_ASSIGN_OR_RETURN(const std::optional<rules::Decision> beyond,
                       DeniedWithin(call, policy, ceiling, warnings));
  if (beyond) return *beyond;
  const Result<compile::Compiled> compiled = CompileChecked(call, policy, ceiling);
  if (compiled.status().code() == Code::kPermissionDenied) {
    return rules::Decision{.verdict = rules::Verdict::kDeny,
                           .rule = "what no cell is given",
                           .reason = compiled.status().message()};
  }
  ODY_RETURN_IF_ERROR(compiled.status());
  if (destination) {
    rules::Decision decision = DecideHost(policy, *destination);
    AddGrant(
        ceiling, request, [](const ceiling::Ruling& ruling) { return ruling.key == "network"; },
        &decision);
    return decision;
  }
  if (options.Has("path")) {
    const std::string path = options.Text("path");
    ODY_ASSIGN_OR_RETURN(PathAnswer answer, DecidePath({request, *compiled}, path, LinkOfHost));
    const auto holds = [&](const ceiling::Ruling& ruling) {
      return !answer.host.empty() && plan::IsWithin(answer.host, ruling.value);
    };
    AddGrant(ceiling, request, holds, &answer.decision);
    return answer.decision;
  }
  std::string reason = "the file is valid: " + std::string(dialect::DialectName(policy.dialect));
  if (request.network == policy::Network::kEgress) reason += kNoCell;
  return rules::Decision{.reason = std::move(reason)};
}

// What a project's file adds is asked about before anything of it runs.
Result<rules::Decision> AskFirst(const Invocation& call, const dialect::Policy& policy,
                                 const CeilingView& ceiling, rules::Decision decision) {
  if (decision.verdict != rules::Verdict::kAllow) return decision;
  ODY_ASSIGN_OR_RETURN(const std::string pending,
                       PendingApproval(policy, ceiling.asker.owner.uid, call.locations));
  if (pending.empty()) return decision;
  return rules::Decision{
      .verdict = rules::Verdict::kAsk, .rule = "project approval", .reason = pending};
}

int PrintDecision(const Console& console, const rules::Decision& decision,
                  const dialect::Problems& warnings) {
  const std::string verdict(rules::VerdictName(decision.verdict));
  if (console.json) {
    console.PrintJson({{"verdict", verdict},
                       {"rule", decision.rule},
                       {"reason", decision.reason},
                       {"warnings", WarningsAsJson(warnings)}});
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

int Check(const Invocation& call) {
  const Console& console = *call.console;
  const std::string file = call.options.Word(0);
  const bool command = call.options.Has("cmd");
  if (command + call.options.Has("path") + call.options.Has("host") > 1) {
    console.Fail({"policy check", "--cmd, --path and --host: expected at most one of them",
                  "Ask one thing at a time."});
    return kExitUsage;
  }
  std::optional<Destination> destination;
  if (call.options.Has("host")) {
    Result<Destination> parsed = dialect::openshell::ParseDestination(call.options.Text("host"));
    if (!parsed.ok()) {
      console.Fail({"policy check", "--host " + parsed.status().message(), ""});
      return kExitUsage;
    }
    destination = std::move(*parsed);
  }
  const Result<CeilingView> ceiling = LoadCeilingView(call.options, call.locations);
  if (!ceiling.ok()) {
    return console.Fail({"read the operator's ceiling", ceiling.status().message(), kCeilingNext});
  }
  const Result<dialect::Policy> policy = ReadAsked(console, file, *ceiling);
  if (!policy.ok())
    return console.Fail({"check " + file, policy.status().message(), NextFor(file)});
  dialect::Problems warnings = policy->warnings;
  Result<rules::Decision> decision = Decide(call, *policy, *ceiling, destination, &warnings);
  if (decision.ok()) decision = AskFirst(call, *policy, *ceiling, *decision);
  // A command runs nowhere if no cell is made.
  if (decision.ok() && command && decision->verdict == rules::Verdict::kAllow) {
    decision = CheckCommand(*policy, file, call.options.Text("agent"), call.options.Text("cmd"));
  }
  if (!decision.ok())
    return console.Fail({"check " + file, decision.status().message(), NextFor(file)});
  return PrintDecision(console, *decision, warnings);
}

}  // namespace

std::vector<Command> PolicyCommands() {
  const PositionalSpec file = {.name = "FILE", .kind = ValueKind::kFile};
  PositionalSpec optional_file = file;
  optional_file.required = false;
  std::vector<OptionSpec> questions = {
      {.name = "cmd",
       .kind = ValueKind::kText,
       .value_name = "COMMAND",
       .help = "a command line of the Bash tool, or of an llm-do worker's shell"},
      {.name = "path",
       .kind = ValueKind::kFile,
       .value_name = "PATH",
       .help = "a path of this host: does a command see it, may it write it"},
      {.name = "host",
       .kind = ValueKind::kText,
       .value_name = "HOST[:PORT]",
       .help = "a host of the network: does a command reach it, and by which endpoint"},
      {.name = "agent",
       .kind = ValueKind::kText,
       .value_name = "ID",
       .help = "with --cmd: the agent whose rules count (default: the default one)"}};
  questions.push_back(
      WithinOption("denied is what this policy does not give too, by the account of policy diff"));
  for (OptionSpec& spec : CeilingOptionSpecs()) questions.push_back(std::move(spec));
  std::vector<OptionSpec> explained = CeilingOptionSpecs();
  explained.push_back(WithinOption("only what this policy gives too: of an agent under another"));
  return {
      {.name = "policy explain",
       .summary = "the compiled plan of a policy, each line with why it is there, and the ceiling",
       .positionals = {optional_file},
       .options = std::move(explained),
       .notes = kExplainNotes,
       .run = Explain},
      {.name = "policy check",
       .summary = "whether a policy is valid; whether it would allow something, and by which rule",
       .positionals = {file},
       .options = std::move(questions),
       .notes = kCheckNotes,
       .run = Check},
      PolicyDiffCommand(),
  };
}

}  // namespace odyssey::ctl
