#include "agentd/session/turn_job.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "agentd/approval/parsed_command.h"
#include "agentd/base/json_text.h"
#include "agentd/event/redacted_events.h"
#include "agentd/provider/model_config.h"
#include "agentd/session/approval_timeout.h"
#include "agentd/session/model_call.h"
#include "agentd/session/setup_cache.h"
#include "agentd/session/turn_events.h"
#include "agentd/tool/bash_tool.h"
#include "agentd/tool/tool_result.h"
#include "common/base/join.h"
#include "common/base/utf8.h"
#include "common/message/message_utf8.h"
#include "policy/model/tool_table.h"

namespace odyssey::session {
namespace {

using event::Durability;
using scheduler::Progress;
using turn::Ending;

constexpr std::chrono::milliseconds kSupervisorRetry{200};
constexpr size_t kMaxSummaryBytes = 256 * 1024;

std::chrono::steady_clock::time_point Now() { return std::chrono::steady_clock::now(); }

// Whether a call of the tool changes no file of the cell.
bool LeavesFiles(const std::string& tool) {
  const policy::ToolRow* row = policy::FindTool(tool);
  if (row == nullptr) return false;
  const policy::ToolKind kind = row->kind;
  return kind == policy::ToolKind::kReadsFile || kind == policy::ToolKind::kSearches ||
         kind == policy::ToolKind::kSkill;
}

TurnStatus StatusOf(Ending ending) {
  switch (ending) {
    case Ending::kCompleted:
      return TurnStatus::kCompleted;
    case Ending::kFailed:
      return TurnStatus::kFailed;
    case Ending::kCancelled:
      return TurnStatus::kCancelled;
    case Ending::kInterrupted:
      return TurnStatus::kInterrupted;
  }
  return TurnStatus::kFailed;
}

constexpr char kTurnEnds[] = "this turn ends";

// How long what was granted is reachable.
std::string UntilOf(const turn::Answered& answered) {
  if (!answered.grants_expire_at.empty()) return answered.grants_expire_at;
  const bool session = answered.grant_scope == agent::v1::GRANT_SCOPE_SESSION;
  return session ? "the session ends" : kTurnEnds;
}

bool IsEmpty(const supervisor::v1::ChangeCounts& counts) {
  return counts.added() + counts.modified() + counts.deleted() + counts.renamed() +
             counts.other() ==
         0;
}

}  // namespace

TurnJob::TurnJob(Spec spec, const Runtime* runtime)
    : spec_(std::move(spec)),
      runtime_(runtime),
      machine_(spec_.turn_id, spec_.prompt,
               [runtime](std::string_view prefix) { return runtime->ids->New(prefix); }),
      cell_(spec_.session_id, spec_.turn_id, runtime,
            {[this](event::Event event) { return Append(std::move(event), Durability::kSynced); },
             [this](const std::string& cell_id) { spec_.on_cell(cell_id); }}),
      tools_(spec_.session_id, runtime),
      judge_(spec_.session_id, runtime, &cell_, &tools_),
      question_(spec_.session_id, runtime),
      refused_(&cell_) {}

void TurnJob::RequestStop(Ending ending) {
  int none = -1;
  stop_requested_.compare_exchange_strong(none, static_cast<int>(ending));
  stop_.request_stop();
  spec_.resume(this);
}

void TurnJob::StopAsRequested() {
  const auto ending = static_cast<Ending>(stop_requested_.load());
  if (ending != Ending::kFailed) return StopMachine(ending, "agentd was stopped");
  const std::string budget = meter_.Reached(BudgetMeter::Next::kModelCall, Now());
  StopMachine(ending, !budget.empty()
                          ? budget
                          : "deadline of " + std::to_string(spec_.deadline_ms) + " ms exceeded");
}

void TurnJob::EndWithoutRunning() {
  StopAsRequested();
  Proceed();
}

Progress TurnJob::Run() {
  if (!std::exchange(begun_, true) && !stop_.stop_requested()) {
    const Status begun = Begin();
    // Nothing is known about what the supervisor did: the same as when it ends later.
    const Ending ending =
        begun.code() == Code::kUnavailable ? Ending::kInterrupted : Ending::kFailed;
    if (!begun.ok()) trace_.Note(begun.message());
    trace_.Leave();
    TellSteps();
    if (begun.ok()) {
      trace_.Enter(TurnStep::kRunExecutor);
      Feed(machine_.Start());
    } else if (stop_.stop_requested()) {
      StopAsRequested();
    } else {
      StopMachine(ending, begun.message());
    }
  }
  Proceed();
  return ended_ ? Progress::kDone : Progress::kParked;
}

Status TurnJob::Begin() {
  trace_.Enter(TurnStep::kLoadSession);
  ODY_RETURN_IF_ERROR(RecordRunning());
  ODY_ASSIGN_OR_RETURN(const SessionPtr record, runtime_->store->Get(spec_.session_id));
  trace_.Note(std::to_string(record->turns.size() - 1) + " other turns, " +
              std::to_string(record->message_count) + " messages");
  const auto setup = runtime_->setups->SetUp(*record, *runtime_, &trace_);
  if (!setup.ok()) trace_.Note(setup.status().message());
  trace_.Leave();
  ODY_RETURN_IF_ERROR(
      Append(TurnStarts(spec_.turn_id, spec_.prompt, setup.ok() ? (*setup)->sandbox_mode : ""),
             Durability::kSynced));
  told_start_ = true;
  ODY_RETURN_IF_ERROR(setup.status());
  setup_ = *setup;
  MeterTurn(*record);
  const std::string why = meter_.Reached(BudgetMeter::Next::kToolCall, Now());
  if (!why.empty()) return FailedPrecondition(why);
  approval_timeout_ = ApprovalTimeout(record->approval_timeout_ms, runtime_->approval_timeout);
  redactor_ = agent::Redactor(SecretsOf(*record));
  jobs_ = {runtime_->jobs, spec_.session_id, spec_.journal, SecretsOf(*record),
           LongWallClockMs(*setup_)};
  trace_.Enter(TurnStep::kPrepareCell);
  cell_.Use(setup_);
  tools_.Use(setup_);
  judge_.Use(setup_);
  refused_.Use(setup_);
  ODY_RETURN_IF_ERROR(AwaitCell());
  ignored_ = std::make_unique<tools::IgnoredPaths>(runtime_->sandbox, setup_->workspace);
  trace_.Note(cell_.id());
  ListTools(mcp_client::Freshness::kLatest);
  trace_.Leave();
  TellSteps();
  RecallTurns(*record);
  return OkStatus();
}

// Servers may list others from one call of the model to the next.
void TurnJob::ListTools(mcp_client::Freshness freshness) {
  if (!tools_.has_servers()) return;
  const bool begins = freshness == mcp_client::Freshness::kLatest;
  if (begins) trace_.Enter(TurnStep::kSelectTools);
  tools_.List({cell_.id(), jobs_.wall_clock_ms}, freshness, stop_.get_token());
  if (begins) trace_.Note(Join(setup_->offered, ", ") + "; " + tools_.Note());
}

void TurnJob::MeterTurn(const SessionRecord& record) {
  meter_ = BudgetMeter({record.budget, record.used, setup_->model->max_total_tokens(),
                        setup_->price, LatestScale(record), Now()});
  const uint64_t left_ms = meter_.Left(Now()).wall_clock_ms;
  if (left_ms != 0) spec_.stop_after(spec_.turn_id, left_ms);
}

void TurnJob::RecallTurns(const SessionRecord& record) {
  trace_.Enter(TurnStep::kBuildMemory);
  memory_ = BuildMemory(record, setup_->agent.memory,
                        [this](const model::ModelRequest& request) { return AskSummary(request); });
  trace_.Note(memory_.detail);
  if (!memory_.summarised) return;
  event::Event event;
  agent::v1::HistorySummarized& told = *event.mutable_history_summarized();
  told.set_turn_id(spec_.turn_id);
  told.set_messages(static_cast<uint32_t>(memory_.summary.messages));
  told.set_summary(memory_.summary.text);
  *told.mutable_usage() = summary_usage_;
  // Without the journal the turn fails at its next event.
  (void)Append(std::move(event), Durability::kBatched);
}

Result<std::string> TurnJob::AskSummary(const model::ModelRequest& request) {
  std::string text;
  ModelCallEnd end = CallForText(setup_->model.get(), request, kMaxSummaryBytes, &meter_,
                                 stop_.get_token(), &text);
  summary_usage_ = end.step.usage();
  TellModelCall(std::move(end.step));
  ODY_RETURN_IF_ERROR(end.status);
  return SanitizeUtf8(text);
}

// The journal's failure is no reason of its own to end the turn: what matters is told again.
void TurnJob::TellStep(agent::v1::TurnStep step) {
  if (!told_start_) return;
  step.set_turn_id(spec_.turn_id);
  event::Event event;
  *event.mutable_turn_step() = std::move(step);
  (void)Append(std::move(event), Durability::kBatched);
}

void TurnJob::TellModelCall(agent::v1::TurnStep step) {
  const std::string& name = setup_->agent.model.provider;
  const Result<const provider::Provider*> row = provider::FindProvider(name);
  step.set_provider(row.ok() ? std::string((*row)->name) : name);
  TellStep(std::move(step));
}

void TurnJob::TellSteps() {
  for (agent::v1::TurnStep& step : trace_.Take(spec_.turn_id)) TellStep(std::move(step));
}

// The supervisor may be restarted meanwhile, or serve later than agentd after a start of both.
Status TurnJob::AwaitCell() {
  const auto until = std::chrono::steady_clock::now() + runtime_->supervisor_patience;
  std::mutex mutex;
  std::condition_variable_any stopped;
  for (;;) {
    Status cell = cell_.Enter();
    const bool again =
        cell.code() == Code::kUnavailable && std::chrono::steady_clock::now() < until;
    if (!again || stop_.stop_requested()) return cell;
    std::unique_lock lock(mutex);
    stopped.wait_for(lock, stop_.get_token(), kSupervisorRetry, [] { return false; });
  }
}

// False: there is none for the call under way, which has its result, or the turn its end.
bool TurnJob::EnterCell() {
  const Status entered = AwaitCell();
  if (entered.ok()) return true;
  if (tools::EndsTurn(entered)) {
    StopMachine(Ending::kInterrupted, entered.message());
  } else {
    const tools::ToolResult failure = tools::Failure(entered);
    Feed(machine_.OnToolResult(failure.json, failure.success));
  }
  return false;
}

Status TurnJob::RecordRunning() {
  return runtime_->store->Update(spec_.session_id, [this](SessionRecord& record) {
    TurnRecord* turn = FindTurn(record, spec_.turn_id);
    if (turn == nullptr) return Internal("turn " + spec_.turn_id + " is not in its session");
    turn->status = TurnStatus::kRunning;
    return OkStatus();
  });
}

// Until the turn has ended or waits for a person.
void TurnJob::Proceed() {
  while (!ended_) {
    if (!worker_session_.empty() && !TakeWorkerEnd()) return;
    if (stop_.stop_requested() && !stopping_) StopAsRequested();
    if (question_.is_open() && !TakeAnswer()) return;
    ODY_CHECK(!effects_.empty());
    const turn::Effect effect = std::move(effects_.front());
    effects_.pop_front();
    std::visit([this](const auto& what) { Do(what); }, effect);
  }
}

void TurnJob::StopMachine(Ending ending, const std::string& message) {
  stopping_ = true;
  if (question_.is_open()) {
    const auto answer = question_.Drop();
    if (answer) (void)question_.Record(*answer);  // it was given as the turn stopped
  }
  // The call has run.
  if (refused_.has_result()) FeedResult(refused_.TakeResult());
  // What was decided but not done yet is not done; what happened is still told.
  std::erase_if(effects_, [](const turn::Effect& effect) {
    return !std::holds_alternative<turn::Emit>(effect) &&
           !std::holds_alternative<turn::Finish>(effect);
  });
  Feed(machine_.Stop(ending, ending == Ending::kCancelled ? "" : message));
}

void TurnJob::Feed(turn::Effects effects) {
  for (turn::Effect& effect : effects) effects_.push_back(std::move(effect));
}

// False: there is none yet.
bool TurnJob::TakeAnswer() {
  const std::optional<approval::Answer> answer = question_.Take();
  if (!answer) return false;
  OnAnswer(*answer);
  return true;
}

// What was allowed is not done without the record of it.
void TurnJob::OnAnswer(const approval::Answer& answer) {
  const Status recorded = question_.Record(answer);
  if (!recorded.ok() && answer.decision != approval::Decision::kDeny) {
    return StopMachine(
        recorded.code() == Code::kUnavailable ? Ending::kInterrupted : Ending::kFailed,
        std::string(refused_.has_result() ? "the destination was allowed and not opened"
                                          : "the call was allowed and did not run") +
            ": the answer could not be recorded: " + recorded.message());
  }
  turn::Answered answered{answer.decision != approval::Decision::kDeny,
                          std::string(approval::DecisionName(answer.decision)), answer.note,
                          answer.by_uid, answer.by};
  const agent::v1::PermissionRequested& asked = question_.request();
  const auto once =
      refused_.has_result() ? agent::v1::GRANT_SCOPE_TURN : agent::v1::GRANT_SCOPE_CALL;
  if (answered.allowed && asked.has_grants()) cell_.Add(asked, answer, once, &answered);
  if (refused_.has_result()) until_ = UntilOf(answered);
  Feed(machine_.OnAnswer(answered));
}

Status TurnJob::Append(event::Event event, Durability durability) {
  const bool mirrored =
      spec_.mirror && (event.has_permission_requested() || event.has_approval_resolved());
  const event::Event copy = mirrored ? event : event::Event();
  ODY_RETURN_IF_ERROR(spec_.journal->Append(std::move(event), durability).status());
  if (mirrored) spec_.mirror(copy);
  return OkStatus();
}

void TurnJob::Do(const turn::Emit& effect) {
  const Status appended =
      Append(effect.event, effect.durable ? Durability::kSynced : Durability::kBatched);
  // When the turn ends anyway its end says why.
  if (!appended.ok() && !stopping_) StopMachine(Ending::kFailed, appended.message());
}

model::ModelRequest TurnJob::NextModelRequest() const {
  model::ModelRequest out;
  out.system = setup_->system_prompt;
  if (!memory_.summary.text.empty()) out.earlier = "summary:\n" + memory_.summary.text;
  out.messages = memory_.window;
  const auto& own = machine_.messages();
  out.messages.insert(out.messages.end(), own.begin(), own.end());
  for (const std::string& name : tools_.Names()) {
    out.tools.push_back(tools_.Find(name)->Spec());
    if (name == policy::kBash) out.tools.back().description = tools::DescribeShell(setup_->shell);
  }
  return out;
}

void TurnJob::Do(const turn::CallModel&) {
  if (const std::string why = meter_.Reached(BudgetMeter::Next::kModelCall, Now()); !why.empty()) {
    return StopMachine(Ending::kFailed, why);
  }
  ListTools(mcp_client::Freshness::kKnown);
  const model::ModelSink sink = [this](model::ModelEvent event) {
    for (const turn::Effect& effect : machine_.OnModelEvent(event)) {
      ODY_RETURN_IF_ERROR(Append(std::get<turn::Emit>(effect).event, Durability::kBatched));
    }
    return OkStatus();
  };
  ModelCallEnd end =
      CallModel(setup_->model.get(), NextModelRequest(), &meter_, sink, stop_.get_token());
  TellModelCall(std::move(end.step));
  if (stop_.stop_requested()) return;
  const std::string exceeded = meter_.Exceeded(Now());
  if (end.status.ok() && !exceeded.empty()) return StopMachine(Ending::kFailed, exceeded);
  if (!end.status.ok()) stopping_ = true;
  Feed(machine_.OnModelEnd(end.status));
}

void TurnJob::Do(const turn::Authorize& effect) {
  if (EnterCell()) TakeVerdict(judge_.Judge(effect.call));
}

void TurnJob::TakeVerdict(const Result<approval::Verdict>& verdict) {
  if (verdict.ok()) return Feed(machine_.OnVerdict(*verdict));
  const tools::ToolResult failure = tools::Failure(verdict.status());
  Feed(machine_.OnToolResult(failure.json, failure.success));
}

agent::v1::PermissionRequested TurnJob::RequestOf(const turn::Ask& ask) {
  const tools::Tool* tool = tools_.Find(ask.call.tool);
  agent::v1::PermissionRequested request;
  request.set_turn_id(spec_.turn_id);
  request.set_request_id(ask.request_id);
  request.set_tool_name(ask.call.tool);
  request.set_rule(ask.rule);
  request.set_arguments_json(ask.call.arguments_json);
  request.set_cwd(tool->WorkingDirectory(ask.call.arguments_json, setup_->workspace));
  request.set_scope(ask.scope);
  request.set_risk(std::string(rules::RiskName(ask.risk)));
  request.set_diff(tool->Preview(ask.call.arguments_json, ContextOf(ask.call)));
  if (!judge_.leads_to().empty()) request.set_leads_to(judge_.leads_to());
  const Result<rules::ToolCall> terms = tool->ForRules(ask.call.arguments_json);
  if (terms.ok() && !terms->command.empty()) {
    *request.mutable_parsed() = approval::ParsedCommand(terms->command);
  }
  const tools::GrantRequest& wanted = refused_.has_result() ? refused_.wanted() : judge_.wanted();
  if (!wanted.grants.grants().empty()) {
    *request.mutable_grants() = wanted.grants;
    request.set_reason(wanted.reason);
  }
  if (approval_timeout_.count() > 0) {
    request.set_expires_at(agent::FormatTime(runtime_->clock->Now() + approval_timeout_));
  }
  message::SanitizeStrings(&request);
  request.set_digest(approval::DigestOf(request));
  return request;
}

// The question is open before it is told, so that an answer to what was told always finds it.
void TurnJob::Do(const turn::Ask& effect) {
  const bool open = question_.Open(RequestOf(effect), approval_timeout_, [self = weak_from_this()] {
    if (const auto job = self.lock()) job->spec_.resume(job.get());
  });
  event::Event event;
  *event.mutable_permission_requested() = question_.request();
  const Status told = Append(std::move(event), Durability::kSynced);
  if (!told.ok()) return StopMachine(Ending::kFailed, told.message());
  if (open) return;
  OnAnswer({approval::Decision::kDeny,
            "more than " + std::to_string(approval::kMaxAsksPerMinute) +
                " requests for approval in a minute",
            getuid(), "limit"});
}

// A worker that cannot be started is a result like any other.
void TurnJob::StartWorker(const turn::Call& call, const tools::WorkerCall& work) {
  if (const std::string why = meter_.Reached(BudgetMeter::Next::kToolCall, Now()); !why.empty()) {
    return Feed(
        machine_.OnToolResult(agent::ErrorObject("nothing is left for a worker: " + why), false));
  }
  const auto promise = std::make_shared<std::promise<WorkerEnd>>();
  worker_end_ = promise->get_future();
  worker_stopped_ = false;
  const std::weak_ptr<TurnJob> self = weak_from_this();
  Result<std::string> started = runtime_->workers->StartWorker(
      {spec_.session_id, spec_.turn_id, cell_.id(), meter_.Left(Now()),
       DeadlineLeftMs(spec_.deadline_at_ms, *runtime_->clock)},
      work, [promise, self](const WorkerEnd& end) {
        promise->set_value(end);
        if (const auto job = self.lock()) job->spec_.resume(job.get());
      });
  if (!started.ok()) {
    const tools::ToolResult failure = tools::Failure(started.status());
    return Feed(machine_.OnToolResult(failure.json, failure.success));
  }
  worker_session_ = *std::move(started);
  event::Event event;
  agent::v1::WorkerStarted& told = *event.mutable_worker_started();
  told.set_turn_id(spec_.turn_id);
  told.set_tool_call_id(call.id);
  told.set_worker(work.worker);
  told.set_session_id(worker_session_);
  // Without the journal the turn fails when the worker has ended.
  (void)Append(std::move(event), Durability::kBatched);
}

// False: it has not ended. A turn that is to stop waits for its worker's end all the same, so that
// no process of the worker outlives it.
bool TurnJob::TakeWorkerEnd() {
  if (stop_.stop_requested() && !std::exchange(worker_stopped_, true)) {
    runtime_->workers->StopWorker(worker_session_);
  }
  if (worker_end_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return false;
  const WorkerEnd end = worker_end_.get();
  meter_.CountWorker(end.used);
  const std::string session_id = std::exchange(worker_session_, {});
  const tools::ToolResult result = WorkerResult(session_id, end);
  if (!stop_.stop_requested()) FeedResult(result);
  return true;
}

tools::ToolContext TurnJob::ContextOf(const turn::Call& call) {
  tools::ToolContext context;
  context.sandbox = runtime_->sandbox;
  context.cell_id = cell_.id();
  context.turn_id = spec_.turn_id;
  context.tool_call_id = call.id;
  context.wall_clock_ms = cell_.wall_clock_ms();
  context.output_cap_bytes = setup_->output_cap_bytes;
  context.keep_output = setup_->cell.request.mode != policy::Mode::kDangerFullAccess;
  context.workspace = setup_->workspace;
  context.shell = setup_->shell;
  context.stop = stop_.get_token();
  context.leads_to = judge_.leads_to();
  context.ignored = ignored_.get();
  context.is_hidden = [this](const std::string& path) { return judge_.IsHidden(path); };
  context.bundle = &setup_->bundle->spec;
  context.jobs = &jobs_;
  return context;
}

// A tool's result reaches the model, the journal and the record without the secrets in it.
void TurnJob::Do(const turn::RunTool& effect) {
  if (!EnterCell()) return;
  if (!judge_.is_detour()) {
    const std::string why = meter_.Reached(BudgetMeter::Next::kToolCall, Now());
    if (!why.empty()) return StopMachine(Ending::kFailed, why);
    meter_.CountToolCall();
  }
  const tools::Tool* called = tools_.Find(effect.call.tool);
  if (!LeavesFiles(effect.call.tool)) ignored_->Forget();
  if (const auto work = called->AsWorkerCall(effect.call.arguments_json)) {
    return StartWorker(effect.call, *work);
  }
  event::RedactedEvents redacted(&redactor_);
  tools::ToolContext context = ContextOf(effect.call);
  context.emit = [this, &redacted](event::Event event) {
    for (event::Event& recorded : redacted.Of(std::move(event))) {
      ODY_RETURN_IF_ERROR(Append(std::move(recorded), Durability::kBatched));
    }
    return OkStatus();
  };
  ran_tool_ = true;
  const Result<tools::ToolResult> result = called->Run(effect.call.arguments_json, context);
  cell_.Leave();
  if (result.ok()) {
    refused_.Begin(*result);
    return SettleRefused();
  }
  if (stop_.stop_requested()) return;
  if (auto leads_to = sandbox::LeadsTo(result.status())) {
    return TakeVerdict(judge_.JudgeDetour(effect.call, *std::move(leads_to)));
  }
  if (result.status().code() != Code::kUnavailable) {
    return StopMachine(Ending::kFailed, result.status().message());
  }
  // The cell or the supervisor ended. The model goes on; its next call waits for a cell.
  cell_.Lost();
  FeedResult(tools::Failure(
      Unavailable(result.status().message() + "; what the call had done by then is not known")));
}

// Opens what rules open, until there is a question or the result.
void TurnJob::SettleRefused() {
  while (const std::optional<rules::Verdict> verdict = refused_.Next()) {
    if (*verdict == rules::Verdict::kAsk) return Feed(machine_.AskBeforeResult(refused_.rule()));
    cell_.AddByRule(refused_.wanted().grants);
    if (!OpenDestination(kTurnEnds)) return;
  }
  FeedResult(refused_.TakeResult());
}

void TurnJob::Do(const turn::ResumeResult& effect) {
  if (!effect.allowed) {
    refused_.StaysRefused("denied" + (effect.note.empty() ? "" : ": " + effect.note));
  } else if (!OpenDestination(until_)) {
    return;
  }
  SettleRefused();
}

// Puts what was just granted in force. False: the turn ends.
bool TurnJob::OpenDestination(const std::string& until) {
  Status entered = cell_.Enter();
  if (entered.ok()) {
    refused_.Opened(until);
    return true;
  }
  refused_.StaysRefused(entered.message());
  if (!tools::EndsTurn(entered)) entered = cell_.Enter();  // without it
  if (tools::EndsTurn(entered)) StopMachine(Ending::kInterrupted, entered.message());
  return !tools::EndsTurn(entered);
}

void TurnJob::FeedResult(const tools::ToolResult& result) {
  Feed(machine_.OnToolResult(redactor_.JsonText(result.json), result.success));
}

void TurnJob::Do(const turn::Finish& effect) {
  // An interrupted turn has no supervisor to ask: what waits is told with the next one.
  if (ran_tool_ && effect.ending != Ending::kInterrupted) TellChanges();
  trace_.Note(std::to_string(meter_.model_calls()) + " model calls, " +
              std::to_string(meter_.tool_calls()) + " tool calls");
  trace_.Leave();
  TellSteps();
  End(effect.ending, effect.message);
}

// What is not known, or cannot be written, changes nothing about how the turn ended.
void TurnJob::TellChanges() {
  if (!setup_ || !policy::HasReviewedWrites(setup_->cell.request)) return;
  Result<supervisor::v1::ChangeCounts> counts = runtime_->sandbox->CountChanges(setup_->cell.key);
  if (!counts.ok() || IsEmpty(*counts)) return;
  event::Event event;
  event.mutable_workspace_changed()->set_turn_id(spec_.turn_id);
  *event.mutable_workspace_changed()->mutable_counts() = *std::move(counts);
  (void)Append(std::move(event), Durability::kBatched);
}

// The record first: who reads the event of the end and asks for the turn sees it ended.
void TurnJob::End(Ending ending, const std::string& message) {
  ending_ = true;
  cell_.Leave();
  cell_.LeaveTurn();
  const TurnRecord recorded = RecordEnd(StatusOf(ending), message);
  TellSteps();
  std::vector<event::Event> events =
      TurnEnds(spec_.turn_id, recorded.status,
               recorded.status == TurnStatus::kCompleted ? recorded.response : recorded.error);
  event::Event& end = events.back();
  if (end.has_turn_completed()) {
    machine_.DescribeEnd(end.mutable_turn_completed());
    AddUse(end.mutable_turn_completed());
  }
  Status told;
  for (event::Event& event : events) {
    if (told.ok()) told = Append(std::move(event), Durability::kSynced);
  }
  TurnRecord ended;
  const auto announce = [&](SessionRecord& record) {
    TurnRecord* turn = FindTurn(record, spec_.turn_id);
    if (turn == nullptr) return Internal("turn " + spec_.turn_id + " is not in its session");
    turn->announced = told.ok();
    ended = *turn;
    return OkStatus();
  };
  // Not synced: without it a restart looks for the event in the journal.
  if (!runtime_->store->Update(spec_.session_id, announce, Durability::kBatched).ok()) {
    runtime_->store->UpdateInMemory(spec_.session_id,
                                    [&](SessionRecord& record) { (void)announce(record); });
  }
  ended_ = true;
  spec_.on_end(spec_.turn_id);
  if (runtime_->on_turn_end) runtime_->on_turn_end(spec_.session_id, ended);
  ended_promise_.set_value();
}

void TurnJob::AddUse(TurnRecord* turn) const {
  if (setup_ == nullptr) return;  // nothing was begun
  turn->used = meter_.UseOfTurn(Now());
  turn->token_permille = meter_.scale().permille();
  if (memory_.summarised) turn->summary = memory_.summary;
}

void TurnJob::AddUse(agent::v1::TurnCompleted* completed) const {
  if (!summary_usage_.estimated() && summary_usage_.input_tokens() != 0) {
    AddUsage(summary_usage_, completed->mutable_usage());
  }
  const std::optional<uint64_t> cost = meter_.cost_microdollars();
  if (completed->has_usage() && cost) completed->mutable_usage()->set_cost_microdollars(*cost);
}

// How the turn has ended, in the record.
TurnRecord TurnJob::RecordEnd(TurnStatus status, const std::string& message) {
  trace_.Enter(TurnStep::kCollectHistory);
  const std::vector<model::Message>& history = machine_.messages();
  trace_.Note(std::to_string(history.size()) + " messages");
  trace_.Enter(TurnStep::kPersistTurn);
  TurnRecord ended;
  const auto change = [&](SessionRecord& record) {
    TurnRecord* turn = FindTurn(record, spec_.turn_id);
    if (turn == nullptr) return Internal("turn " + spec_.turn_id + " is not in its session");
    turn->status = status;
    turn->history = history;
    AddUse(turn);
    (status == TurnStatus::kCompleted ? turn->response : turn->error) = message;
    ended = *turn;
    return OkStatus();
  };
  const Status recorded = runtime_->store->Update(spec_.session_id, change);
  trace_.Note(recorded.ok() ? "recorded" : recorded.message());
  trace_.Leave();
  if (recorded.ok()) return ended;
  // The disk is full, perhaps. The turn must end all the same; after a restart it is interrupted.
  ended.status = TurnStatus::kFailed;
  ended.error = "the turn's end could not be recorded: " + recorded.message();
  runtime_->store->UpdateInMemory(spec_.session_id, [&](SessionRecord& record) {
    TurnRecord* turn = FindTurn(record, spec_.turn_id);
    if (turn == nullptr) return;
    turn->status = ended.status;
    turn->history = history;
    AddUse(turn);
    turn->error = ended.error;
  });
  return ended;
}

}  // namespace odyssey::session
