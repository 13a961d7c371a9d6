#ifndef ODYSSEY_AGENTD_SESSION_TURN_JOB_H_
#define ODYSSEY_AGENTD_SESSION_TURN_JOB_H_

// Does what a turn's machine says: calls the model, runs tools, asks people, writes the journal,
// and records the end. Runs on one worker at a time; only the methods of SessionJob and the
// destructor may be called from elsewhere.

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "agentd/base/redactor.h"
#include "agentd/event/journal.h"
#include "agentd/session/budget_meter.h"
#include "agentd/session/call_judge.h"
#include "agentd/session/call_question.h"
#include "agentd/session/granted_cell.h"
#include "agentd/session/refused_network.h"
#include "agentd/session/runtime.h"
#include "agentd/session/session_job.h"
#include "agentd/session/turn_memory.h"
#include "agentd/session/turn_setup.h"
#include "agentd/session/turn_tools.h"
#include "agentd/session/turn_trace.h"
#include "agentd/session/worker_call.h"
#include "agentd/tool/ignored_paths.h"
#include "agentd/turn/turn_machine.h"

namespace odyssey::session {

class TurnJob final : public SessionJob, public std::enable_shared_from_this<TurnJob> {
 public:
  struct Spec {
    std::string session_id, turn_id, prompt;
    uint64_t deadline_ms = 0;    // for the words of its end; Sessions watches it
    int64_t deadline_at_ms = 0;  // Unix time; 0: none
    std::shared_ptr<event::Journal> journal;
    std::function<void(const SessionJob*)> resume;            // makes the pool run the job again
    std::function<void(const std::string& cell_id)> on_cell;  // the session's cell is this one
    std::function<void(const std::string& turn_id)> on_end;   // the last thing before it has ended
    // Makes a call of RequestStop(kFailed) so much later, if the turn has not ended.
    std::function<void(const std::string& turn_id, uint64_t after_ms)> stop_after;
    // A worker's questions and their answers, for the journals of its callers; may be empty.
    std::function<void(const event::Event&)> mirror;
  };

  // `runtime` is borrowed.
  TurnJob(Spec spec, const Runtime* runtime);

  scheduler::Progress Run() override;
  void RequestStop(turn::Ending ending) override;
  void EndWithoutRunning() override;
  void LeaveForRestart() override { ended_promise_.set_value(); }
  bool IsEnding() const override { return ending_; }
  void WaitEnded() override { ended_future_.wait(); }

  const std::string& session_id() const { return spec_.session_id; }

 private:
  Status Begin();
  Status RecordRunning();
  Status AwaitCell();
  bool EnterCell();
  void ListTools(mcp_client::Freshness freshness);
  void Proceed();
  void StopMachine(turn::Ending ending, const std::string& message);
  void StopAsRequested();
  void Feed(turn::Effects effects);
  bool TakeAnswer();
  void OnAnswer(const approval::Answer& answer);
  agent::v1::PermissionRequested RequestOf(const turn::Ask& ask);

  void Do(const turn::Emit& effect);
  void Do(const turn::CallModel& effect);
  void Do(const turn::Authorize& effect);
  void Do(const turn::Ask& effect);
  void Do(const turn::RunTool& effect);
  void Do(const turn::ResumeResult& effect);
  void Do(const turn::Finish& effect);

  void StartWorker(const turn::Call& call, const tools::WorkerCall& work);
  bool TakeWorkerEnd();
  void SettleRefused();
  bool OpenDestination(const std::string& until);
  void FeedResult(const tools::ToolResult& result);
  void TellChanges();
  void TellStep(agent::v1::TurnStep step);
  void TellModelCall(agent::v1::TurnStep step);
  void TellSteps();
  void MeterTurn(const SessionRecord& record);
  void RecallTurns(const SessionRecord& record);
  Result<std::string> AskSummary(const model::ModelRequest& request);
  void AddUse(TurnRecord* turn) const;
  void AddUse(agent::v1::TurnCompleted* completed) const;

  void TakeVerdict(const Result<approval::Verdict>& verdict);
  tools::ToolContext ContextOf(const turn::Call& call);
  model::ModelRequest NextModelRequest() const;
  // Appends to the journal; the first failure is kept and fails the turn.
  Status Append(event::Event event, event::Durability durability);
  void End(turn::Ending ending, const std::string& message);
  TurnRecord RecordEnd(TurnStatus status, const std::string& message);

  const Spec spec_;
  const Runtime* const runtime_;
  turn::TurnMachine machine_;

  std::shared_ptr<const TurnSetup> setup_;
  agent::Redactor redactor_{std::map<std::string, std::string>()};
  job::JobScope jobs_;
  BudgetMeter meter_;
  TurnTrace trace_;
  TurnMemory memory_;  // of earlier turns
  agent::v1::Usage summary_usage_;
  GrantedCell cell_;
  TurnTools tools_;
  CallJudge judge_;
  CallQuestion question_;
  RefusedNetwork refused_;
  std::string until_;  // of what the latest answer granted
  bool begun_ = false;
  bool told_start_ = false;
  bool ran_tool_ = false;
  bool stopping_ = false;
  bool ended_ = false;
  std::deque<turn::Effect> effects_;
  std::unique_ptr<tools::IgnoredPaths> ignored_;   // once the turn has begun
  std::chrono::milliseconds approval_timeout_{0};  // 0: none
  std::string worker_session_;                     // not empty: waits for that session's turn
  bool worker_stopped_ = false;
  std::future<WorkerEnd> worker_end_;

  std::atomic<bool> ending_ = false;

  // Set by any thread.
  std::atomic<int> stop_requested_ = -1;  // a turn::Ending
  std::stop_source stop_;
  std::promise<void> ended_promise_;
  std::shared_future<void> ended_future_ = ended_promise_.get_future().share();
};

}  // namespace odyssey::session

#endif  // ODYSSEY_AGENTD_SESSION_TURN_JOB_H_
