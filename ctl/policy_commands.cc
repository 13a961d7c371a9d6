// policy explain|check|diff.
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ctl/ceiling_view.h"
#include "ctl/command.h"
#include "ctl/compile_here.h"
#include "ctl/exec_options.h"
#include "ctl/exit_code.h"
#include "ctl/explain.h"
#include "ctl/own_places.h"
#include "ctl/path_check.h"
#include "ctl/policy_diff.h"
#include "ctl/policy_file.h"
#include "ctl/policy_json.h"
#include "ctl/policy_question.h"
#include "ctl/sanitize.h"
#include "policy/lattice/lattice.h"
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
Result<dialect::Policy> ReadPolicyFile(const Console& console, const std::string& file,
                                       const CeilingView& ceiling, dialect::Problems* problems) {
  const ExecInputs inputs = MakeExecInputs();
  ODY_ASSIGN_OR_RETURN(const FoundPlace cwd, inputs.resolve("."));
  dialect::PolicyContext context = MakePolicyContext(cwd.name, inputs.environment);
  context.judges_secrets = true;
  context.bundle_copy = ceiling.asker.host.bundle_store + "/copy";
  const ceiling::Owner& owner = ceiling.asker.owner;
  if (owner.uid != getuid()) context.home = owner.home;
  Result<dialect::Policy> policy = ReadPolicy(file, context, problems);
  if (policy.ok()) PrintWarnings(console, policy->warnings);
  if (problems->empty()) return policy;
  for (const dialect::Problem& problem : *problems) {
    console.Warn(Sanitize(dialect::ToString(problem), Lines::kOne));
  }
  return Status(policy.status().code(), std::to_string(problems->size()) +
                                            (problems->size() == 1 ? " problem" : " problems"));
}

// What a command was asked about, or why it cannot be answered.
struct Asked {
  dialect::Problems problems;  // of the file that cannot be read
  CeilingView ceiling;
  dialect::Policy policy;
  std::optional<dialect::Policy> within;  // that of --within
};

// The policy of the command's file with the places that this host may lack for it, and that of
// --within, whose warnings are told with the others.
Status ReadAsked(const Invocation& call, Asked* out) {
  const Console& console = *call.console;
  const std::string file = call.options.Word(0);
  ODY_ASSIGN_OR_RETURN(out->policy, ReadPolicyFile(console, file, out->ceiling, &out->problems));
  dialect::Problems more = DoubtfulPlaces(out->policy, file);
  for (dialect::Problem& doubt : DoubtfulReach(out->policy, out->ceiling.asker.owner, file)) {
    more.push_back(std::move(doubt));
  }
  PrintWarnings(console, more);
  if (call.options.Has("within")) {
    ODY_ASSIGN_OR_RETURN(out->within, ReadPolicyFile(console, call.options.Text("within"),
                                                     out->ceiling, &out->problems));
    more.insert(more.end(), out->within->warnings.begin(), out->within->warnings.end());
  }
  auto& warnings = out->policy.warnings;
  warnings.insert(warnings.end(), more.begin(), more.end());
  return OkStatus();
}

// Why there is no answer: for people, and with -o json as one.
int FailAnswer(const Console& console, const Failure& failure, const Status& status,
               dialect::Problems problems, const dialect::Policy& policy, const std::string& file) {
  if (problems.empty()) problems = ProblemsOf(status, policy.origins, file);
  if (console.json) {
    console.PrintJson(AnswerAsJson({.verdict = kInvalid,
                                    .rule = "",
                                    .reason = failure.why,
                                    .problems = std::move(problems),
                                    .warnings = policy.warnings}));
  }
  return console.Fail(failure);
}

OptionSpec WithinOption(const char* help) {
  return {.name = "within", .kind = ValueKind::kFile, .value_name = "FILE", .help = help};
}

constexpr char kCeilingNext[] = "docs/policy/ceiling.md tells the keys of the operator's files.";

int FailCeiling(const Console& console, const Status& status) {
  return FailAnswer(console, {"read the operator's ceiling", status.message(), kCeilingNext},
                    status, {}, {}, "");
}

// What may be asked for at all.
int ExplainCeiling(const Console& console, const CeilingView& ceiling) {
  if (console.json) {
    console.PrintJson({{"ceiling", CeilingAsJson(ceiling, {})}});
  } else {
    PrintCeiling(console, ceiling, {});
  }
  return kExitOk;
}

// Leaves of the policy what the one of --within gives too.
Status NarrowWithin(Asked* asked) {
  if (!asked->within) return OkStatus();
  policy::SandboxRequest& request = asked->policy.request;
  ODY_ASSIGN_OR_RETURN(request, lattice::Narrow(asked->within->request, request));
  asked->policy.origins = {};  // its fields are others now
  auto& secrets = asked->policy.secrets;
  secrets.erase(std::remove_if(secrets.begin(), secrets.end(),
                               [&](const dialect::SecretVariable& secret) {
                                 return request.env.count(secret.target) == 0;
                               }),
                secrets.end());
  return OkStatus();
}

int Explain(const Invocation& call) {
  const Console& console = *call.console;
  const std::string file = call.options.Word(0);
  const Result<CeilingView> ceiling = LoadCeilingView(call.options, call.locations);
  if (!ceiling.ok()) return FailCeiling(console, ceiling.status());
  if (file.empty()) return ExplainCeiling(console, *ceiling);
  Asked asked{.ceiling = *ceiling};
  Status status = ReadAsked(call, &asked);
  if (status.ok()) status = NarrowWithin(&asked);
  const dialect::Policy& policy = asked.policy;
  if (!status.ok()) {
    const Failure failure = {"explain " + file, status.message(), NextFor(file)};
    return FailAnswer(console, failure, status, asked.problems, policy, file);
  }
  const Explained explained = {RequestOf(policy), &policy, policy.origins,
                               CheckSecrets(*ceiling, policy.secrets)};
  status = PrintPlan(console, explained, *ceiling, call.locations);
  if (status.ok()) return kExitOk;
  const bool refused = status.code() == Code::kPermissionDenied;
  return console.Fail(
      {"explain " + file, status.message(), refused ? kCeilingNext : NextFor(file)});
}

int PrintAnswer(const Console& console, const PolicyAnswer& answer,
                const dialect::Problems& warnings) {
  const rules::Decision& decision = answer.decision;
  const std::string verdict(rules::VerdictName(decision.verdict));
  if (console.json) {
    console.PrintJson(
        AnswerAsJson({verdict, decision.rule, decision.reason, answer.problems, warnings}));
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

// What cannot be asked of any file; else the host that is asked about, if one is.
Result<std::optional<Destination>> ReadQuestion(const ParsedOptions& options) {
  if (options.Has("cmd") + options.Has("path") + options.Has("host") > 1) {
    return InvalidArgument("--cmd, --path and --host: expected at most one of them");
  }
  if (options.Has("path")) ODY_RETURN_IF_ERROR(CheckAskedPath(options.Text("path")));
  std::optional<Destination> destination;
  if (options.Has("host")) {
    Result<Destination> parsed = dialect::openshell::ParseDestination(options.Text("host"));
    if (!parsed.ok()) return InvalidArgument("--host " + parsed.status().message());
    destination = *std::move(parsed);
  }
  return destination;
}

int Check(const Invocation& call) {
  const Console& console = *call.console;
  const std::string file = call.options.Word(0);
  const Result<std::optional<Destination>> destination = ReadQuestion(call.options);
  if (!destination.ok()) {
    console.Fail({"policy check", destination.status().message(),
                  "odyssey-ctl policy check --help tells what can be asked."});
    return kExitUsage;
  }
  const Result<CeilingView> ceiling = LoadCeilingView(call.options, call.locations);
  if (!ceiling.ok()) return FailCeiling(console, ceiling.status());
  Asked asked{.ceiling = *ceiling};
  Status status = ReadAsked(call, &asked);
  if (status.ok()) {
    const Result<PolicyAnswer> answer =
        AnswerOf({call, asked.policy, *ceiling, asked.within, *destination});
    if (answer.ok()) return PrintAnswer(console, *answer, asked.policy.warnings);
    status = answer.status();
  }
  const Failure failure = {"check " + file, asked.policy.origins.Locate(status).message(),
                           NextFor(file)};
  return FailAnswer(console, failure, status, asked.problems, asked.policy, file);
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
