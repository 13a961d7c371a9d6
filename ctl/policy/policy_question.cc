#include "ctl/policy/policy_question.h"

#include <utility>

#include "ctl/file/seen_places.h"
#include "ctl/policy/exec_options.h"
#include "ctl/policy/explain.h"
#include "ctl/policy/grant_words.h"
#include "ctl/policy/policy_diff.h"
#include "ctl/policy/policy_file.h"
#include "ctl/policy/policy_json.h"
#include "ctl/policy/project_approval.h"
#include "policy/destination/destination_check.h"
#include "policy/dialect/llm_do_command.h"
#include "policy/dialect/path_text.h"
#include "policy/plan/plan_check.h"

namespace odyssey::ctl {
namespace {

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

rules::Decision Blank() {
  return {.verdict = rules::Verdict::kDeny,
          .reason = "the tool refuses it: command cannot be empty"};
}

Result<PolicyAnswer> DecideCommand(const dialect::AgentSpec& agent, const std::string& command) {
  const dialect::ToolRuleSpec& tools = agent.tools;
  ODY_ASSIGN_OR_RETURN(const rules::ToolRules tool_rules,
                       rules::Parse(tools.allow, tools.ask, tools.deny, tools.risk));
  PolicyAnswer out;
  const rules::ToolCall call{.name = "Bash", .command = command, .paths = {}, .cwd = ""};
  ODY_ASSIGN_OR_RETURN(out.decision, OrRefusal(rules::Decide(tool_rules, call, &out.parts)));
  return out;
}

PolicyAnswer OfDecision(rules::Decision decision) { return {std::move(decision), {}, {}}; }

Result<dialect::AgentSpec> ReadAgentFor(const std::string& file, const std::string& agent) {
  ODY_ASSIGN_OR_RETURN(const std::string directory, BundleDirectory(file));
  ODY_ASSIGN_OR_RETURN(const dialect::Bundle read,
                       dialect::LoadBundle(directory, OpenBundleDirectory));
  return AgentFor(read, file, agent);
}

Result<PolicyAnswer> CheckCommand(const dialect::Policy& policy, const std::string& file,
                                  const std::string& agent, const std::string& command) {
  const bool bundle = dialect::IsBundle(policy.dialect);
  if ((policy.worker || bundle) && IsBlank(command)) return OfDecision(Blank());
  if (policy.worker) {
    ODY_ASSIGN_OR_RETURN(rules::Decision decision, CheckWorkerCommand(policy, command));
    return OfDecision(std::move(decision));
  }
  if (!bundle) {
    return InvalidArgument("--cmd: a file of the kind " +
                           std::string(dialect::DialectName(policy.dialect)) +
                           " has no rules about commands; bundles and llm-do workers have");
  }
  ODY_ASSIGN_OR_RETURN(const dialect::AgentSpec spec, ReadAgentFor(file, agent));
  return DecideCommand(spec, command);
}

// What the status refuses of the file.
PolicyAnswer Denied(const PolicyQuestion& asked, const std::string& rule, const Status& status) {
  const std::string& file = asked.call.options.Word(0);
  return {{.verdict = rules::Verdict::kDeny,
           .rule = rule,
           .reason = asked.policy.origins.Locate(status).message()},
          ProblemsOf(status, asked.policy.origins, file),
          {}};
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

// What a project's file adds is asked about before anything of it runs.
Result<rules::Decision> AskFirst(const PolicyQuestion& asked, rules::Decision decision) {
  if (decision.verdict != rules::Verdict::kAllow) return decision;
  ODY_ASSIGN_OR_RETURN(
      const std::string pending,
      PendingApproval(asked.policy, asked.asker.owner().uid, asked.call.locations));
  if (pending.empty()) return decision;
  return rules::Decision{
      .verdict = rules::Verdict::kAsk, .rule = "project approval", .reason = pending};
}

answer::Question QuestionOf(const PolicyQuestion& asked) {
  const ParsedOptions& options = asked.call.options;
  answer::Question out = QuestionAbout(RequestOf(asked.policy), &asked.policy, asked.asker.owner());
  if (asked.destination) out.about = answer::About::kNetwork;
  if (options.Has("path")) {
    out.about = answer::About::kPath;
    out.path = dialect::CleanPath(options.Text("path"));
    out.links = LinksOnTheWay(out.path);
  }
  return out;
}

rules::Decision DecideByEndpoints(const PolicyQuestion& asked) {
  return destination::DecideByEndpoints(asked.policy.request.egress, asked.policy.origins,
                                        *asked.destination);
}

bool AsksEndpoints(const PolicyQuestion& asked) {
  return asked.destination && asked.policy.request.network == policy::Network::kEgress;
}

// Why no cell is made; of a host what the endpoints say too.
PolicyAnswer NoCell(const PolicyQuestion& asked, const answer::Answer& answer) {
  PolicyAnswer denied = Denied(asked, answer.rule, answer.refusal);
  if (AsksEndpoints(asked)) {
    denied.decision.reason += "; " + DecideByEndpoints(asked).reason;
  }
  return denied;
}

// Of a cell that would be made.
rules::Decision DecideInCell(const PolicyQuestion& asked, const answer::Answer& answer) {
  if (AsksEndpoints(asked)) return DecideByEndpoints(asked);
  const bool about_cell = !asked.destination && !asked.call.options.Has("path");
  if (!about_cell) return WithGrant(asked.policy.dialect, answer);
  return {.reason =
              "the file is valid: " + std::string(dialect::DialectName(asked.policy.dialect))};
}

// What the agent's rules make of a destination that the endpoints refuse and do not name.
Result<rules::Decision> DecideByNetworkRules(const PolicyQuestion& asked, rules::Decision refused) {
  const ParsedOptions& options = asked.call.options;
  ODY_ASSIGN_OR_RETURN(const dialect::AgentSpec agent,
                       ReadAgentFor(options.Word(0), options.Text("agent")));
  const dialect::ToolRuleSpec& tools = agent.tools;
  ODY_ASSIGN_OR_RETURN(const rules::ToolRules parsed,
                       rules::Parse(tools.allow, tools.ask, tools.deny, tools.risk));
  return destination::DecideByNetworkRules(parsed, asked.policy.request.egress, *asked.destination,
                                           std::move(refused));
}

Result<PolicyAnswer> Judged(const PolicyQuestion& asked, const answer::Answer& answer) {
  if (answer.verdict == answer::Verdict::kInvalid) return answer.refusal;
  if (!answer.refusal.ok() && answer.rule == answer::kByCeiling) return NoCell(asked, answer);
  ODY_ASSIGN_OR_RETURN(const std::optional<PolicyAnswer> beyond, DeniedWithin(asked));
  if (beyond) return *beyond;
  if (!answer.refusal.ok()) return NoCell(asked, answer);
  ODY_ASSIGN_OR_RETURN(rules::Decision decision, AskFirst(asked, DecideInCell(asked, answer)));
  if (AsksEndpoints(asked) && dialect::IsBundle(asked.policy.dialect)) {
    ODY_ASSIGN_OR_RETURN(decision, DecideByNetworkRules(asked, std::move(decision)));
  }
  // A command runs nowhere if no cell is made.
  const ParsedOptions& options = asked.call.options;
  if (options.Has("cmd") && decision.verdict == rules::Verdict::kAllow) {
    return CheckCommand(asked.policy, options.Word(0), options.Text("agent"), options.Text("cmd"));
  }
  return PolicyAnswer{std::move(decision), {}, {}};
}

}  // namespace

policy::SandboxRequest RequestOf(const dialect::Policy& policy) {
  policy::SandboxRequest request = policy.request;
  if (!dialect::IsBundle(policy.dialect) || request.mode != policy::Mode::kDangerFullAccess)
    return request;
  const Result<FoundPlace> here = MakeExecInputs().resolve(".");
  if (here.ok()) request.workspace = here->name;
  return request;
}

Status CheckAskedPath(const std::string& asked) {
  const bool good =
      plan::IsNormalizedAbsolute(dialect::CleanPath(asked)) && !dialect::HasParent(asked);
  if (good) return OkStatus();
  return InvalidArgument("--path \"" + asked +
                         "\": expected an absolute path of this host, without . or ..");
}

Result<PolicyAnswer> AnswerOf(const PolicyQuestion& asked, AnsweredBy* by) {
  ODY_ASSIGN_OR_RETURN(const answer::Answer answer, asked.asker.Ask(QuestionOf(asked), by));
  Result<PolicyAnswer> out = Judged(asked, answer);
  if (out.ok()) out->by = *by;
  return out;
}

Result<PolicyAnswer> AnswerByRules(const dialect::AgentSpec& agent, const std::string& agent_id,
                                   const std::string& command) {
  if (!agent_id.empty() && agent_id != agent.id) {
    return InvalidArgument("--agent " + agent_id + ": the file is of the agent " + agent.id);
  }
  if (IsBlank(command)) return OfDecision(Blank());
  return DecideCommand(agent, command);
}

rules::Decision WithGrant(dialect::Dialect dialect, const answer::Answer& answer) {
  const bool allowed = answer.verdict == answer::Verdict::kAllow;
  rules::Decision out{.verdict = allowed ? rules::Verdict::kAllow : rules::Verdict::kDeny,
                      .rule = answer.rule,
                      .reason = answer.reason};
  // Of the kinds of files OpenShell's alone shows a path under its own name, where a link that
  // leads out of what is shown would find it.
  const bool found = answer.host_path.empty() && answer.through_link
                         ? dialect == dialect::Dialect::kOpenShell
                         : true;
  const std::string grant = found ? GrantIn(dialect, answer.grant) : "";
  if (!grant.empty())
    out.reason += std::string("; to ") + (allowed ? "write" : "allow") + ": " + grant;
  return out;
}

}  // namespace odyssey::ctl
