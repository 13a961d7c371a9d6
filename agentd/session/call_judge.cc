#include "agentd/session/call_judge.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "agentd/tool/job_tool.h"
#include "policy/model/tool_table.h"

namespace odyssey::session {
namespace {

constexpr char kRead[] = "Read";
// How often the path of one call may be found to lead elsewhere than the rules have judged.
constexpr int kMaxDetours = 4;

// Whether the subject of the tool is a path of the cell.
bool TakesPath(const std::string& tool) {
  const policy::ToolRow* row = policy::FindTool(tool);
  if (row == nullptr) return false;
  const policy::ToolKind kind = row->kind;
  return kind == policy::ToolKind::kReadsFile || kind == policy::ToolKind::kWritesFile ||
         kind == policy::ToolKind::kSearches;
}

// A tool of a server may do anything: it is asked about unless a rule speaks of it. "Always" is
// about the definition that the person has seen, and a rule about the one that the session saw
// first.
void JudgeServed(const mcp_client::ServedTool& tool, std::vector<rules::Decision>* decisions) {
  const mcp_client::ToolDefinition& definition = tool.definition();
  const bool changed = tool.has_changed() && !definition.pinned;
  for (rules::Decision& decision : *decisions) {
    const bool unspoken = decision.rule.empty();
    if (decision.verdict == rules::Verdict::kDeny) continue;
    if (unspoken || changed) decision.verdict = rules::Verdict::kAsk;
    if (unspoken) decision.rule = definition.offered_name;
    if (changed) decision.rule += "; the tool has changed since the session first saw it";
    decision.scope = definition.offered_name + " " + definition.digest;
  }
}

const rules::Decision& StrictestOf(const std::vector<rules::Decision>& decisions) {
  return *std::max_element(decisions.begin(), decisions.end(),
                           [](const auto& a, const auto& b) { return a.verdict < b.verdict; });
}

}  // namespace

Result<approval::Verdict> CallJudge::Judge(const turn::Call& call) {
  leads_to_.clear();
  detours_ = 0;
  return JudgeOnce(call);
}

Result<approval::Verdict> CallJudge::JudgeDetour(const turn::Call& call, std::string leads_to) {
  leads_to_ = std::move(leads_to);
  if (++detours_ <= kMaxDetours) return JudgeOnce(call);
  return PermissionDenied("the path leads to another file each time it is used; at last to " +
                          leads_to_);
}

// A person is asked about the file itself. Without a question the call finds a link when it runs.
Result<approval::Verdict> CallJudge::JudgeOnce(const turn::Call& call) {
  Result<approval::Verdict> verdict = JudgeCall(call);
  const bool asks = verdict.ok() && verdict->kind == rules::Verdict::kAsk;
  if (!asks || !leads_to_.empty()) return verdict;
  leads_to_ = EndOfLinks(call);
  return leads_to_.empty() ? verdict : JudgeCall(call);
}

// INVALID_ARGUMENT or NOT_FOUND: neither asked about nor run.
Result<approval::Verdict> CallJudge::JudgeCall(const turn::Call& call) {
  const tools::Tool* tool = tools_->Find(call.tool);
  if (tool == nullptr) return tools_->WhyMissing(call.tool);
  ODY_ASSIGN_OR_RETURN(rules::ToolCall terms, tool->ForRules(call.arguments_json));
  std::vector<rules::Decision> decisions;
  ODY_RETURN_IF_ERROR(Decide(call, terms, &decisions));
  // Handing work on is asked about unless a rule speaks of it.
  if (call.tool == policy::kWorkerCall && StrictestOf(decisions).rule.empty()) {
    decisions = {{rules::Verdict::kAsk, policy::kWorkerCall, "no rule speaks of worker_call",
                  std::string(policy::kWorkerCall) + "(" + terms.paths[0] + ")"}};
  }
  if (const mcp_client::ServedTool* served = tools_->FindServed(call.tool)) {
    JudgeServed(*served, &decisions);
  }
  if (!leads_to_.empty()) {
    terms.paths = {leads_to_};
    ODY_RETURN_IF_ERROR(Decide(call, terms, &decisions));
  }
  // A file that is handed on is read.
  if (const auto work = tool->AsWorkerCall(call.arguments_json)) {
    for (const std::string& path : work->attachments) {
      ODY_RETURN_IF_ERROR(Decide(call, {kRead, "", {path}, ""}, &decisions));
    }
  }
  wanted_ = {};
  const rules::Decision& strictest = StrictestOf(decisions);
  if (strictest.verdict != rules::Verdict::kDeny) {
    wanted_ = tool->GrantsOf(call.arguments_json);
    ODY_ASSIGN_OR_RETURN(wanted_.grants, cell_->Beyond(wanted_.grants));
    if (!wanted_.grants.grants().empty()) return approval::JudgeWithGrants(strictest);
  }
  return Strictest(decisions);
}

// What the agent's rules and those of the agents that called it say.
Status CallJudge::Decide(const turn::Call& call, const rules::ToolCall& terms,
                         std::vector<rules::Decision>* out) const {
  ODY_ASSIGN_OR_RETURN(out->emplace_back(), DecideUnder(setup_->rules, call, terms));
  for (const rules::ToolRules& bound : setup_->bounds) {
    ODY_ASSIGN_OR_RETURN(out->emplace_back(), DecideUnder(bound, call, terms));
  }
  return OkStatus();
}

// What one agent's rules say: of input to a job, what they say of its command.
Result<rules::Decision> CallJudge::DecideUnder(const rules::ToolRules& rules,
                                               const turn::Call& call,
                                               const rules::ToolCall& terms) const {
  if (call.tool != policy::kJob) return rules::Decide(rules, terms);
  std::optional<rules::ToolCall> fed;
  if (const auto job_id = tools::FedJob(call.arguments_json)) {
    ODY_ASSIGN_OR_RETURN(const job::JobPtr job, runtime_->jobs->Find(session_id_, *job_id));
    fed = rules::ToolCall{policy::kBash, job->command().command, {}, job->command().start.cwd()};
  }
  return tools::DecideJobCall(rules, terms, fed);
}

// The first that refuses, else the first that asks what the session has not granted.
approval::Verdict CallJudge::Strictest(const std::vector<rules::Decision>& decisions) const {
  approval::Verdict out;
  for (const rules::Decision& decision : decisions) {
    const bool granted = runtime_->approvals->IsGranted(session_id_, decision.scope);
    const approval::Verdict verdict = approval::Judge(decision, granted);
    if (verdict.kind > out.kind) out = verdict;
  }
  return out;
}

// Where the path of a call leads that has links; else "".
std::string CallJudge::EndOfLinks(const turn::Call& call) const {
  if (!TakesPath(call.tool)) return "";
  const auto terms = tools_->Find(call.tool)->ForRules(call.arguments_json);
  if (!terms.ok()) return "";
  const sandbox::FilePlace place{cell_->id(), sandbox::Links::kRefuse};
  const Status looked = runtime_->sandbox->ReadFile(place, terms->paths[0], 0, 1).status();
  return sandbox::LeadsTo(looked).value_or("");
}

bool CallJudge::IsHidden(const std::string& path) const {
  const auto denies = [&](const rules::ToolRules& rules) {
    return rules::IsPathDenied(rules, kRead, path);
  };
  return denies(setup_->rules) || std::any_of(setup_->bounds.begin(), setup_->bounds.end(), denies);
}

}  // namespace odyssey::session
