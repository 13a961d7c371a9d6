#include "agentd/tool/job_tool.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "agentd/job/jobs.h"
#include "agentd/tool/arguments.h"
#include "agentd/tool/command_outcome.h"
#include "agentd/tool/tool_denial.h"
#include "agentd/tool/tool_result.h"
#include "common/base/refusal.h"

namespace odyssey::tools {
namespace {

using Json = nlohmann::json;

constexpr const policy::ToolRow& kRow = *policy::FindTool(policy::kJob);
constexpr uint64_t kMaxWaitMs = 60'000;
// For a command that fails at once, or says where it listens.
constexpr std::chrono::milliseconds kFirstLook{200};

constexpr char kPoll[] = "poll";
constexpr char kInput[] = "input";
constexpr char kStop[] = "stop";
constexpr char kList[] = "list";
constexpr const char* kActions[] = {kPoll, kInput, kStop, kList};

// Which arguments go with which action.
struct ArgumentUse {
  const char* argument;
  std::initializer_list<const char*> actions;
};

bool GoesWith(const char* argument, const std::string& action) {
  static const ArgumentUse kUses[] = {
      {"job_id", {kPoll, kInput, kStop}}, {"wait_ms", {kPoll, kInput}}, {"text", {kInput}},
      {"close_stdin", {kInput}},          {"stdout_offset", {kPoll}},   {"stderr_offset", {kPoll}}};
  for (const ArgumentUse& use : kUses) {
    if (std::string_view(use.argument) != argument) continue;
    return std::find(use.actions.begin(), use.actions.end(), action) != use.actions.end();
  }
  return true;
}

Result<Arguments> ParseJob(const std::string& json) {
  ODY_ASSIGN_OR_RETURN(Arguments given, Arguments::Parse(kRow.arguments, json));
  const std::string action = given.String("action");
  if (std::find(std::begin(kActions), std::end(kActions), action) == std::end(kActions)) {
    return InvalidArgument("action is \"" + action + "\"; allowed: poll, input, stop, list");
  }
  for (const policy::ToolArgument& argument : kRow.arguments) {
    if (!given.Has(argument.name) || GoesWith(argument.name, action)) continue;
    return InvalidArgument(std::string(argument.name) + " does not go with action " + action);
  }
  if (action != kList && given.String("job_id").empty()) {
    return InvalidArgument("missing argument \"job_id\"");
  }
  if (action == kInput && given.String("text").empty() && !given.Boolean("close_stdin")) {
    return InvalidArgument("action input needs text, or close_stdin: true");
  }
  if (given.Count("wait_ms") > kMaxWaitMs) {
    return InvalidArgument("wait_ms is " + std::to_string(given.Count("wait_ms")) + "; at most " +
                           std::to_string(kMaxWaitMs));
  }
  return given;
}

void AddStream(const std::string& name, const job::OutputRing::Piece& piece, uint64_t dropped,
               Json* result) {
  (*result)[name] = piece.text;
  (*result)[name + "_offset"] = piece.offset;
  if (dropped > 0) (*result)[name + "_dropped"] = dropped;
}

ToolResult ToResult(const job::Polled& polled, const std::string& shell) {
  const bool ended = !polled.job.ended_at().empty();
  Json result = {{"job_id", polled.job.id()}, {"state", ended ? "ended" : "running"}};
  AddStream("stdout", polled.out, polled.out_dropped, &result);
  AddStream("stderr", polled.err, polled.err_dropped, &result);
  if (polled.more) result["more"] = true;
  if (polled.outcome) {
    AddOutcome(*polled.outcome, &result);
    if (!Exited(*polled.outcome)) result["message"] = WhyEnded(*polled.outcome, shell);
  } else if (ended) {
    result["status_code"] = nullptr;
    result["outcome"] = polled.job.outcome();
  }
  if (!polled.error.empty()) result["message"] = "execution failed: " + polled.error;
  for (const auto& denial : polled.denials) result["denials"].push_back(DenialForModel(denial));
  return {
      result.dump(), true,
      polled.outcome ? RefusedDestinations(*polled.outcome) : std::vector<RefusedDestination>()};
}

Json ListOf(const std::vector<job::JobPtr>& jobs) {
  Json out = Json::array();
  for (const job::JobPtr& job : jobs) {
    const agent::v1::Job facts = job->facts();
    const bool ended = !facts.ended_at().empty();
    Json item = {{"job_id", facts.id()},
                 {"state", ended ? "ended" : "running"},
                 {"command", facts.command()},
                 {"cwd", facts.cwd()},
                 {"started_at", facts.started_at()},
                 {"output_bytes", facts.output_bytes()}};
    if (ended) item["ended_at"] = facts.ended_at();
    if (ended) item["outcome"] = facts.outcome();
    if (facts.outcome() == "exited") item["status_code"] = facts.exit_code();
    out.push_back(std::move(item));
  }
  return out;
}

std::optional<uint64_t> OffsetOf(const Arguments& given, const char* name) {
  return given.Has(name) ? std::optional<uint64_t>(given.Count(name)) : std::nullopt;
}

class JobTool final : public Tool {
 public:
  model::ToolSpec Spec() const override {
    return {kRow.name, kRow.description, SchemaOf(kRow.arguments)};
  }

  Result<rules::ToolCall> ForRules(const std::string& arguments_json) const override {
    ODY_ASSIGN_OR_RETURN(const Arguments given, ParseJob(arguments_json));
    return rules::ToolCall{kRow.name, "", {given.String(kRow.subject)}, ""};
  }

  Result<ToolResult> Run(const std::string& arguments_json, ToolContext& context) const override {
    ODY_ASSIGN_OR_RETURN(const Arguments given, ParseJob(arguments_json));
    if (context.jobs == nullptr) return Failure(FailedPrecondition("there are no jobs here"));
    job::Jobs& jobs = *context.jobs->jobs;
    const std::string& session = context.jobs->session_id;
    const std::string action = given.String("action");
    if (action == kList) return ToolResult{Json{{"jobs", ListOf(jobs.List(session))}}.dump()};
    const Result<job::JobPtr> job = jobs.Find(session, given.String("job_id"));
    if (!job.ok()) return Failure(job.status());
    if (action == kStop) (*job)->Stop();
    if (action == kInput) {
      const Status fed = (*job)->Input(given.String("text"), given.Boolean("close_stdin"));
      if (!fed.ok())
        return Failure(WithMessage(given.String("job_id") + ": " + fed.message(), fed));
    }
    const job::Polled polled =
        (*job)->Poll({.stdout_from = OffsetOf(given, "stdout_offset"),
                      .stderr_from = OffsetOf(given, "stderr_offset"),
                      .max_bytes = context.output_cap_bytes,
                      .wait = std::chrono::milliseconds(given.Count("wait_ms"))},
                     context.stop);
    if (context.stop.stop_requested()) return Cancelled("the poll was cancelled");
    return ToResult(polled, context.shell);
  }
};

}  // namespace

std::unique_ptr<Tool> NewJobTool() { return std::make_unique<JobTool>(); }

Result<ToolResult> StartJob(const JobLine& line, ToolContext& context) {
  if (context.jobs == nullptr) {
    return Failure(FailedPrecondition("background: there are no jobs here"));
  }
  const job::JobScope& scope = *context.jobs;
  job::JobCommand command;
  command.session_id = scope.session_id;
  command.turn_id = context.turn_id;
  command.tool_call_id = context.tool_call_id;
  command.command = line.command;
  command.shown_cwd = line.shown_cwd;
  for (const std::string& word : {context.shell, std::string("-lc"), line.command}) {
    command.start.add_argv(word);
  }
  command.start.set_cell_id(context.cell_id);
  command.start.set_cwd(line.cwd);
  command.start.set_open_stdin(true);
  command.start.set_default_wall_clock_ms(scope.wall_clock_ms);
  command.secrets = scope.secrets;
  command.journal_bytes = context.output_cap_bytes;
  command.journal = scope.journal;
  const Result<job::JobPtr> started = scope.jobs->Start(std::move(command), context.stop);
  if (!started.ok()) {
    return EndsTurn(started.status()) ? Result<ToolResult>(started.status())
                                      : Failure(started.status());
  }
  const job::Polled first =
      (*started)->Poll({.max_bytes = context.output_cap_bytes, .wait = kFirstLook}, context.stop);
  return ToResult(first, context.shell);
}

std::optional<std::string> FedJob(const std::string& arguments_json) {
  const Result<Arguments> given = ParseJob(arguments_json);
  if (!given.ok() || given->String("action") != kInput) return std::nullopt;
  return given->String("job_id");
}

Result<rules::Decision> DecideJobCall(const rules::ToolRules& rules, const rules::ToolCall& call,
                                      const std::optional<rules::ToolCall>& fed) {
  ODY_ASSIGN_OR_RETURN(rules::Decision decision, rules::Decide(rules, call));
  const bool of_job = decision.rule.rfind(policy::kJob, 0) == 0;
  if (!fed || of_job) return decision;
  ODY_ASSIGN_OR_RETURN(rules::Decision of_command, rules::Decide(rules, *fed));
  if (of_command.verdict <= decision.verdict) return decision;
  of_command.scope = "Job(input): " + of_command.scope;
  of_command.reason = "input for a job whose command " + of_command.reason;
  return of_command;
}

}  // namespace odyssey::tools
