// policy explain|check|diff.
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ctl/base/command.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/sanitize.h"
#include "ctl/file/seen_places.h"
#include "ctl/policy/ceiling_view.h"
#include "ctl/policy/exec_options.h"
#include "ctl/policy/explain.h"
#include "ctl/policy/policy_asker.h"
#include "ctl/policy/policy_diff.h"
#include "ctl/policy/policy_export.h"
#include "ctl/policy/policy_file.h"
#include "ctl/policy/policy_json.h"
#include "ctl/policy/policy_question.h"
#include "policy/dialect/policy_reader.h"
#include "policy/lattice/lattice.h"
#include "policy/rules/tool_rules.h"

namespace odyssey::ctl {
namespace {

using egress::Destination;

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
  return "docs/policy/dialects.md describes the kinds of files and their keys.";
}

// Each on stderr, one a line; the status counts them.
Status TellProblems(const Console& console, const dialect::Problems& problems, Code code) {
  for (const dialect::Problem& problem : problems) {
    console.Warn(Sanitize(dialect::ToString(problem), Lines::kOne));
  }
  return Status(
      code, std::to_string(problems.size()) + (problems.size() == 1 ? " problem" : " problems"));
}

// A policy, or what is wrong with its file: its problems are told on stderr, one a line.
Result<dialect::Policy> ReadPolicyFile(const Console& console, const std::string& file,
                                       const PolicyAsker& asker, dialect::Problems* problems) {
  const ExecInputs inputs = MakeExecInputs();
  ODY_ASSIGN_OR_RETURN(const FoundPlace cwd, inputs.resolve("."));
  dialect::PolicyContext context = MakePolicyContext(cwd.name, inputs.environment);
  context.judges_secrets = true;
  context.bundle_copy = asker.locations().bundle_store + "/copy";
  if (asker.owner().uid != getuid()) context.home = asker.owner().home;
  Result<dialect::Policy> policy = ReadPolicy(file, context, problems);
  if (policy.ok()) PrintWarnings(console, policy->warnings);
  if (problems->empty()) return policy;
  return TellProblems(console, *problems, policy.status().code());
}

// What a command was asked about, or why it cannot be answered.
struct Asked {
  dialect::Problems problems;  // of the file that cannot be read
  dialect::Policy policy;
  std::optional<dialect::Policy> within;  // that of --within
  AnsweredBy by;                          // of what was asked
};

// The policy of the command's file with the places that this host may lack for it, and that of
// --within, whose warnings are told with the others.
Status ReadAsked(const Invocation& call, const PolicyAsker& asker, Asked* out) {
  const Console& console = *call.console;
  const std::string file = call.options.Word(0);
  ODY_ASSIGN_OR_RETURN(out->policy, ReadPolicyFile(console, file, asker, &out->problems));
  dialect::Problems more = DoubtfulPlaces(out->policy, file);
  for (dialect::Problem& doubt : DoubtfulReach(out->policy, asker.owner(), file)) {
    more.push_back(std::move(doubt));
  }
  PrintWarnings(console, more);
  if (call.options.Has("within")) {
    ODY_ASSIGN_OR_RETURN(
        out->within, ReadPolicyFile(console, call.options.Text("within"), asker, &out->problems));
    more.insert(more.end(), out->within->warnings.begin(), out->within->warnings.end());
  }
  auto& warnings = out->policy.warnings;
  warnings.insert(warnings.end(), more.begin(), more.end());
  return OkStatus();
}

// Why there is no answer: for people, and with -o json as one.
int FailAnswer(const Console& console, const Failure& failure, const Status& status,
               const Asked& asked, const std::string& file) {
  const dialect::Policy& policy = asked.policy;
  if (console.json) {
    Json out =
        AnswerAsJson({.verdict = kInvalid,
                      .rule = "",
                      .reason = failure.why,
                      .problems = asked.problems.empty() ? ProblemsOf(status, policy.origins, file)
                                                         : asked.problems,
                      .warnings = policy.warnings});
    out["answered_by"] = AnsweredByAsJson(asked.by);
    console.PrintJson(out);
  }
  return console.Fail(failure);
}

OptionSpec WithinOption(const char* help) {
  return {.name = "within", .kind = ValueKind::kFile, .value_name = "FILE", .help = help};
}

constexpr char kCeilingNext[] =
    "docs/policy/ceiling.md describes the keys of the operator's files.";

int FailCeiling(const Console& console, const Status& status) {
  return FailAnswer(console, {"read the operator's ceiling", status.message(), kCeilingNext},
                    status, {}, "");
}

// What may be asked for at all.
int ExplainCeiling(const Console& console, const PolicyAsker& asker) {
  AnsweredBy by;
  const Result<answer::CeilingText> ceiling = asker.AskCeiling(&by);
  if (!ceiling.ok()) return FailCeiling(console, ceiling.status());
  if (console.json) {
    console.PrintJson({{"ceiling", CeilingAsJson(asker.owner(), *ceiling, {})},
                       {"answered_by", AnsweredByAsJson(by)}});
  } else {
    PrintCeiling(console, asker.owner(), *ceiling, {});
    PrintAnsweredBy(console, by);
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
  const Result<PolicyAsker> asker = PolicyAsker::FromOptions(call.options, call.locations);
  if (!asker.ok()) return FailCeiling(console, asker.status());
  if (file.empty()) return ExplainCeiling(console, *asker);
  Asked asked;
  Status status = ReadAsked(call, *asker, &asked);
  if (status.ok()) status = NarrowWithin(&asked);
  const dialect::Policy& policy = asked.policy;
  if (!status.ok()) {
    const Failure failure = {"explain " + file, status.message(), NextFor(file)};
    return FailAnswer(console, failure, status, asked, file);
  }
  status = PrintPlan(console, {RequestOf(policy), &policy, policy.origins}, *asker);
  if (status.ok()) return kExitOk;
  const bool refused = status.code() == Code::kPermissionDenied;
  return console.Fail(
      {"explain " + file, status.message(), refused ? kCeilingNext : NextFor(file)});
}

Json PartsAsJson(const std::vector<rules::Part>& parts) {
  Json out = Json::array();
  for (const rules::Part& part : parts) {
    out.push_back({{"text", part.text},
                   {"canonical", part.canonical.empty() ? part.text : part.canonical},
                   {"verdict", rules::VerdictName(part.verdict)},
                   {"rule", part.rule},
                   {"reason", part.reason},
                   {"risk", rules::RiskName(part.risk)}});
  }
  return out;
}

// How the line was read: each command, what it counts as, and the rule that won for it.
void PrintParts(const Console& console, const PolicyAnswer& answer) {
  if (answer.parts.empty()) return;
  for (const rules::Part& part : answer.parts) {
    std::string line = "  " + std::string(rules::VerdictName(part.verdict));
    line.resize(9, ' ');
    line += part.text.empty() ? "(no command)" : part.text;
    if (!part.canonical.empty()) line += "  = " + part.canonical;
    line += part.rule.empty() ? "  no rule" : "  by " + part.rule;
    line += "  " + std::string(rules::RiskName(part.risk));
    console.PrintLine(Sanitize(line, Lines::kOne));
  }
  console.PrintLine("  risk: " + std::string(rules::RiskName(answer.decision.risk)));
}

int PrintAnswer(const Console& console, const PolicyAnswer& answer,
                const dialect::Problems& warnings) {
  const rules::Decision& decision = answer.decision;
  const std::string verdict(rules::VerdictName(decision.verdict));
  if (console.json) {
    Json out = AnswerAsJson({verdict, decision.rule, decision.reason, answer.problems, warnings});
    out["answered_by"] = AnsweredByAsJson(answer.by);
    if (!answer.parts.empty()) {
      out["risk"] = rules::RiskName(decision.risk);
      out["commands"] = PartsAsJson(answer.parts);
    }
    console.PrintJson(out);
  } else {
    std::string line = verdict;
    if (!decision.rule.empty()) line += "  by " + Sanitize(decision.rule, Lines::kOne);
    if (!decision.reason.empty()) line += "  (" + Sanitize(decision.reason, Lines::kOne) + ")";
    console.PrintLine(line);
    PrintParts(console, answer);
    PrintAnsweredBy(console, answer.by);
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
    Result<Destination> parsed = egress::ParseDestination(options.Text("host"));
    if (!parsed.ok()) return InvalidArgument("--host " + parsed.status().message());
    destination = *std::move(parsed);
  }
  return destination;
}

// By the rules alone of an agent that is part of no bundle: it has no cell to ask about.
Result<PolicyAnswer> AnswerAlone(const ParsedOptions& options, const dialect::AgentSpec& agent) {
  ODY_ASSIGN_OR_RETURN(PolicyAnswer answer,
                       AnswerByRules(agent, options.Text("agent"), options.Text("cmd")));
  answer.by = {"", options.Word(0) + " is part of no bundle: its rules alone count"};
  return answer;
}

// The answer, with the policy that it is about as far as there is one in `asked`.
Result<PolicyAnswer> AnswerCheck(const Invocation& call, const PolicyAsker& asker,
                                 const std::optional<Destination>& destination, Asked* asked) {
  if (call.options.Has("cmd")) {
    const auto alone = ReadAgentAlone(call.options.Word(0), &asked->problems);
    if (alone) return AnswerAlone(call.options, *alone);
    if (!asked->problems.empty()) {
      return TellProblems(*call.console, asked->problems, Code::kInvalidArgument);
    }
  }
  ODY_RETURN_IF_ERROR(ReadAsked(call, asker, asked));
  return AnswerOf({call, asked->policy, asker, asked->within, destination}, &asked->by);
}

int Check(const Invocation& call) {
  const Console& console = *call.console;
  const std::string file = call.options.Word(0);
  const Result<std::optional<Destination>> destination = ReadQuestion(call.options);
  if (!destination.ok()) {
    console.Fail({"policy check", destination.status().message(),
                  "odyssey-ctl policy check --help lists the questions."});
    return kExitUsage;
  }
  const Result<PolicyAsker> asker = PolicyAsker::FromOptions(call.options, call.locations);
  if (!asker.ok()) return FailCeiling(console, asker.status());
  Asked asked;
  const Result<PolicyAnswer> answer = AnswerCheck(call, *asker, *destination, &asked);
  if (answer.ok()) return PrintAnswer(console, *answer, asked.policy.warnings);
  const Failure failure = {"check " + file, asked.policy.origins.Locate(answer.status()).message(),
                           NextFor(file)};
  return FailAnswer(console, failure, answer.status(), asked, file);
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
  for (OptionSpec& spec : PolicyAsker::Options()) questions.push_back(std::move(spec));
  std::vector<OptionSpec> explained = PolicyAsker::Options();
  explained.push_back(WithinOption("only what this policy gives too: of an agent under another"));
  return {
      {.name = "policy explain",
       .summary =
           "print the compiled plan of a policy, with the reason of each line, and the ceiling",
       .positionals = {optional_file},
       .options = std::move(explained),
       .notes = kExplainNotes,
       .run = Explain},
      {.name = "policy check",
       .summary = "validate a policy, or ask whether it allows something, and by which rule",
       .positionals = {file},
       .options = std::move(questions),
       .notes = kCheckNotes,
       .run = Check},
      PolicyDiffCommand(),
      PolicyExportCommand(),
  };
}

}  // namespace odyssey::ctl
