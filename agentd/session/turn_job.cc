#include "agentd/session/turn_job.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "agentd/approval/gate.h"
#include "agentd/approval/parsed_command.h"
#include "agentd/base/json_text.h"
#include "agentd/event/redacted_events.h"
#include "agentd/memory/window.h"
#include "agentd/session/setup_cache.h"
#include "agentd/session/turn_events.h"
#include "agentd/tool/bash_tool.h"
#include "agentd/tool/skill_tool.h"
#include "agentd/tool/tool_result.h"
#include "common/message/message_utf8.h"
#include "policy/model/tool_table.h"

namespace odyssey::session {
namespace {

using event::Durability;
using scheduler::Progress;
using turn::Ending;

constexpr std::chrono::milliseconds kRestoredRetry{200};
constexpr std::chrono::seconds kRestoredPatience{30};

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

bool IsEmpty(const supervisor::v1::ChangeCounts& counts) {
  return counts.added() + counts.modified() + counts.deleted() + counts.renamed() +
             counts.other() ==
         0;
}

std::string Join(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

}  // namespace

TurnJob::TurnJob(Spec spec, const Runtime* runtime)
    : spec_(std::move(spec)),
      runtime_(runtime),
      machine_(spec_.turn_id, spec_.prompt,
               [runtime](std::string_view prefix) { return runtime->ids->New(prefix); }) {}

void TurnJob::RequestStop(Ending ending) {
  int none = -1;
  stop_requested_.compare_exchange_strong(none, static_cast<int>(ending));
  stop_.request_stop();
  spec_.resume(this);
}

void TurnJob::StopAsRequested() {
  const auto ending = static_cast<Ending>(stop_requested_.load());
  StopMachine(ending, ending == Ending::kFailed
                          ? "deadline of " + std::to_string(spec_.deadline_ms) + " ms exceeded"
                          : "agentd was stopped");
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
    if (begun.ok()) {
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
  ODY_RETURN_IF_ERROR(RecordRunning());
  ODY_ASSIGN_OR_RETURN(const SessionPtr record, runtime_->store->Get(spec_.session_id));
  const auto setup = runtime_->setups->SetUp(*record, *runtime_);
  ODY_RETURN_IF_ERROR(
      Append(TurnStarts(spec_.turn_id, spec_.prompt, setup.ok() ? (*setup)->sandbox_mode : ""),
             Durability::kSynced));
  ODY_RETURN_IF_ERROR(setup.status());
  setup_ = *setup;
  budget_ = record->parent.budget;
  machine_.BoundTokens(setup_->model->max_total_tokens());
  redactor_ = agent::Redactor(SecretsOf(*record));
  window_ = memory::Window(HistoryOf(*record), setup_->agent.memory.max_window);
  ODY_ASSIGN_OR_RETURN(cell_id_, PrepareCell());
  spec_.on_cell(cell_id_);
  return OkStatus();
}

// After a restart of both daemons the supervisor may serve later than agentd does.
Result<std::string> TurnJob::PrepareCell() const {
  const auto until = std::chrono::steady_clock::now() + kRestoredPatience;
  std::mutex mutex;
  std::condition_variable_any stopped;
  for (;;) {
    Result<std::string> cell = PrepareSessionCell(spec_.session_id, *setup_, *runtime_);
    const bool again = spec_.restored && cell.status().code() == Code::kUnavailable &&
                       std::chrono::steady_clock::now() < until;
    if (!again || stop_.stop_requested()) return cell;
    std::unique_lock lock(mutex);
    stopped.wait_for(lock, stop_.get_token(), kRestoredRetry, [] { return false; });
  }
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
    if (!asked_request_.empty() && !TakeAnswer()) return;
    ODY_CHECK(!effects_.empty());
    const turn::Effect effect = std::move(effects_.front());
    effects_.pop_front();
    std::visit([this](const auto& what) { Do(what); }, effect);
  }
}

void TurnJob::StopMachine(Ending ending, const std::string& message) {
  stopping_ = true;
  if (!asked_request_.empty()) runtime_->approvals->Drop(std::exchange(asked_request_, {}));
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
  if (answer_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return false;
  asked_request_.clear();
  OnAnswer(answer_.get());
  return true;
}

void TurnJob::OnAnswer(const approval::Answer& answer) {
  if (runtime_->on_answer) runtime_->on_answer(spec_.session_id, asked_, answer);
  Feed(machine_.OnAnswer({answer.decision != approval::Decision::kDeny,
                          std::string(approval::DecisionName(answer.decision)), answer.note,
                          answer.by_uid, answer.by}));
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
  out.system = tools::SystemPrompt(setup_->agent.prompt, setup_->bundle->spec);
  out.messages = window_;
  const auto& own = machine_.messages();
  out.messages.insert(out.messages.end(), own.begin(), own.end());
  for (const std::string& name : setup_->offered) {
    out.tools.push_back(runtime_->tools->Find(name)->Spec());
    if (name == policy::kBash) out.tools.back().description = tools::DescribeShell(setup_->shell);
  }
  return out;
}

void TurnJob::Do(const turn::CallModel&) {
  const model::ModelSink sink = [this](model::ModelEvent event) {
    for (const turn::Effect& effect : machine_.OnModelEvent(event)) {
      ODY_RETURN_IF_ERROR(Append(std::get<turn::Emit>(effect).event, Durability::kBatched));
    }
    return OkStatus();
  };
  const Status status = setup_->model->Stream(NextModelRequest(), sink, stop_.get_token());
  if (stop_.stop_requested()) return;
  if (!status.ok()) stopping_ = true;
  Feed(machine_.OnModelEnd(status));
}

// Whether a rule of the agent, or of one that called it, keeps it from reading the path.
bool TurnJob::IsHidden(const std::string& path) const {
  const auto denies = [&](const rules::ToolRules& rules) {
    return rules::IsPathDenied(rules, "Read", path);
  };
  return denies(setup_->rules) || std::any_of(setup_->bounds.begin(), setup_->bounds.end(), denies);
}

// INVALID_ARGUMENT or NOT_FOUND: neither asked about nor run.
Result<approval::Verdict> TurnJob::JudgeCall(const turn::Call& call) const {
  const auto& offered = setup_->offered;
  if (std::find(offered.begin(), offered.end(), call.tool) == offered.end()) {
    return NotFound("there is no tool \"" + call.tool + "\"; available: " + Join(offered));
  }
  ODY_ASSIGN_OR_RETURN(const rules::ToolCall terms,
                       runtime_->tools->Find(call.tool)->ForRules(call.arguments_json));
  ODY_ASSIGN_OR_RETURN(rules::Decision decision, rules::Decide(setup_->rules, terms));
  for (const rules::ToolRules& bound : setup_->bounds) {
    ODY_ASSIGN_OR_RETURN(rules::Decision callers, rules::Decide(bound, terms));
    if (callers.verdict > decision.verdict) decision = std::move(callers);
  }
  // Handing work on is asked about unless a rule speaks of it.
  if (call.tool == policy::kWorkerCall && decision.rule.empty()) {
    decision = {rules::Verdict::kAsk, policy::kWorkerCall, "no rule speaks of worker_call",
                std::string(policy::kWorkerCall) + "(" + terms.paths[0] + ")"};
  }
  return approval::Judge(decision,
                         runtime_->approvals->IsGranted(spec_.session_id, decision.scope));
}

void TurnJob::Do(const turn::Authorize& effect) {
  const Result<approval::Verdict> verdict = JudgeCall(effect.call);
  if (verdict.ok()) return Feed(machine_.OnVerdict(*verdict));
  const tools::ToolResult failure = tools::Failure(verdict.status());
  Feed(machine_.OnToolResult(failure.json, failure.success));
}

agent::v1::PermissionRequested TurnJob::RequestOf(const turn::Ask& ask) const {
  const tools::Tool* tool = runtime_->tools->Find(ask.call.tool);
  agent::v1::PermissionRequested request;
  request.set_turn_id(spec_.turn_id);
  request.set_request_id(ask.request_id);
  request.set_tool_name(ask.call.tool);
  request.set_rule(ask.rule);
  request.set_arguments_json(ask.call.arguments_json);
  request.set_cwd(tool->WorkingDirectory(ask.call.arguments_json, setup_->workspace));
  request.set_scope(ask.scope);
  request.set_risk(std::string(rules::RiskName(ask.risk)));
  request.set_diff(tool->Preview(ask.call.arguments_json, *runtime_->sandbox, cell_id_));
  const Result<rules::ToolCall> terms = tool->ForRules(ask.call.arguments_json);
  if (terms.ok() && !terms->command.empty()) {
    *request.mutable_parsed() = approval::ParsedCommand(terms->command);
  }
  if (runtime_->approval_timeout.count() > 0) {
    request.set_expires_at(agent::FormatTime(runtime_->clock->Now() + runtime_->approval_timeout));
  }
  message::SanitizeStrings(&request);
  request.set_digest(approval::DigestOf(request));
  return request;
}

// The question is open before it is told, so that an answer to what was told always finds it.
void TurnJob::Do(const turn::Ask& effect) {
  asked_ = RequestOf(effect);
  const bool admitted = runtime_->approvals->CountAsk(spec_.session_id, runtime_->clock->Now());
  if (admitted) OpenQuestion();
  event::Event event;
  *event.mutable_permission_requested() = asked_;
  const Status told = Append(std::move(event), Durability::kSynced);
  if (!told.ok()) return StopMachine(Ending::kFailed, told.message());
  if (admitted) return;
  OnAnswer({approval::Decision::kDeny,
            "more than " + std::to_string(approval::kMaxAsksPerMinute) +
                " requests for approval in a minute",
            getuid(), "limit"});
}

void TurnJob::OpenQuestion() {
  const auto promise = std::make_shared<std::promise<approval::Answer>>();
  answer_ = promise->get_future();
  asked_request_ = asked_.request_id();
  approval::Question question;
  question.set_session_id(spec_.session_id);
  question.set_created_at(agent::FormatTime(runtime_->clock->Now()));
  *question.mutable_request() = asked_;
  const std::weak_ptr<TurnJob> self = weak_from_this();
  runtime_->approvals->Add(std::move(question), [promise, self](const approval::Answer& answer) {
    promise->set_value(answer);
    if (const auto job = self.lock()) job->spec_.resume(job.get());
  });
}

Budget TurnJob::BudgetLeft() const {
  Budget left = budget_;
  if (left.tool_calls != 0) left.tool_calls -= std::min(tool_calls_, left.tool_calls - 1);
  return left;
}

// A worker that cannot be started is a result like any other.
void TurnJob::StartWorker(const turn::Call& call, const tools::WorkerCall& work) {
  const auto promise = std::make_shared<std::promise<WorkerEnd>>();
  worker_end_ = promise->get_future();
  worker_stopped_ = false;
  const std::weak_ptr<TurnJob> self = weak_from_this();
  Result<std::string> started =
      runtime_->workers->StartWorker({spec_.session_id, spec_.turn_id, cell_id_, BudgetLeft(),
                                      DeadlineLeftMs(spec_.deadline_at_ms, *runtime_->clock)},
                                     work, [promise, self](const WorkerEnd& end) {
                                       promise->set_value(end);
                                       if (const auto job = self.lock())
                                         job->spec_.resume(job.get());
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
  tool_calls_ += end.tool_calls;
  const std::string session_id = std::exchange(worker_session_, {});
  const tools::ToolResult result = WorkerResult(session_id, end);
  if (!stop_.stop_requested()) {
    Feed(machine_.OnToolResult(redactor_.JsonText(result.json), result.success));
  }
  return true;
}

// A tool's result reaches the model, the journal and the record without the secrets in it.
void TurnJob::Do(const turn::RunTool& effect) {
  ++tool_calls_;
  if (budget_.tool_calls != 0 && tool_calls_ > budget_.tool_calls) {
    return StopMachine(Ending::kFailed, "the budget of " + std::to_string(budget_.tool_calls) +
                                            " tool calls is used up");
  }
  const tools::Tool* called = runtime_->tools->Find(effect.call.tool);
  if (const auto work = called->AsWorkerCall(effect.call.arguments_json)) {
    return StartWorker(effect.call, *work);
  }
  event::RedactedEvents redacted(&redactor_);
  tools::ToolContext context{
      runtime_->sandbox,
      cell_id_,
      spec_.turn_id,
      effect.call.id,
      setup_->wall_clock_ms,
      setup_->output_cap_bytes,
      setup_->cell.request.mode != policy::Mode::kDangerFullAccess,
      setup_->workspace,
      setup_->shell,
      stop_.get_token(),
      [this, &redacted](event::Event event) {
        for (event::Event& recorded : redacted.Of(std::move(event))) {
          ODY_RETURN_IF_ERROR(Append(std::move(recorded), Durability::kBatched));
        }
        return OkStatus();
      },
      [this](const std::string& path) { return IsHidden(path); },
      &setup_->bundle->spec};
  ran_tool_ = true;
  const Result<tools::ToolResult> result = called->Run(effect.call.arguments_json, context);
  if (result.ok()) {
    return Feed(machine_.OnToolResult(redactor_.JsonText(result->json), result->success));
  }
  if (stop_.stop_requested()) return;
  const bool lost = result.status().code() == Code::kUnavailable;
  StopMachine(lost ? Ending::kInterrupted : Ending::kFailed, result.status().message());
}

void TurnJob::Do(const turn::Finish& effect) {
  // An interrupted turn has no supervisor to ask: what waits is told with the next one.
  if (ran_tool_ && effect.ending != Ending::kInterrupted) TellChanges();
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
  const TurnStatus status = StatusOf(ending);
  ending_ = true;
  RecordEnd(status, message);
  event::Event end = TurnEnds(spec_.turn_id, status, message);
  if (end.has_turn_completed()) machine_.DescribeEnd(end.mutable_turn_completed());
  const Status told = Append(std::move(end), Durability::kSynced);
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

void TurnJob::RecordEnd(TurnStatus status, const std::string& message) {
  const auto change = [&](SessionRecord& record) {
    TurnRecord* turn = FindTurn(record, spec_.turn_id);
    if (turn == nullptr) return Internal("turn " + spec_.turn_id + " is not in its session");
    turn->status = status;
    turn->history = machine_.messages();
    (status == TurnStatus::kCompleted ? turn->response : turn->error) = message;
    return OkStatus();
  };
  const Status recorded = runtime_->store->Update(spec_.session_id, change);
  if (recorded.ok()) return;
  // The disk is full, perhaps. The turn must end all the same; after a restart it is interrupted.
  runtime_->store->UpdateInMemory(spec_.session_id, [&](SessionRecord& record) {
    TurnRecord* turn = FindTurn(record, spec_.turn_id);
    if (turn == nullptr) return;
    turn->status = TurnStatus::kFailed;
    turn->history = machine_.messages();
    turn->error = "the turn's end could not be recorded: " + recorded.message();
  });
}

}  // namespace odyssey::session
