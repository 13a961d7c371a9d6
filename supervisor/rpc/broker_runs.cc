// The broker's part in the directories of commands: who uses which, what is copied there, and what
// is removed.

#include <time.h>

#include <utility>

#include "policy/plan/cell_wire.h"
#include "supervisor/rpc/broker.h"

namespace odyssey::supervisor {
namespace {

// A cell that fills its runs faster than they can be removed is not followed for ever.
constexpr int kMaxTrimRequests = 1000;

uint64_t NanosecondsSince1970() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// On the host there is no directory of the cell's own to make them in.
Status CheckHasRuns(const Cell& cell, std::string_view field) {
  if (!cell.compiled.unconfined) return OkStatus();
  return FailedPrecondition(std::string(field) + ": there are no runs with danger_full_access");
}

}  // namespace

AskWorker Broker::WorkerOf(const CellPtr& cell) {
  return [this, cell](const tool::Request& request) -> Result<tool::Response> {
    ODY_ASSIGN_OR_RETURN(tool::Response response, Ask(cell, request));
    if (response.code != Code::kOk) return Status(response.code, response.error);
    return response;
  };
}

// Called with the lock.
Result<uint64_t> Broker::TakeRun(const CellPtr& cell, std::string_view field,
                                 const std::string& run_id) {
  ODY_RETURN_IF_ERROR(CheckHasRuns(*cell, field));
  if (!run_id.empty()) return cell->runs.Use(field, run_id);
  const uint64_t run = cell->runs.Begin(NanosecondsSince1970());
  // Here, because a cell that gets no more runs need not lose any.
  if (cell->runs.StartTrim() && !cell->jobs.Add([this, cell] { TrimRuns(cell); })) {
    cell->runs.Trimmed(0);
  }
  return run;
}

void Broker::ReleaseRun(const CellPtr& cell, uint64_t run) {
  const Lock lock(mutex_);
  cell->runs.Release(run);
  if (cell->single_use && cell->running.empty() && cell->waiting.empty())
    EndUnusedLater(cell.get());
}

// Called with the lock.
void Broker::EndUnusedLater(Cell* cell) {
  if (cell->state != CellState::kReady) return;
  cell->unused_deadline = Clock::now() + kUnusedTimeout;
  loop_.WakeAt(cell->unused_deadline);
}

// Called with the lock. A client may have come for more: the cell stays until it removes it, or
// does nothing more.
void Broker::OnCommandEnd(Cell* cell, const ExecSession& session) {
  cell->runs.Release(session.options().spec.run);
  if (!cell->single_use) return;
  if (session.options().stays) {
    EndUnusedLater(cell);
  } else {
    EndSingleUse(cell);
  }
}

Result<std::unique_ptr<RunUse>> Broker::UseRun(const std::string& cell_id, std::string_view field,
                                               const std::string& run_id) {
  CellPtr cell;
  uint64_t run = 0;
  {
    const Lock lock(mutex_);
    ODY_ASSIGN_OR_RETURN(cell, FindAllowed(cell_id));
    ODY_ASSIGN_OR_RETURN(run, TakeRun(cell, field, run_id));
    cell->unused_deadline = Clock::time_point::max();
  }
  auto use = MakeUse(cell, run);
  if (run_id.empty()) {
    ODY_RETURN_IF_ERROR(use->ask()({.op = tool::Op::kMakeRun, .path = use->name()}).status());
  }
  return use;
}

Result<std::unique_ptr<RunUse>> Broker::UseOldRun(const std::string& cell_id,
                                                  std::string_view field,
                                                  const std::string& run_id) {
  ODY_ASSIGN_OR_RETURN(const uint64_t run, ParseRunId(field, run_id));
  const Lock lock(mutex_);
  ODY_ASSIGN_OR_RETURN(const CellPtr cell, FindAllowed(cell_id));
  ODY_RETURN_IF_ERROR(CheckHasRuns(*cell, field));
  (void)cell->runs.Use(field, run_id);
  cell->unused_deadline = Clock::time_point::max();
  return MakeUse(cell, run);
}

std::unique_ptr<RunUse> Broker::MakeUse(const CellPtr& cell, uint64_t run) {
  return std::make_unique<RunUse>(run, WorkerOf(cell),
                                  [this, cell, run] { ReleaseRun(cell, run); });
}

ExecSession::MakeCopy Broker::CopiesOf(const CellPtr& cell,
                                       const std::shared_ptr<ExecSession>& session) {
  return [this, cell, weak = std::weak_ptr<ExecSession>(session),
          outbox = cell::RunName(session->options().spec.run) + "/outbox/"](Stream stream) {
    RunOutput::Wiring wiring{
        .ask = WorkerOf(cell),
        .do_later = [cell](std::function<void()> job) { return cell->jobs.Add(std::move(job)); },
        .progress =
            [weak] {
              if (const auto waiting = weak.lock()) waiting->Continue();
            }};
    return std::make_shared<RunOutput>(std::move(wiring),
                                       outbox + (stream == Stream::kStdout ? "stdout" : "stderr"));
  };
}

// On the cell's job thread.
void Broker::TrimRuns(const CellPtr& cell) {
  const AskWorker ask = WorkerOf(cell);
  uint32_t left = 0;
  for (int i = 0; i < kMaxTrimRequests; ++i) {
    tool::Request request{.op = tool::Op::kTrim};
    {
      const Lock lock(mutex_);
      request.names = cell->runs.InUse();
    }
    const auto response = ask(request);
    if (!response.ok()) break;
    left = response->runs;
    if (!response->truncated) break;
  }
  const Lock lock(mutex_);
  cell->runs.Trimmed(left);
}

}  // namespace odyssey::supervisor
