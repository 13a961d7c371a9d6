#include "agentd/session/sessions.h"

#include <algorithm>
#include <utility>

#include "agentd/session/attachments.h"
#include "agentd/session/cell_end.h"
#include "agentd/session/recovery.h"
#include "agentd/session/turn_job.h"
#include "agentd/session/turn_setup.h"
#include "common/base/refusal.h"
#include "policy/model/own_variables.h"

namespace odyssey::session {
namespace {

// A file operation carries no more.
constexpr uint64_t kMaxAttachmentBytes = uint64_t{8} << 20;
constexpr char kAttachmentDirectory[] = "/cell/data/attachments/";

Status CheckEnvironment(const Environment& env) {
  if (env.size() > kMaxSessionEnv) {
    return InvalidArgument("env: " + std::to_string(env.size()) + " variables; at most " +
                           std::to_string(kMaxSessionEnv));
  }
  for (const auto& [name, value] : env) {
    if (value.find('\0') != std::string::npos) {
      return InvalidArgument("env \"" + name + "\": the value holds a NUL byte");
    }
  }
  return OkStatus();
}

// Nothing else of the client's environment is kept.
Environment OnlySources(const std::set<std::string>& sources, const Environment& env) {
  Environment out;
  for (const auto& [name, value] : env) {
    if (sources.count(name) != 0 || policy::IsInheritedVariable(name)) out[name] = value;
  }
  return out;
}

Runtime WithOwn(Runtime runtime, SetupCache* setups, Workers* workers) {
  runtime.setups = setups;
  runtime.workers = workers;
  return runtime;
}

Status CheckTerms(const TurnTerms& terms) {
  if (terms.deadline_ms > kMaxDeadlineMs) {
    return InvalidArgument("deadline_ms " + std::to_string(terms.deadline_ms) + ": at most " +
                           std::to_string(kMaxDeadlineMs));
  }
  const size_t bytes = terms.idempotency_key.size();
  if (bytes > kMaxIdempotencyKeyBytes) {
    return InvalidArgument("idempotency_key has " + std::to_string(bytes) + " bytes; at most " +
                           std::to_string(kMaxIdempotencyKeyBytes));
  }
  return OkStatus();
}

Status CheckNewSession(const NewSession& spec) {
  const bool absolute = spec.cwd.empty() || spec.cwd.front() == '/';
  if (!absolute || spec.cwd.find("/../") != std::string::npos) {
    return InvalidArgument("cwd \"" + spec.cwd + "\": must be an absolute, normalised path");
  }
  return CheckEnvironment(spec.env);
}

}  // namespace

Sessions::Sessions(Runtime runtime, const Options& options)
    : runtime_(WithOwn(std::move(runtime), &setups_, this)),
      pool_(options.workers, options.queue_bound, options.queue_total),
      deadlines_([this](const std::string& turn_id) { OnDeadline(turn_id); }) {}

Sessions::~Sessions() { Stop(); }

std::vector<std::string> Sessions::Recover() {
  std::vector<std::string> warnings;
  for (const std::string& id : runtime_.store->unfinished()) {
    const Result<SessionPtr> record = Get(id);
    Status recovered = record.ok() ? RecoverSession(**record, runtime_) : record.status();
    if (recovered.ok()) recovered = EnqueueAgain(id);
    if (!recovered.ok()) warnings.push_back("session " + id + ": " + recovered.message());
  }
  CollectBundles();
  return warnings;
}

Status Sessions::EnqueueAgain(const std::string& session_id) {
  ODY_ASSIGN_OR_RETURN(const SessionPtr record, Get(session_id));
  ODY_ASSIGN_OR_RETURN(const std::shared_ptr<event::Journal> journal, JournalOf(session_id));
  for (const TurnRecord& turn : record->turns) {
    if (turn.status != TurnStatus::kQueued) continue;
    ODY_RETURN_IF_ERROR(EnqueueTurn(session_id, turn, journal, scheduler::Admission::kAccepted));
  }
  return OkStatus();
}

Result<SessionPtr> Sessions::Create(const NewSession& spec) {
  ODY_RETURN_IF_ERROR(CheckNewSession(spec));
  ODY_ASSIGN_OR_RETURN(const auto bundle, runtime_.bundles->OpenFor(spec.bundle, spec.owner_uid));
  ODY_ASSIGN_OR_RETURN(const dialect::AgentSpec agent,
                       dialect::FindAgent(bundle->spec, spec.agent_id));
  SessionRecord record;
  record.id = runtime_.ids->New("ses");
  record.bundle = bundle->pin;
  record.agent_id = agent.id;
  record.model_provider = agent.model.provider;
  record.model_id = agent.model.name;
  record.created_at = agent::FormatTime(runtime_.clock->Now());
  record.cwd = spec.cwd;
  record.owner_uid = spec.owner_uid;
  record.allow_danger = spec.allow_danger;
  record.review = spec.review;
  for (const auto& [name, source] : bundle->spec.sandbox.env) record.env_sources.insert(source);
  record.env = OnlySources(record.env_sources, spec.env);
  ODY_ASSIGN_OR_RETURN(const TurnSetup setup, SetUpTurn(record, runtime_));
  if (spec.allow_danger && setup.cell.request.mode != policy::Mode::kDangerFullAccess) {
    return Refused(Code::kInvalidArgument, "allow_danger", "",
                   "bundle " + bundle::RefOf(record.bundle) + " asks for " + setup.sandbox_mode +
                       ", not danger_full_access: leave it out");
  }
  if (spec.review && policy::IsDanger(setup.cell.request)) {
    return InvalidArgument("review: bundle " + bundle::RefOf(record.bundle) +
                           " asks for danger_full_access, whose commands write to the host itself: "
                           "leave it out");
  }
  record.reviews = policy::HasReviewedWrites(setup.cell.request);  // or the bundle asks for it
  if (spec.review && !record.reviews) {
    return InvalidArgument("review: bundle " + bundle::RefOf(record.bundle) +
                           " writes to no directory of the host: leave it out");
  }
  ODY_RETURN_IF_ERROR(CheckSessionCell(setup, runtime_));
  const std::string id = record.id;
  ODY_RETURN_IF_ERROR(runtime_.store->Create(std::move(record)));
  return Get(id);
}

Result<SessionPtr> Sessions::Get(const std::string& session_id) const {
  return runtime_.store->Get(session_id);
}

std::vector<SessionPtr> Sessions::List() const { return runtime_.store->List(); }

// Caller holds mutex_.
Status Sessions::CheckOpen(const std::string& session_id) const {
  if (stopping_) return Unavailable("the daemon is stopping");
  if (deleting_.count(session_id) > 0) return NoSuchSession(session_id);
  if (kept_idle_.count(session_id) > 0) {
    return FailedPrecondition("session_id \"" + session_id +
                              "\": it is being forked, or changes of it discarded; try again");
  }
  return OkStatus();
}

Status Sessions::WhileIdle(const std::string& session_id, const std::function<Status()>& work) {
  ODY_RETURN_IF_ERROR(Get(session_id).status());
  for (std::shared_ptr<SessionJob> ending;; ending->WaitEnded()) {
    std::lock_guard lock(mutex_);
    ODY_RETURN_IF_ERROR(CheckOpen(session_id));
    ending.reset();
    bool all_end = true;  // the client of such a job may have seen the end already
    for (const auto& [id, active] : active_) {
      if (active.session_id != session_id) continue;
      ending = active.job;
      all_end = all_end && ending->IsEnding();
    }
    if (ending == nullptr) {
      kept_idle_.insert(session_id);
      break;
    }
    if (all_end) continue;
    return FailedPrecondition("session_id \"" + session_id +
                              "\": a turn or a command is queued or runs; cancel it or wait");
  }
  Status done = work();
  std::lock_guard lock(mutex_);
  kept_idle_.erase(session_id);
  return done;
}

Result<SessionPtr> Sessions::Fork(const std::string& session_id) {
  const std::string id = runtime_.ids->New("ses");
  const auto copy_it = [&]() -> Status {
    ODY_ASSIGN_OR_RETURN(const SessionPtr record, Get(session_id));
    SessionRecord copy = *record;
    copy.id = id;
    copy.created_at = agent::FormatTime(runtime_.clock->Now());
    copy.forked_from = session_id;
    // Their ends are in the other journal.
    for (TurnRecord& turn : copy.turns) {
      turn.announced = true;
      turn.idempotency_key.clear();
      turn.after_sequence = 0;
    }
    return CopySession(*record, std::move(copy));
  };
  {
    std::lock_guard lock(mutex_);
    kept_idle_.insert(id);  // seen in lists before it is whole
  }
  const Status copied = WhileIdle(session_id, copy_it);
  {
    std::lock_guard lock(mutex_);
    kept_idle_.erase(id);
  }
  ODY_RETURN_IF_ERROR(copied);
  return Get(id);
}

// The record before the directories, so that none is ever without a session to be deleted with.
Status Sessions::CopySession(const SessionRecord& record, SessionRecord copy) {
  ODY_ASSIGN_OR_RETURN(const auto journal, JournalOf(record.id));
  event::Event event;
  agent::v1::SessionForked& forked = *event.mutable_session_forked();
  forked.set_from_session_id(record.id);
  forked.set_at_sequence(journal->last_sequence());
  forked.set_turns(static_cast<uint32_t>(copy.turns.size()));
  const std::string id = copy.id;
  const sandbox::CellKey key = ToolingCell(copy);
  copy.staged = false;  // until the directories are there
  ODY_RETURN_IF_ERROR(runtime_.store->Create(std::move(copy)));
  const Status copied =
      record.cell_used ? runtime_.sandbox->ForkCell(ToolingCell(record), key) : OkStatus();
  if (!copied.ok()) {
    ODY_RETURN_IF_ERROR(runtime_.store->Remove(id));
    return copied;
  }
  ODY_RETURN_IF_ERROR(runtime_.store->Update(id, [&](SessionRecord& changed) {
    changed.staged = record.staged;
    return OkStatus();
  }));
  ODY_ASSIGN_OR_RETURN(const auto own, JournalOf(id));
  return own->Append(std::move(event), event::Durability::kSynced).status();
}

Result<Submitted> Sessions::Submit(const std::string& session_id, const std::string& prompt,
                                   const std::optional<Environment>& env, const TurnTerms& terms) {
  ODY_RETURN_IF_ERROR(Get(session_id).status());
  if (env) ODY_RETURN_IF_ERROR(CheckEnvironment(*env));
  ODY_RETURN_IF_ERROR(CheckTerms(terms));
  if (prompt.find_first_not_of(" \t\r\n") == std::string::npos) {
    return InvalidArgument("prompt cannot be empty");
  }
  if (prompt.size() > kMaxPromptBytes) {
    return InvalidArgument("prompt has " + std::to_string(prompt.size()) + " bytes; at most " +
                           std::to_string(kMaxPromptBytes));
  }
  ODY_ASSIGN_OR_RETURN(std::shared_ptr<event::Journal> journal, JournalOf(session_id));
  TurnRecord turn;
  turn.id = runtime_.ids->New("trn");
  turn.prompt = prompt;
  turn.after_sequence = journal->last_sequence();
  turn.deadline_ms = terms.deadline_ms;
  turn.idempotency_key = terms.idempotency_key;
  const Submitted out{turn.id, turn.after_sequence};
  ODY_ASSIGN_OR_RETURN(turn, RecordQueued(session_id, std::move(turn), env));
  if (turn.id != out.turn_id) return Submitted{turn.id, turn.after_sequence};
  journal->ForgetFailure();  // of an earlier turn: whoever follows this one is not told of it
  const Status queued = EnqueueTurn(session_id, turn, journal, scheduler::Admission::kBounded);
  if (!queued.ok()) {
    ForgetTurn(session_id, out.turn_id);
    return queued;
  }
  return out;
}

// The turn as it is recorded: of a key that the session has seen, the earlier one.
Result<TurnRecord> Sessions::RecordQueued(const std::string& session_id, TurnRecord turn,
                                          const std::optional<Environment>& env) {
  const auto now = runtime_.clock->Now();
  turn.created_at = agent::FormatTime(now);
  if (turn.deadline_ms != 0) {
    turn.deadline_at_ms = agent::UnixMillis(now) + static_cast<int64_t>(turn.deadline_ms);
  }
  if (turn.idempotency_key.empty()) turn.after_sequence = 0;
  const std::string id = turn.id;
  const Status recorded = runtime_.store->Update(session_id, [&](SessionRecord& record) {
    for (const TurnRecord& earlier : record.turns) {
      if (turn.idempotency_key.empty() || earlier.idempotency_key != turn.idempotency_key) continue;
      const bool same = earlier.prompt == turn.prompt;
      turn = earlier;
      return same ? AlreadyExists("turn " + turn.id)
                  : FailedPrecondition("idempotency_key \"" + turn.idempotency_key + "\": turn " +
                                       turn.id + " has it, with another prompt");
    }
    if (env) record.env = OnlySources(record.env_sources, *env);
    record.turns.push_back(turn);
    return OkStatus();
  });
  const bool seen = turn.id != id && recorded.code() == Code::kAlreadyExists;
  if (!seen) ODY_RETURN_IF_ERROR(recorded);
  return turn;
}

// A turn whose deadline has passed while agentd was stopped ends without running.
Status Sessions::EnqueueTurn(const std::string& session_id, const TurnRecord& turn,
                             std::shared_ptr<event::Journal> journal,
                             scheduler::Admission admission) {
  const std::shared_ptr<SessionJob> job =
      MakeTurn(session_id, turn, std::move(journal), admission == scheduler::Admission::kAccepted);
  const int64_t left = turn.deadline_at_ms - agent::UnixMillis(runtime_.clock->Now());
  if (turn.deadline_at_ms != 0 && left <= 0) job->RequestStop(turn::Ending::kFailed);
  ODY_RETURN_IF_ERROR(Enqueue(turn.id, session_id, job, admission));
  if (turn.deadline_at_ms != 0 && left > 0) {
    deadlines_.Add(turn.id, std::chrono::milliseconds(left));
  }
  return OkStatus();
}

void Sessions::OnDeadline(const std::string& turn_id) {
  Active active;
  {
    std::lock_guard lock(mutex_);
    const auto it = active_.find(turn_id);
    if (it == active_.end()) return;
    active = it->second;
  }
  RequestStop(active, turn::Ending::kFailed);
}

// A turn that was recorded but not accepted.
void Sessions::ForgetTurn(const std::string& session_id, const std::string& turn_id) {
  const auto erase = [&](SessionRecord& record) {
    std::erase_if(record.turns, [&](const TurnRecord& turn) { return turn.id == turn_id; });
    return OkStatus();
  };
  if (runtime_.store->Update(session_id, erase).ok()) return;
  // It cannot be written now: the next update does.
  runtime_.store->UpdateInMemory(session_id, [&](SessionRecord& record) { (void)erase(record); });
}

std::shared_ptr<SessionJob> Sessions::MakeTurn(const std::string& session_id,
                                               const TurnRecord& turn,
                                               std::shared_ptr<event::Journal> journal,
                                               bool restored) {
  TurnJob::Spec spec;
  spec.session_id = session_id;
  spec.turn_id = turn.id;
  spec.prompt = turn.prompt;
  spec.deadline_ms = turn.deadline_ms;
  spec.deadline_at_ms = turn.deadline_at_ms;
  spec.restored = restored;
  spec.journal = std::move(journal);
  spec.resume = [this, session_id](const SessionJob* job) { pool_.Resume(session_id, job); };
  spec.on_cell = [this, session_id](const std::string& cell_id) {
    std::lock_guard lock(mutex_);
    cells_[session_id] = cell_id;
  };
  spec.on_end = [this, session_id](const std::string& ended) {
    deadlines_.Remove(ended);
    Forget(ended);
    TellCaller(session_id, ended);
  };
  spec.mirror = [this, session_id](const event::Event& event) {
    MirrorToCallers(session_id, event);
  };
  return std::make_shared<TurnJob>(std::move(spec), &runtime_);
}

// Registered before it is posted: it may end at once.
Status Sessions::Enqueue(const std::string& job_id, const std::string& session_id,
                         std::shared_ptr<SessionJob> job, scheduler::Admission admission) {
  std::lock_guard lock(mutex_);
  ODY_RETURN_IF_ERROR(CheckOpen(session_id));
  active_[job_id] = {session_id, job};
  const Status posted = pool_.Post(session_id, std::move(job), admission);
  if (!posted.ok()) active_.erase(job_id);
  return posted;
}

void Sessions::Forget(const std::string& job_id) {
  std::lock_guard lock(mutex_);
  const auto it = active_.find(job_id);
  if (it == active_.end()) return;
  used_at_[it->second.session_id] = runtime_.clock->Now();
  active_.erase(it);
}

Result<TurnRecord> Sessions::GetTurn(const std::string& session_id,
                                     const std::string& turn_id) const {
  ODY_ASSIGN_OR_RETURN(const SessionPtr record, Get(session_id));
  const TurnRecord* turn = FindTurn(*record, turn_id);
  if (turn == nullptr) {
    return AboutField(
        "turn_id", NotFound("turn_id \"" + turn_id + "\": no such turn in session " + session_id));
  }
  return *turn;
}

Result<bool> Sessions::Cancel(const std::string& session_id, const std::string& turn_id) {
  ODY_ASSIGN_OR_RETURN(const SessionPtr record, Get(session_id));
  std::string id = turn_id;
  if (id.empty()) {
    for (const TurnRecord& turn : record->turns) {
      if (turn.status == TurnStatus::kRunning) id = turn.id;
    }
    if (id.empty()) return false;
  }
  ODY_RETURN_IF_ERROR(GetTurn(session_id, id).status());
  Active active;
  {
    std::lock_guard lock(mutex_);
    const auto it = active_.find(id);
    if (it == active_.end()) return false;
    active = it->second;
  }
  StopJobs({active}, turn::Ending::kCancelled);
  ODY_ASSIGN_OR_RETURN(const TurnRecord ended, GetTurn(session_id, id));
  return ended.status == TurnStatus::kCancelled;
}

void Sessions::RequestStop(const Active& active, turn::Ending ending) {
  active.job->RequestStop(ending);
  if (pool_.Withdraw(active.session_id, active.job.get())) active.job->EndWithoutRunning();
}

void Sessions::StopJobs(const std::vector<Active>& jobs, turn::Ending ending) {
  for (const Active& active : jobs) RequestStop(active, ending);
  for (const Active& active : jobs) active.job->WaitEnded();
}

std::vector<Sessions::Active> Sessions::ActiveOf(const std::string& session_id) const {
  std::lock_guard lock(mutex_);
  std::vector<Active> out;
  for (const auto& [id, active] : active_) {
    if (session_id.empty() || active.session_id == session_id) out.push_back(active);
  }
  return out;
}

Status Sessions::Delete(const std::string& session_id) {
  ODY_ASSIGN_OR_RETURN(const SessionPtr record, Get(session_id));
  {
    std::lock_guard lock(mutex_);
    ODY_RETURN_IF_ERROR(CheckOpen(session_id));
    deleting_.insert(session_id);
  }
  StopJobs(ActiveOf(session_id), turn::Ending::kCancelled);
  Status removed = OkStatus();
  for (const SessionPtr& worker : List()) {
    if (worker->parent.session_id != session_id || !removed.ok()) continue;
    removed = Delete(worker->id);
    if (removed.code() == Code::kNotFound) removed = OkStatus();
  }
  if (removed.ok()) removed = RemoveEverything(*record);
  {
    std::lock_guard lock(mutex_);
    deleting_.erase(session_id);
    if (removed.ok()) {
      cells_.erase(session_id);
      used_at_.erase(session_id);
    }
  }
  if (removed.ok()) {
    setups_.Forget(session_id);
    CollectBundles();
  }
  return removed;
}

void Sessions::CollectBundles() const {
  runtime_.bundles->CollectGarbage([this] {
    std::set<std::string> pinned;
    for (const SessionPtr& record : List()) pinned.insert(record->bundle.digest);
    return pinned;
  });
}

// The record last: until it is gone, the rest can be tried again.
Status Sessions::RemoveEverything(const SessionRecord& record) {
  ODY_ASSIGN_OR_RETURN(const SessionPtr current, Get(record.id));
  ODY_RETURN_IF_ERROR(RemoveCells(*current));
  runtime_.approvals->ClearSession(record.id);
  ODY_RETURN_IF_ERROR(runtime_.journals->Remove(record.id));
  return runtime_.store->Remove(record.id);
}

Status Sessions::RemoveCells(const SessionRecord& record) {
  if (!record.cell_used) return OkStatus();
  ODY_ASSIGN_OR_RETURN(std::vector<sandbox::Cell> cells, runtime_.sandbox->ListCells());
  std::erase_if(cells, [&](const auto& cell) { return cell.key.session_id != record.id; });
  if (cells.empty()) {
    // Directories without a live cell: a plain cell of the same key finds them.
    sandbox::CellSpec plain;
    plain.key = {record.id, record.agent_id, "tooling", "tools"};
    ODY_ASSIGN_OR_RETURN(sandbox::Cell made, runtime_.sandbox->PrepareCell(plain));
    cells.push_back(std::move(made));
  }
  for (const sandbox::Cell& cell : cells) {
    const Status removed = runtime_.sandbox->RemoveCell(cell.id, /*purge=*/true);
    if (!removed.ok() && removed.code() != Code::kNotFound) return removed;
  }
  return OkStatus();
}

// Under the lock, so that a journal is never opened again between its removal and the record's.
Result<std::shared_ptr<event::Journal>> Sessions::JournalOf(const std::string& session_id) const {
  std::lock_guard lock(mutex_);
  if (deleting_.count(session_id) > 0) return NoSuchSession(session_id);
  ODY_RETURN_IF_ERROR(runtime_.store->GetWithoutTurns(session_id).status());
  return runtime_.journals->Get(session_id);
}

Result<std::string> Sessions::OperatorCell(const std::string& session_id) {
  ODY_ASSIGN_OR_RETURN(const SessionPtr record, Get(session_id));
  ODY_ASSIGN_OR_RETURN(const auto as_for_turns, setups_.SetUp(*record, runtime_));
  TurnSetup setup = *as_for_turns;
  policy::SandboxRequest& request = setup.cell.request;
  if (request.executables_mode == policy::ExecutablesMode::kExplicit) {
    request.executables_mode = policy::ExecutablesMode::kStandard;
    setup.origins.Forget("executables_mode");
  }
  ODY_ASSIGN_OR_RETURN(const std::string cell_id, PrepareSessionCell(session_id, setup, runtime_));
  std::lock_guard lock(mutex_);
  return cells_[session_id] = cell_id;
}

Result<std::shared_ptr<OperatorHold>> Sessions::Hold(
    const std::string& session_id, std::function<void(Result<std::string>)> on_held) {
  ODY_RETURN_IF_ERROR(Get(session_id).status());
  const std::string hold_id = runtime_.ids->New("opr");
  OperatorHold::Hooks hooks;
  hooks.resume = [this, session_id](const SessionJob* job) { pool_.Resume(session_id, job); };
  hooks.prepare = [this, session_id] { return OperatorCell(session_id); };
  hooks.on_held = std::move(on_held);
  hooks.on_end = [this, hold_id] { Forget(hold_id); };
  auto hold = std::make_shared<OperatorHold>(std::move(hooks));
  ODY_RETURN_IF_ERROR(Enqueue(hold_id, session_id, hold));
  return hold;
}

void Sessions::StopHold(const std::string& session_id, const std::shared_ptr<OperatorHold>& hold) {
  RequestStop({session_id, hold}, turn::Ending::kCancelled);
}

// The cell that is there, whatever its policy: preparing another one would end what runs in it.
Result<std::string> Sessions::CellForReading(const std::string& session_id) {
  {
    std::lock_guard lock(mutex_);
    used_at_[session_id] = runtime_.clock->Now();
    const auto it = cells_.find(session_id);
    if (it != cells_.end()) return it->second;
  }
  ODY_ASSIGN_OR_RETURN(const SessionPtr record, Get(session_id));
  ODY_ASSIGN_OR_RETURN(const auto setup, setups_.SetUp(*record, runtime_));
  ODY_ASSIGN_OR_RETURN(const std::string cell_id, PrepareSessionCell(session_id, *setup, runtime_));
  std::lock_guard lock(mutex_);
  return cells_.emplace(session_id, cell_id).first->second;
}

Result<supervisor::v1::FileReadResult> Sessions::ReadFile(const std::string& session_id,
                                                          const std::string& path, uint64_t offset,
                                                          uint64_t max_bytes) {
  ODY_RETURN_IF_ERROR(Get(session_id).status());
  if (path.empty()) return InvalidArgument("path cannot be empty");
  ODY_ASSIGN_OR_RETURN(const std::string cell_id, CellForReading(session_id));
  Result<supervisor::v1::FileReadResult> read =
      runtime_.sandbox->ReadFile(cell_id, path, offset, max_bytes);
  if (read.status().code() != Code::kUnavailable) return read;
  // The cell we knew has ended since: its files are there for the next one.
  ForgetCell(session_id, cell_id);
  ODY_ASSIGN_OR_RETURN(const std::string next_id, CellForReading(session_id));
  return runtime_.sandbox->ReadFile(next_id, path, offset, max_bytes);
}

void Sessions::ForgetCell(const std::string& session_id, const std::string& cell_id) {
  std::lock_guard lock(mutex_);
  const auto it = cells_.find(session_id);
  if (it != cells_.end() && it->second == cell_id) cells_.erase(it);
}

// ── Idle cells ──────────────────────────────────────────────────────────────────────────────────

// A cell of before a restart has been idle since it was first looked at.
bool Sessions::IsIdle(const std::string& session_id, std::chrono::seconds idle) {
  const auto now = runtime_.clock->Now();
  std::lock_guard lock(mutex_);
  return now - used_at_.try_emplace(session_id, now).first->second >= idle;
}

void Sessions::EndIdleCells(std::chrono::seconds idle) {
  const Result<std::vector<sandbox::Cell>> cells = runtime_.sandbox->ListCells();
  if (!cells.ok()) return;  // the next time
  for (const sandbox::Cell& cell : *cells) {
    const std::string& session_id = cell.key.session_id;
    const Result<SessionPtr> record = runtime_.store->GetWithoutTurns(session_id);
    if (!record.ok() || !(cell.key == ToolingCell(**record)) || cell.running_execs > 0) continue;
    if (ActiveOf(session_id).empty() && IsIdle(session_id, idle)) EndIdleCell(cell, idle);
  }
}

// Refused where the session is being deleted or forked: its cell is looked at the next time.
void Sessions::EndIdleCell(const sandbox::Cell& cell, std::chrono::seconds idle) {
  const std::string job_id = runtime_.ids->New("end");
  CellEnd::Hooks hooks;
  hooks.end_cell = [this, cell, idle] {
    const std::string& session_id = cell.key.session_id;
    if (!IsIdle(session_id, idle)) return;  // a turn came first
    ForgetCell(session_id, cell.id);
    (void)runtime_.sandbox->RemoveCell(cell.id, /*purge=*/false);
  };
  hooks.on_end = [this, job_id] {
    std::lock_guard lock(mutex_);
    active_.erase(job_id);
  };
  (void)Enqueue(job_id, cell.key.session_id, std::make_shared<CellEnd>(std::move(hooks)),
                scheduler::Admission::kAccepted);
}

// ── Workers ─────────────────────────────────────────────────────────────────────────────────────

// Read in the caller's cell and written in the worker's, by the file workers of both: no path is
// resolved outside of a cell.
Result<std::vector<std::string>> Sessions::CopyAttachments(const Caller& caller,
                                                           const SessionRecord& record,
                                                           const std::vector<std::string>& paths,
                                                           const dialect::AgentSpec& from,
                                                           const dialect::AgentSpec& to) {
  std::vector<std::string> copies;
  if (paths.empty()) return copies;
  ODY_ASSIGN_OR_RETURN(const auto setup, setups_.SetUp(record, runtime_));
  ODY_ASSIGN_OR_RETURN(const std::string cell_id, PrepareSessionCell(record.id, *setup, runtime_));
  uint64_t total = 0;
  for (const std::string& path : paths) {
    ODY_ASSIGN_OR_RETURN(supervisor::v1::FileReadResult read,
                         runtime_.sandbox->ReadFile(caller.cell_id, path, 0, kMaxAttachmentBytes));
    total += read.total_bytes();
    ODY_RETURN_IF_ERROR(CheckAttachmentBytes(total, from.attachments));
    ODY_RETURN_IF_ERROR(CheckAttachmentBytes(total, to.attachments));
    if (read.truncated()) {
      return Refused(Code::kPermissionDenied, "attachments", path,
                     "has " + std::to_string(read.total_bytes()) + " bytes; at most " +
                         std::to_string(kMaxAttachmentBytes) + " are copied");
    }
    copies.push_back(kAttachmentDirectory + AttachmentName(path));
    ODY_RETURN_IF_ERROR(
        runtime_.sandbox->WriteFile(cell_id, copies.back(), std::move(*read.mutable_content()), 0));
  }
  return copies;
}

// The record before everything else: what is made of the session is found by it.
Result<std::string> Sessions::StartWorker(const Caller& caller, const tools::WorkerCall& call,
                                          std::function<void(const WorkerEnd&)> on_end) {
  ODY_ASSIGN_OR_RETURN(const SessionPtr own, Get(caller.session_id));
  ODY_ASSIGN_OR_RETURN(const auto setup, setups_.SetUp(*own, runtime_));
  const dialect::Bundle& bundle = setup->bundle->spec;
  ODY_RETURN_IF_ERROR(CheckWorkerCall(*own, setup->agent, bundle, call.worker));
  ODY_ASSIGN_OR_RETURN(const dialect::AgentSpec worker, dialect::FindAgent(bundle, call.worker));
  ODY_RETURN_IF_ERROR(CheckAttachmentNames(call.attachments, setup->agent.attachments));
  ODY_RETURN_IF_ERROR(CheckAttachmentNames(call.attachments, worker.attachments));

  SessionRecord record =
      WorkerRecord(*own, caller.turn_id, worker, Narrowed(setup->agent.delegation, caller.left));
  record.id = runtime_.ids->New("ses");
  record.created_at = agent::FormatTime(runtime_.clock->Now());
  const std::string id = record.id;
  ODY_ASSIGN_OR_RETURN(const TurnSetup checked, SetUpTurn(record, runtime_));
  ODY_RETURN_IF_ERROR(CheckSessionCell(checked, runtime_));
  ODY_RETURN_IF_ERROR(runtime_.store->Create(record));
  const auto start = [&]() -> Status {
    ODY_ASSIGN_OR_RETURN(const std::vector<std::string> copies,
                         CopyAttachments(caller, record, call.attachments, setup->agent, worker));
    {
      std::lock_guard lock(mutex_);
      worker_ends_[id] = std::move(on_end);
    }
    const uint64_t deadline_ms = WorkerDeadlineMs(setup->agent.delegation, caller.deadline_left_ms);
    return Submit(id, call.input + AttachmentNote(copies), std::nullopt, {deadline_ms, ""})
        .status();
  };
  const Status started = start();
  if (started.ok()) return id;
  {
    std::lock_guard lock(mutex_);
    worker_ends_.erase(id);
  }
  (void)Delete(id);  // why it was not started counts
  return started;
}

void Sessions::StopWorker(const std::string& session_id) {
  for (const Active& active : ActiveOf(session_id)) {
    RequestStop(active, turn::Ending::kCancelled);
  }
}

void Sessions::TellCaller(const std::string& session_id, const std::string& turn_id) {
  std::function<void(const WorkerEnd&)> on_end;
  {
    std::lock_guard lock(mutex_);
    const auto it = worker_ends_.find(session_id);
    if (it == worker_ends_.end()) return;
    on_end = std::move(it->second);
    worker_ends_.erase(it);
  }
  const Result<TurnRecord> turn = GetTurn(session_id, turn_id);
  WorkerEnd end;
  if (turn.ok()) {
    end.status = turn->status;
    end.output = turn->status == TurnStatus::kCompleted ? turn->response : turn->error;
    end.tool_calls = static_cast<uint64_t>(std::count_if(
        turn->history.begin(), turn->history.end(),
        [](const model::Message& m) { return m.kind == model::MessageKind::kToolResult; }));
  }
  on_end(end);
}

// A person who follows the session that a client made sees what its workers ask. Whether that can
// be written changes nothing about the question.
void Sessions::MirrorToCallers(const std::string& session_id, event::Event event) {
  Result<SessionPtr> record = Get(session_id);
  if (event.has_permission_requested()) {
    event.mutable_permission_requested()->set_worker_session_id(session_id);
  }
  while (record.ok() && !(*record)->parent.session_id.empty()) {
    const Parent& parent = (*record)->parent;
    if (event.has_permission_requested()) {
      event.mutable_permission_requested()->set_turn_id(parent.turn_id);
    } else {
      event.mutable_approval_resolved()->set_turn_id(parent.turn_id);
    }
    const auto journal = JournalOf(parent.session_id);
    if (journal.ok()) (void)(*journal)->Append(event, event::Durability::kSynced);
    record = Get(parent.session_id);
  }
}

void Sessions::Stop() {
  {
    std::lock_guard lock(mutex_);
    if (std::exchange(stopping_, true)) return;
  }
  deadlines_.Stop();
  std::vector<Active> running;
  for (const Active& active : ActiveOf("")) {
    if (pool_.Withdraw(active.session_id, active.job.get())) {
      active.job->LeaveForRestart();
    } else {
      running.push_back(active);
    }
  }
  StopJobs(running, turn::Ending::kInterrupted);
  pool_.Stop();
}

size_t Sessions::running_turns() const {
  size_t out = 0;
  for (const SessionPtr& record : runtime_.store->List()) {
    for (const TurnRecord& turn : record->turns) out += turn.status == TurnStatus::kRunning;
  }
  return out;
}

}  // namespace odyssey::session
