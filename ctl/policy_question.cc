#include "ctl/policy_question.h"

#include <utility>

#include "ctl/compile_here.h"
#include "ctl/destination_check.h"
#include "ctl/exec_options.h"
#include "ctl/host_facts.h"
#include "ctl/path_check.h"
#include "ctl/policy_diff.h"
#include "ctl/policy_file.h"
#include "ctl/policy_json.h"
#include "ctl/project_approval.h"
#include "policy/ceiling/check.h"
#include "policy/dialect/bundle.h"
#include "policy/dialect/llm_do_command.h"
#include "policy/plan/plan_check.h"

namespace odyssey::ctl {
namespace {

constexpr char kNoCell[] =
    "; no cell is made of it: its endpoints need the egress proxy, which this version does not "
    "have";

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

bool IsBlank(const std::string& command) {
  return command.find_first_not_of(" \t\r\n") == std::string::npos;
}

Result<rules::Decision> CheckCommand(const dialect::Policy& policy, const std::string& file,
                                     const std::string& agent, const std::string& command) {
  using dialect::Dialect;
  const bool bundle = policy.dialect == Dialect::kManifest || policy.dialect == Dialect::kBundle;
  if ((policy.worker || bundle) && IsBlank(command)) {
    return rules::Decision{.verdict = rules::Verdict::kDeny,
                           .reason = "the tool refuses it: command cannot be empty"};
  }
  if (policy.worker) return CheckWorkerCommand(policy, command);
  if (!bundle) {
    return InvalidArgument("--cmd: a file of the kind " +
                           std::string(dialect::DialectName(policy.dialect)) +
                           " has no rules about commands; bundles and llm-do workers have");
  }
  ODY_ASSIGN_OR_RETURN(const std::string directory, BundleDirectory(file));
  ODY_ASSIGN_OR_RETURN(const dialect::Bundle read,
                       dialect::LoadBundle(directory, OpenBundleDirectory));
  ODY_ASSIGN_OR_RETURN(const dialect::AgentSpec spec, AgentFor(read, file, agent));
  ODY_ASSIGN_OR_RETURN(const rules::ToolRules tool_rules,
                       rules::Parse(spec.tools.allow, spec.tools.ask, spec.tools.deny));
  return OrRefusal(rules::Decide(tool_rules, {.name = "Bash", .command = command}));
}

// As the supervisor would. That endpoints get no cell yet is no mistake of a file, but a path is in
// a cell or nowhere.
Result<compile::Compiled> CompileChecked(const PolicyQuestion& asked) {
  policy::SandboxRequest request = RequestOf(asked.policy);
  const bool endpoints = request.network == policy::Network::kEgress;
  if (endpoints && !asked.call.options.Has("path")) request.network = policy::Network::kNone;
  return CompileHere(std::move(request), asked.ceiling, asked.call.locations);
}

// What the status refuses of the file.
PolicyAnswer Denied(const PolicyQuestion& asked, const std::string& rule, const Status& status) {
  const std::string& file = asked.call.options.Word(0);
  return {{.verdict = rules::Verdict::kDeny,
           .rule = rule,
           .reason = asked.policy.origins.Locate(status).message()},
          ProblemsOf(status, asked.policy.origins, file)};
}

// The denial of what the policy of --within does not give; nullopt: it gives all, or is not named.
Result<std::optional<PolicyAnswer>> DeniedWithin(const PolicyQuestion& asked) {
  std::optional<PolicyAnswer> denied;
  if (!asked.within) return denied;
  const ParsedOptions& options = asked.call.options;
  const std::string file = options.Text("within");
  ODY_ASSIGN_OR_RETURN(const WholePolicy parent, WholePolicyOf(file, *asked.within));
  ODY_ASSIGN_OR_RETURN(const WholePolicy child, WholePolicyOf(options.Word(0), asked.policy));
  ODY_ASSIGN_OR_RETURN(const std::optional<std::string> beyond, BeyondParent(child, parent));
  if (beyond) denied = Denied(asked, "within " + file, PermissionDenied(*beyond));
  return denied;
}

// Of a cell that would be made.
Result<rules::Decision> DecideInCell(const PolicyQuestion& asked,
                                     const compile::Compiled& compiled) {
  const policy::SandboxRequest& request = asked.policy.request;
  if (asked.destination) {
    rules::Decision decision = DecideHost(asked.policy, *asked.destination);
    const auto concerns = [](const ceiling::Ruling& ruling) { return ruling.key == "network"; };
    AddGrant(asked.ceiling, request, concerns, &decision);
    return decision;
  }
  if (asked.call.options.Has("path")) {
    const std::string path = asked.call.options.Text("path");
    ODY_ASSIGN_OR_RETURN(PathAnswer answer,
                         DecidePath({{request, compiled}, LinkOfHost, asked.policy.dialect}, path));
    const auto holds = [&](const ceiling::Ruling& ruling) {
      return !answer.host.empty() && plan::IsWithin(answer.host, ruling.value);
    };
    AddGrant(asked.ceiling, request, holds, &answer.decision);
    return answer.decision;
  }
  std::string reason =
      "the file is valid: " + std::string(dialect::DialectName(asked.policy.dialect));
  if (request.network == policy::Network::kEgress) reason += kNoCell;
  return rules::Decision{.reason = std::move(reason)};
}

// What a project's file adds is asked about before anything of it runs.
Result<rules::Decision> AskFirst(const PolicyQuestion& asked, rules::Decision decision) {
  if (decision.verdict != rules::Verdict::kAllow) return decision;
  ODY_ASSIGN_OR_RETURN(
      const std::string pending,
      PendingApproval(asked.policy, asked.ceiling.asker.owner.uid, asked.call.locations));
  if (pending.empty()) return decision;
  return rules::Decision{
      .verdict = rules::Verdict::kAsk, .rule = "project approval", .reason = pending};
}

// Whether a cell is made at all, nullopt if it is.
Result<std::optional<PolicyAnswer>> NoCellFor(const PolicyQuestion& asked) {
  const CeilingView& ceiling = asked.ceiling;
  Status granted = CheckSecrets(ceiling, asked.policy.secrets);
  if (granted.ok()) {
    granted = ceiling::Check(ceiling.ceiling, asked.policy.request, ceiling.asker);
  }
  if (granted.ok()) return DeniedWithin(asked);
  PolicyAnswer denied = Denied(asked, "operator's ceiling", granted);
  if (asked.destination && asked.policy.request.network == policy::Network::kEgress) {
    denied.decision.reason += "; " + DecideHost(asked.policy, *asked.destination).reason;
  }
  return std::optional<PolicyAnswer>(std::move(denied));
}

}  // namespace

policy::SandboxRequest RequestOf(const dialect::Policy& policy) {
  policy::SandboxRequest request = policy.request;
  const bool agents =
      policy.dialect == dialect::Dialect::kManifest || policy.dialect == dialect::Dialect::kBundle;
  if (!agents || request.mode != policy::Mode::kDangerFullAccess) return request;
  const Result<FoundPlace> here = MakeExecInputs().resolve(".");
  if (here.ok()) request.workspace = here->name;
  return request;
}

Result<PolicyAnswer> AnswerOf(const PolicyQuestion& asked) {
  ODY_ASSIGN_OR_RETURN(const std::optional<PolicyAnswer> none, NoCellFor(asked));
  if (none) return *none;
  const Result<compile::Compiled> compiled = CompileChecked(asked);
  if (compiled.status().code() == Code::kPermissionDenied) {
    return Denied(asked, "what no cell is given", compiled.status());
  }
  ODY_RETURN_IF_ERROR(compiled.status());
  ODY_ASSIGN_OR_RETURN(rules::Decision decision, DecideInCell(asked, *compiled));
  ODY_ASSIGN_OR_RETURN(decision, AskFirst(asked, std::move(decision)));
  // A command runs nowhere if no cell is made.
  const ParsedOptions& options = asked.call.options;
  if (options.Has("cmd") && decision.verdict == rules::Verdict::kAllow) {
    ODY_ASSIGN_OR_RETURN(decision, CheckCommand(asked.policy, options.Word(0),
                                                options.Text("agent"), options.Text("cmd")));
  }
  return PolicyAnswer{std::move(decision), {}};
}

}  // namespace odyssey::ctl
