#include "agentd/session/sessions.h"

#include <algorithm>
#include <utility>

#include "agentd/session/approval_timeout.h"
#include "agentd/session/attachments.h"
#include "agentd/session/cell_end.h"
#include "agentd/session/granted_cell.h"
#include "agentd/session/quota.h"
#include "agentd/session/recovery.h"
#include "agentd/session/turn_job.h"
#include "agentd/session/turn_setup.h"
#include "agentd/session/turn_tools.h"
#include "common/base/refusal.h"
#include "policy/model/own_variables.h"

namespace odyssey::session {
namespace {

// A file operation carries no more.
constexpr uint64_t kMaxAttachmentBytes = uint64_t{8} << 20;
constexpr char kTurnPrefix[] = "trn";
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

Runtime WithOwn(Runtime runtime, SetupCache* setups, CellQuota* cells, SessionGrants* grants,
                Workers* workers, job::Jobs* jobs, mcp_client::Servers* servers,
                dialect::CeilingFiles* ceiling) {
  runtime.setups = setups;
  runtime.cells = cells;
  runtime.grants = grants;
  runtime.workers = workers;
  runtime.jobs = jobs;
  runtime.servers = servers;
  runtime.ceiling = ceiling;
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

Status Draining() {
  return Unavailable("odyssey-agentd is draining: it stops when the running turns have ended");
}

// Sessions above it.
size_t DepthOf(const Runtime& runtime, const std::string& session_id) {
  const Result<SessionPtr> record = runtime.store->GetWithoutTurns(session_id);
  return record.ok() ? (*record)->parent.callers.size() : 0;
}

Status CheckNewSession(const NewSession& spec) {
  const bool absolute = spec.cwd.empty() || spec.cwd.front() == '/';
  if (!absolute || spec.cwd.find("/../") != std::string::npos) {
    return InvalidArgument("cwd \"" + spec.cwd + "\": must be an absolute, normalised path");
  }
  for (const policy::BudgetKind& kind : policy::kBudgetKinds) {
    const bool time = kind.count == policy::kWallClock.count;
    const uint64_t most = time ? kMaxDeadlineMs : policy::kMaxBudget;
    const uint64_t asked = spec.budget.*kind.count;
    if (asked <= most) continue;
    return InvalidArgument("budget." + std::string(kind.name) + " " + std::to_string(asked) +
                           ": at most " + std::to_string(most));
  }
  return CheckEnvironment(spec.env);
}

}  // namespace

Sessions::Sessions(Runtime runtime, const Options& options)
    : cell_quota_([this](const std::vector<sandbox::Cell>& cells) { return EndIdlestCell(cells); }),
      job_records_(runtime.store, [this](const std::string& session_id) { Touch(session_id); }),
      jobs_(runtime.sandbox, runtime.clock, &job_records_),
      servers_(runtime.sandbox),
      ceiling_(runtime.policy_directory),
      runtime_(WithOwn(std::move(runtime), &setups_, &cell_quota_, &grants_, this, &jobs_,
                       &servers_, &ceiling_)),
      retention_(options.retention),
      pool_(options.workers, options.queue_bound, options.queue_total),
      deadlines_([this](const std::string& turn_id) { OnDeadline(turn_id); }) {}

Sessions::~Sessions() { Stop(); }

std::vector<std::string> Sessions::Recover() {
  std::vector<std::string> warnings;
  // What a worker has used counts against its caller's budget: the deepest first.
  std::vector<std::string> ids = runtime_.store->unfinished();
  std::stable_sort(ids.begin(), ids.end(), [this](const std::string& a, const std::string& b) {
    return DepthOf(runtime_, a) > DepthOf(runtime_, b);
  });
  for (const std::string& id : ids) {
    const Result<SessionPtr> record = Get(id);
    Status recovered = record.ok() ? RecoverSession(**record, runtime_) : record.status();
    if (recovered.ok()) recovered = EnqueueAgain(id);
    if (!recovered.ok()) warnings.push_back("session " + id + ": " + recovered.message());
  }
  for (const SessionPtr& record : List()) {
    const Status told = EndLostJobs(*record, runtime_);
    if (!told.ok()) warnings.push_back("session " + record->id + ": " + told.message());
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

// Two calls do not take the same room.
Status Sessions::AddRecord(SessionRecord record) {
  const uint32_t owner = record.owner_uid;
  ODY_ASSIGN_OR_RETURN(const ceiling::Quota quota, QuotaOf(owner, runtime_));
  std::unique_lock adding(adding_, std::defer_lock);
  if (quota != ceiling::Quota()) {
    adding.lock();
    const uint64_t sessions = CountSessions(owner, runtime_);
    ODY_RETURN_IF_ERROR(CheckQuota(quota, ceiling::Counted::kSessions, sessions, owner));
    ODY_RETURN_IF_ERROR(session::CheckDiskQuota(quota, owner, runtime_));
  }
  return runtime_.store->Create(std::move(record));
}

Result<SessionPtr> Sessions::Create(const NewSession& spec) {
  ODY_RETURN_IF_ERROR(CheckNotDraining());
  ODY_RETURN_IF_ERROR(CheckNewSession(spec));
  ODY_RETURN_IF_ERROR(CheckApprovalTimeout(spec.approval_timeout_ms, runtime_.approval_timeout));
  ODY_ASSIGN_OR_RETURN(const auto bundle, runtime_.bundles->OpenFor(spec.bundle, spec.owner_uid));
  ODY_ASSIGN_OR_RETURN(const dialect::AgentSpec agent,
                       dialect::FindAgent(bundle->spec, spec.agent_id));
  SessionRecord record;
  record.id = runtime_.ids->New("ses");
  record.bundle = bundle->pin;
  record.agent_id = agent.id;
  record.model_provider = agent.model.provider;
  record.model_id = agent.model.name;
  record.created_at =
      spec.created_at.empty() ? agent::FormatTime(runtime_.clock->Now()) : spec.created_at;
  record.turns = spec.turns;
  record.cwd = spec.cwd;
  record.owner_uid = spec.owner_uid;
  record.allow_danger = spec.allow_danger;
  record.review = spec.review;
  record.budget = spec.budget;
  record.approval_timeout_ms = spec.approval_timeout_ms;
  for (const auto& [name, source] : bundle->spec.sandbox.env) record.env_sources.insert(source);
  record.env = OnlySources(record.env_sources, spec.env);
  ODY_ASSIGN_OR_RETURN(const TurnSetup setup, SetUpTurn(record, runtime_));
  ODY_RETURN_IF_ERROR(CheckPriced(record, setup));
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
  ODY_RETURN_IF_ERROR(AddRecord(std::move(record)));
  return Get(id);
}

Result<SessionPtr> Sessions::Get(const std::string& session_id) const {
  return runtime_.store->Get(session_id);
}

std::vector<SessionPtr> Sessions::List() const { return runtime_.store->List(); }

Status Sessions::CheckNotDraining() const { return draining() ? Draining() : OkStatus(); }

// Caller holds mutex_.
Status Sessions::CheckOpen(const std::string& session_id) const {
  if (stopping_) return Unavailable("the daemon is stopping");
  if (deleting_.count(session_id) > 0) return NoSuchSession(session_id);
  if (kept_idle_.count(session_id) > 0) {
    return FailedPrecondition(
        "session_id \"" + session_id +
        "\": it is being forked or compacted, or changes of it discarded; try again");
  }
  return OkStatus();
}

Status Sessions::CheckNoJob(const std::string& session_id) const {
  const std::string running = jobs_.Running(session_id);
  if (running.empty()) return OkStatus();
  return FailedPrecondition("session_id \"" + session_id + "\": " + running +
                            " runs in the background; stop it or wait");
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
      ODY_RETURN_IF_ERROR(CheckNoJob(session_id));
      kept_idle_.insert(session_id);
      break;
    }
    if (all_end) continue;
    return FailedPrecondition("session_id \"" + session_id +
                              "\": a turn or a command is queued or runs; cancel it or wait");
  }
  servers_.EndProcesses(session_id);
  Status done = work();
  std::lock_guard lock(mutex_);
  kept_idle_.erase(session_id);
  return done;
}

Result<SessionPtr> Sessions::Fork(const std::string& session_id) {
  ODY_RETURN_IF_ERROR(CheckNotDraining());
  const std::string id = runtime_.ids->New("ses");
  const auto copy_it = [&]() -> Status {
    ODY_ASSIGN_OR_RETURN(const SessionPtr record, Get(session_id));
    SessionRecord copy = *record;
    copy.id = id;
    copy.created_at = agent::FormatTime(runtime_.clock->Now());
    copy.forked_from = session_id;
    copy.jobs_begun = 0;
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
  ODY_RETURN_IF_ERROR(AddRecord(std::move(copy)));
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

// ── Files, retention ────────────────────────────────────────────────────────────────────────────

Result<SessionPtr> Sessions::Import(NewSession spec, const session_file::SessionFile& file) {
  if (spec.bundle.empty()) {
    ODY_ASSIGN_OR_RETURN(const package::Reference named, package::ParseReference(file.bundle_ref));
    if (named.kind == package::Reference::Kind::kPath) {
      return Refused(Code::kInvalidArgument, "bundle_ref", file.bundle_ref,
                     "a session file cannot name a path; name the bundle with --bundle");
    }
    spec.bundle = file.bundle_ref;
  }
  spec.agent_id = file.agent_id;
  spec.created_at = file.created_at;
  for (const session_file::FileTurn& from : file.turns) {
    TurnRecord turn;
    turn.id = session_file::IdOf(kTurnPrefix, from.id);
    turn.status = TurnStatus::kCompleted;
    turn.created_at = from.created_at;
    turn.history = from.history;
    turn.prompt = from.history.front().content;
    const model::Message& last = from.history.back();
    if (last.kind == model::MessageKind::kAssistant) turn.response = last.content;
    turn.announced = true;
    spec.turns.push_back(std::move(turn));
  }
  return Create(spec);
}

Result<session_file::SessionFile> Sessions::Export(const std::string& session_id) const {
  ODY_ASSIGN_OR_RETURN(const SessionPtr record, Get(session_id));
  session_file::SessionFile out{session_file::UuidOf(record->id),
                                bundle::RefOf(record->bundle),
                                record->agent_id,
                                record->model_provider,
                                record->model_id,
                                record->created_at,
                                {}};
  for (const TurnRecord& turn : record->turns) {
    if (IsOpen(turn.status) || turn.history.empty()) continue;
    out.turns.push_back({session_file::UuidOf(turn.id), turn.created_at, turn.history});
  }
  return out;
}

// The turns first: that their ends are in the journal must be on the disk before the ends are not.
Result<Compacted> Sessions::RemoveEvents(const std::string& session_id, uint64_t through,
                                         const char* reason) {
  ODY_ASSIGN_OR_RETURN(const auto journal, JournalOf(session_id));
  Compacted out;
  ODY_ASSIGN_OR_RETURN(out.bytes,
                       runtime_.store->CompactTurns(session_id, SessionStore::Compaction::kAlways));
  ODY_ASSIGN_OR_RETURN(const event::Removed removed, journal->RemoveThrough(through, reason));
  out.events = removed.events;
  out.bytes += removed.bytes;
  return out;
}

Result<Compacted> Sessions::Compact(const std::string& session_id, uint32_t keep_turns) {
  Compacted out;
  const auto compact = [&]() -> Status {
    ODY_ASSIGN_OR_RETURN(const auto journal, JournalOf(session_id));
    ODY_ASSIGN_OR_RETURN(const std::vector<TurnEnd> ends, ReadTurnEnds(*journal));
    ODY_ASSIGN_OR_RETURN(
        out, RemoveEvents(session_id, CutToTurns(ends, keep_turns), event::kCompaction));
    return OkStatus();
  };
  ODY_RETURN_IF_ERROR(WhileIdle(session_id, compact));
  return out;
}

// No turn of the session runs. The journal is read whole only where its size or its oldest event
// is out of bounds.
Status Sessions::Retain(const std::string& session_id) {
  ODY_RETURN_IF_ERROR(
      runtime_.store->CompactTurns(session_id, SessionStore::Compaction::kIfWorthwhile).status());
  const auto [max_bytes, keep] = retention_;
  const bool large = max_bytes != 0 && runtime_.journals->BytesOf(session_id) > max_bytes;
  if (!large && keep.count() == 0) return OkStatus();
  ODY_ASSIGN_OR_RETURN(const auto journal, JournalOf(session_id));
  const std::string oldest =
      keep.count() == 0 ? "" : agent::FormatTime(runtime_.clock->Now() - keep);
  if (!large) {
    ODY_ASSIGN_OR_RETURN(const auto first, journal->ReadAfter(journal->removed_through(), 1));
    if (first.empty() || first.front().created_at() >= oldest) return OkStatus();
  }
  ODY_ASSIGN_OR_RETURN(const std::vector<TurnEnd> ends, ReadTurnEnds(*journal));
  const uint64_t cut = CutToBounds(ends, large ? max_bytes : 0, oldest);
  if (cut == 0) return OkStatus();
  return RemoveEvents(session_id, cut, event::kRetention).status();
}

std::vector<std::string> Sessions::ApplyRetention() {
  std::vector<std::string> warnings;
  for (const SessionPtr& record : List()) {
    if (!ActiveOf(record->id).empty()) continue;  // the end of its turn does
    const Status done = Retain(record->id);
    if (!done.ok() && done.code() != Code::kNotFound) {
      warnings.push_back("session " + record->id + ": " + done.message());
    }
  }
  return warnings;
}

Result<Submitted> Sessions::Submit(const std::string& session_id, const std::string& prompt,
                                   const std::optional<Environment>& env, const TurnTerms& terms) {
  ODY_ASSIGN_OR_RETURN(const SessionPtr record, Get(session_id));
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
  turn.id = runtime_.ids->New(kTurnPrefix);
  turn.prompt = prompt;
  turn.after_sequence = journal->last_sequence();
  turn.deadline_ms = terms.deadline_ms;
  turn.idempotency_key = terms.idempotency_key;
  const Submitted out{turn.id, turn.after_sequence};
  ODY_ASSIGN_OR_RETURN(const ceiling::Quota quota, QuotaOf(record->owner_uid, runtime_));
  std::unique_lock adding(adding_, std::defer_lock);
  if (quota != ceiling::Quota()) adding.lock();
  ODY_ASSIGN_OR_RETURN(turn, RecordQueued(session_id, std::move(turn), env));
  if (turn.id != out.turn_id) return Submitted{turn.id, turn.after_sequence};
  journal->ForgetFailure();  // of an earlier turn: whoever follows this one is not told of it
  Status queued = CheckTurnQuota(quota, record->owner_uid);
  if (queued.ok()) {
    queued = EnqueueTurn(session_id, turn, journal, scheduler::Admission::kBounded);
  }
  if (!queued.ok()) {
    ForgetTurn(session_id, out.turn_id);
    return queued;
  }
  return out;
}

// Of a turn that is recorded and not queued.
Status Sessions::CheckTurnQuota(const ceiling::Quota& quota, uint32_t owner) const {
  if (quota == ceiling::Quota()) return OkStatus();
  ODY_RETURN_IF_ERROR(CheckQuota(quota, ceiling::Counted::kTurns, CountTurns(owner), owner));
  return session::CheckDiskQuota(quota, owner, runtime_);
}

uint64_t Sessions::CountTurns(uint32_t owner) const {
  std::lock_guard lock(mutex_);
  return static_cast<uint64_t>(
      std::count_if(active_.begin(), active_.end(), [&](const auto& entry) {
        const auto& [id, active] = entry;
        if (id.rfind(kTurnPrefix, 0) != 0) return false;
        const Result<SessionPtr> record = runtime_.store->GetWithoutTurns(active.session_id);
        return record.ok() && (*record)->owner_uid == owner;
      }));
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
    if (const auto kind = policy::ReachedKind(record.budget, record.used)) {
      return FailedPrecondition(policy::DescribeReached(record.budget, record.used, *kind) +
                                "; make another session");
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
  const std::shared_ptr<SessionJob> job = MakeTurn(session_id, turn, std::move(journal));
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
                                               std::shared_ptr<event::Journal> journal) {
  TurnJob::Spec spec;
  spec.session_id = session_id;
  spec.turn_id = turn.id;
  spec.prompt = turn.prompt;
  spec.deadline_ms = turn.deadline_ms;
  spec.deadline_at_ms = turn.deadline_at_ms;
  spec.journal = std::move(journal);
  spec.resume = [this, session_id](const SessionJob* job) { pool_.Resume(session_id, job); };
  spec.on_cell = [this, session_id](const std::string& cell_id) {
    std::lock_guard lock(mutex_);
    cells_[session_id] = cell_id;
  };
  spec.stop_after = [this](const std::string& id, uint64_t after_ms) {
    deadlines_.Add(id, std::chrono::milliseconds(after_ms));
  };
  spec.on_end = [this, session_id](const std::string& ended) {
    deadlines_.Remove(ended);
    if (IsWorker(session_id)) {
      jobs_.EndSession(session_id);
      servers_.Forget(session_id);
    }
    (void)Retain(session_id);  // what fails is tried again, and logged, by ApplyRetention
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
  // What runs may hand work on.
  if (draining_ && admission == scheduler::Admission::kBounded && !IsWorker(session_id)) {
    return Draining();
  }
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

Result<mcp_client::Place> Sessions::PlaceOfServers(const std::string& session_id,
                                                   const TurnSetup& setup) {
  if (setup.bundle->spec.mcp_servers.empty()) return mcp_client::Place();
  ODY_ASSIGN_OR_RETURN(std::string cell_id, CellForReading(session_id));
  return mcp_client::Place{std::move(cell_id), LongWallClockMs(setup)};
}

Result<std::vector<model::ToolSpec>> Sessions::OfferedTools(const std::string& session_id) {
  ODY_ASSIGN_OR_RETURN(const SessionPtr record, Get(session_id));
  ODY_ASSIGN_OR_RETURN(const auto setup, setups_.SetUp(*record, runtime_));
  ODY_ASSIGN_OR_RETURN(const mcp_client::Place place, PlaceOfServers(session_id, *setup));
  TurnTools tools(session_id, &runtime_);
  tools.Use(setup);
  tools.List(place, mcp_client::Freshness::kKnown, {});
  std::vector<model::ToolSpec> out;
  for (const std::string& name : tools.Names()) out.push_back(tools.Find(name)->Spec());
  return out;
}

Result<std::vector<mcp_client::ServerPtr>> Sessions::ListServers(const std::string& session_id) {
  ODY_ASSIGN_OR_RETURN(const SessionPtr record, Get(session_id));
  ODY_ASSIGN_OR_RETURN(const auto setup, setups_.SetUp(*record, runtime_));
  ODY_ASSIGN_OR_RETURN(const mcp_client::Place place, PlaceOfServers(session_id, *setup));
  std::vector<mcp_client::ServerPtr> servers =
      servers_.Of(session_id, setup->bundle->spec.mcp_servers);
  for (const mcp_client::ServerPtr& server : servers) {
    (void)server->List(place, mcp_client::Freshness::kLatest, {});  // its problem is kept
  }
  return servers;
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
  ODY_ASSIGN_OR_RETURN(const TurnRecord turn, GetTurn(session_id, id));
  Active active;
  {
    std::lock_guard lock(mutex_);
    const auto it = active_.find(id);
    if (it == active_.end() && draining_ && turn.status == TurnStatus::kQueued) {
      return Unavailable("turn " + id + " stays queued for the next start of odyssey-agentd");
    }
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
  jobs_.EndSession(session_id);
  servers_.Forget(session_id);
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
  grants_.Clear(record.id);
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

// What the session's cell is made from now.
Result<TurnSetup> Sessions::SetupWithGrants(const std::string& session_id) {
  ODY_ASSIGN_OR_RETURN(const SessionPtr record, Get(session_id));
  ODY_ASSIGN_OR_RETURN(const auto setup, setups_.SetUp(*record, runtime_));
  return WithGrants(*setup, grants_.Of(session_id, runtime_.clock->Now()), runtime_);
}

Result<CellPolicy> Sessions::PolicyOf(const std::string& session_id) {
  ODY_ASSIGN_OR_RETURN(const SessionPtr record, runtime_.store->GetWithoutTurns(session_id));
  ODY_ASSIGN_OR_RETURN(const auto setup, setups_.SetUp(*record, runtime_));
  return DescribePolicy(*record, *setup, grants_.Of(session_id, runtime_.clock->Now()), runtime_);
}

std::optional<policy::Limits> Sessions::LimitsOfCell(const std::string& session_id) {
  {
    std::lock_guard lock(mutex_);
    if (own_policy_.count(session_id) > 0) return std::nullopt;
  }
  const Result<CellPolicy> policy = PolicyOf(session_id);
  if (!policy.ok()) return std::nullopt;
  return policy->limits;
}

Result<std::string> Sessions::OperatorCell(const std::string& session_id) {
  ODY_ASSIGN_OR_RETURN(TurnSetup setup, SetupWithGrants(session_id));
  policy::SandboxRequest& request = setup.cell.request;
  if (request.executables_mode == policy::ExecutablesMode::kExplicit) {
    ODY_RETURN_IF_ERROR(CheckNoJob(session_id));  // it would end with its cell
    servers_.EndProcesses(session_id);            // they are started again
    request.executables_mode = policy::ExecutablesMode::kStandard;
    setup.origins.Forget("executables_mode");
  }
  ODY_ASSIGN_OR_RETURN(const std::string cell_id, PrepareSessionCell(session_id, setup, runtime_));
  std::lock_guard lock(mutex_);
  return cells_[session_id] = cell_id;
}

Status Sessions::CheckOperatorPolicy(const std::string& session_id, const OperatorPolicy& policy) {
  ODY_ASSIGN_OR_RETURN(const SessionPtr record, Get(session_id));
  ODY_ASSIGN_OR_RETURN(const auto for_turns, setups_.SetUp(*record, runtime_));
  ODY_ASSIGN_OR_RETURN(const TurnSetup setup, Under(policy, *for_turns));
  return CheckSessionCell(setup, runtime_);
}

// A private workspace is filled under the session's own policy: the operator's may not write it.
Result<std::string> Sessions::CellUnder(const std::string& session_id,
                                        const OperatorPolicy& policy) {
  ODY_ASSIGN_OR_RETURN(const SessionPtr record, Get(session_id));
  ODY_ASSIGN_OR_RETURN(const auto for_turns, setups_.SetUp(*record, runtime_));
  ODY_ASSIGN_OR_RETURN(const TurnSetup setup, Under(policy, *for_turns));
  const bool is_private = for_turns->cell.request.mode == policy::Mode::kWorkspaceWrite;
  if (is_private && !record->staged) {
    ODY_RETURN_IF_ERROR(PrepareSessionCell(session_id, *for_turns, runtime_).status());
  }
  return PrepareSessionCell(session_id, setup, runtime_);
}

// Where it cannot be ended, the session's next cell takes its place.
void Sessions::EndOwnCell(const std::string& session_id, const std::string& cell_id) {
  if (!cell_id.empty()) (void)runtime_.sandbox->RemoveCell(cell_id, /*purge=*/false);
  std::lock_guard lock(mutex_);
  own_policy_.erase(session_id);
}

Result<std::shared_ptr<OperatorHold>> Sessions::Hold(
    const std::string& session_id, std::function<void(Result<std::string>)> on_held,
    const std::optional<OperatorPolicy>& policy) {
  ODY_RETURN_IF_ERROR(Get(session_id).status());
  const std::string hold_id = runtime_.ids->New("opr");
  OperatorHold::Hooks hooks;
  hooks.resume = [this, session_id](const SessionJob* job) { pool_.Resume(session_id, job); };
  const auto own_cell = std::make_shared<std::optional<std::string>>();  // "": not made yet
  hooks.prepare = [this, session_id, policy, own_cell]() -> Result<std::string> {
    if (!policy) return OperatorCell(session_id);
    *own_cell = "";
    {
      std::lock_guard lock(mutex_);
      own_policy_.insert(session_id);
      cells_.erase(session_id);
    }
    ODY_ASSIGN_OR_RETURN(*own_cell, CellUnder(session_id, *policy));
    return **own_cell;
  };
  hooks.on_held = std::move(on_held);
  hooks.on_end = [this, session_id, hold_id, own_cell] {
    if (*own_cell) EndOwnCell(session_id, **own_cell);
    Forget(hold_id);
  };
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
    if (own_policy_.count(session_id) > 0) {
      return FailedPrecondition("session_id \"" + session_id +
                                "\": an operator's command runs in it under a policy of its own; "
                                "try again when it has ended");
    }
    used_at_[session_id] = runtime_.clock->Now();
    const auto it = cells_.find(session_id);
    if (it != cells_.end()) return it->second;
  }
  ODY_ASSIGN_OR_RETURN(const TurnSetup setup, SetupWithGrants(session_id));
  ODY_ASSIGN_OR_RETURN(const std::string cell_id, PrepareSessionCell(session_id, setup, runtime_));
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

// ── Background jobs ─────────────────────────────────────────────────────────────────────────────

// An idle session is so since its last job has ended.
void Sessions::Touch(const std::string& session_id) {
  std::lock_guard lock(mutex_);
  used_at_[session_id] = runtime_.clock->Now();
}

Result<std::vector<agent::v1::Job>> Sessions::ListJobs(const std::string& session_id) const {
  ODY_RETURN_IF_ERROR(runtime_.store->GetWithoutTurns(session_id).status());
  std::vector<agent::v1::Job> out;
  for (const job::JobPtr& job : jobs_.List(session_id)) out.push_back(job->facts());
  return out;
}

Result<agent::v1::Job> Sessions::StopJob(const std::string& session_id, const std::string& job_id) {
  ODY_RETURN_IF_ERROR(runtime_.store->GetWithoutTurns(session_id).status());
  ODY_ASSIGN_OR_RETURN(const job::JobPtr job, jobs_.Find(session_id, job_id));
  job->Stop();
  return job->facts();
}

// ── Grants ──────────────────────────────────────────────────────────────────────────────────────

std::vector<SessionGrant> Sessions::GrantsOf(const std::string& session_id) const {
  std::vector<SessionGrant> out = grants_.Of(session_id, runtime_.clock->Now());
  std::erase_if(
      out, [](const SessionGrant& grant) { return grant.scope != agent::v1::GRANT_SCOPE_SESSION; });
  return out;
}

Status Sessions::RevokeGrant(const std::string& session_id, const std::string& grant_id,
                             uint32_t by_uid) {
  ODY_ASSIGN_OR_RETURN(const SessionPtr record, Get(session_id));
  ODY_ASSIGN_OR_RETURN(const auto journal, JournalOf(session_id));
  if (!grants_.Revoke(session_id, grant_id, runtime_.clock->Now())) {
    return AboutField("grant_id", NotFound("grant_id \"" + grant_id +
                                           "\": no such grant of session " + session_id));
  }
  std::string turn_id;
  for (const TurnRecord& turn : record->turns) {
    if (turn.status == TurnStatus::kRunning) turn_id = turn.id;
  }
  return journal
      ->Append(GrantEnds(turn_id, grant_id, "revoked", by_uid), event::Durability::kSynced)
      .status();
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
    if (!record.ok() || !(cell.key == ToolingCell(**record)) || !IsUnused(cell)) continue;
    if (ActiveOf(session_id).empty() && IsIdle(session_id, idle)) EndIdleCell(cell, idle);
  }
}

// Refused where the session is being deleted or forked: its cell is looked at the next time.
void Sessions::EndIdleCell(const sandbox::Cell& cell, std::chrono::seconds idle) {
  const std::string job_id = runtime_.ids->New("end");
  CellEnd::Hooks hooks;
  hooks.on_end = ForgetActive(job_id);
  hooks.end_cell = [this, cell, idle] {
    if (!IsIdle(cell.key.session_id, idle)) return;  // a turn came first
    (void)EndCell(cell);
  };
  (void)Enqueue(job_id, cell.key.session_id, std::make_shared<CellEnd>(std::move(hooks)),
                scheduler::Admission::kAccepted);
}

std::function<void()> Sessions::ForgetActive(const std::string& job_id) {
  return [this, job_id] {
    std::lock_guard lock(mutex_);
    active_.erase(job_id);
  };
}

bool Sessions::IsUnused(const sandbox::Cell& cell) const {
  return cell.running_execs <= servers_.CountIn(cell.key.session_id, cell.id);
}

// Jobs that have ended go with their cell.
Status Sessions::EndCell(const sandbox::Cell& cell) {
  const std::string& session_id = cell.key.session_id;
  ForgetCell(session_id, cell.id);
  servers_.EndProcesses(session_id);
  Status removed = runtime_.sandbox->RemoveCell(cell.id, /*purge=*/false);
  jobs_.ForgetEnded(session_id);
  return removed;
}

bool Sessions::EndIdlestCell(const std::vector<sandbox::Cell>& cells) {
  using Candidate = std::pair<std::chrono::system_clock::time_point, const sandbox::Cell*>;
  std::vector<Candidate> candidates;
  {
    std::lock_guard lock(mutex_);
    for (const sandbox::Cell& cell : cells) {
      const auto used = used_at_.find(cell.key.session_id);
      const bool known = used != used_at_.end();
      if (!IsUnused(cell)) continue;
      candidates.emplace_back(known ? used->second : Candidate().first, &cell);
    }
  }
  std::sort(candidates.begin(), candidates.end());
  return std::any_of(candidates.begin(), candidates.end(),
                     [this](const Candidate& each) { return EndCellIfFree(*each.second); });
}

// In the session's queue, on this thread: a turn that is submitted meanwhile waits for it and makes
// the cell again.
bool Sessions::EndCellIfFree(const sandbox::Cell& cell) {
  const std::string& session_id = cell.key.session_id;
  const std::string job_id = runtime_.ids->New("end");
  const auto ended = std::make_shared<bool>(false);
  CellEnd::Hooks hooks;
  hooks.on_end = ForgetActive(job_id);
  hooks.end_cell = [this, cell, ended] { *ended = EndCell(cell).ok(); };
  const auto job = std::make_shared<CellEnd>(std::move(hooks));
  {
    std::lock_guard lock(mutex_);
    if (!CheckOpen(session_id).ok()) return false;
    active_[job_id] = {session_id, job};
  }
  if (!pool_.RunIfFree(session_id, job)) job->EndWithoutRunning();
  return *ended;
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
    Result<supervisor::v1::FileReadResult> opened = runtime_.sandbox->ReadFile(
        {caller.cell_id, sandbox::Links::kRefuse}, path, 0, kMaxAttachmentBytes);
    // The rules and the suffixes have judged the name.
    if (const auto end = sandbox::LeadsTo(opened.status())) {
      return Refused(Code::kPermissionDenied, "attachments", path,
                     "leads through a symbolic link to " + *end + "; attach that file by its path");
    }
    ODY_ASSIGN_OR_RETURN(supervisor::v1::FileReadResult read, std::move(opened));
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

  SessionRecord record = WorkerRecord(
      *own, caller.turn_id, worker, policy::Narrower(setup->agent.delegation.budget, caller.left));
  record.id = runtime_.ids->New("ses");
  record.created_at = agent::FormatTime(runtime_.clock->Now());
  const std::string id = record.id;
  ODY_ASSIGN_OR_RETURN(const TurnSetup checked, SetUpTurn(record, runtime_));
  ODY_RETURN_IF_ERROR(CheckPriced(record, checked));
  ODY_RETURN_IF_ERROR(CheckSessionCell(checked, runtime_));
  ODY_RETURN_IF_ERROR(AddRecord(record));
  const auto start = [&]() -> Status {
    ODY_ASSIGN_OR_RETURN(const std::vector<std::string> copies,
                         CopyAttachments(caller, record, call.attachments, setup->agent, worker));
    {
      std::lock_guard lock(mutex_);
      worker_ends_[id] = std::move(on_end);
    }
    return Submit(id, call.input + AttachmentNote(copies), std::nullopt,
                  {caller.deadline_left_ms, ""})
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
    end.used = turn->used;
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

// ── The end ─────────────────────────────────────────────────────────────────────────────────────

bool Sessions::IsWorker(const std::string& session_id) const {
  const Result<SessionPtr> record = runtime_.store->GetWithoutTurns(session_id);
  return record.ok() && !(*record)->parent.session_id.empty();
}

// All that has not begun in the session.
void Sessions::LeaveQueued(const std::string& session_id) {
  std::set<const scheduler::Job*> withdrawn;
  for (const auto& job : pool_.WithdrawAll(session_id)) withdrawn.insert(job.get());
  std::map<std::string, Active> left;  // by id
  {
    std::lock_guard lock(mutex_);
    for (const auto& [id, active] : active_) {
      if (withdrawn.count(active.job.get()) != 0) left.emplace(id, active);
    }
  }
  for (const auto& [id, active] : left) {
    active.job->LeaveForRestart();
    Forget(id);
  }
}

// A worker's turn that waits belongs to one that runs. Caller holds mutex_.
std::set<std::string> Sessions::SessionsOfClients() const {
  std::set<std::string> out;
  for (const auto& [id, active] : active_) {
    if (!IsWorker(active.session_id)) out.insert(active.session_id);
  }
  return out;
}

void Sessions::BeginDrain() {
  std::set<std::string> sessions;
  {
    std::lock_guard lock(mutex_);
    if (std::exchange(draining_, true)) return;
    sessions = SessionsOfClients();
  }
  for (const std::string& session_id : sessions) LeaveQueued(session_id);
}

bool Sessions::draining() const {
  std::lock_guard lock(mutex_);
  return draining_;
}

bool Sessions::IsQuiet() const {
  std::lock_guard lock(mutex_);
  return active_.empty();
}

void Sessions::Stop() {
  std::set<std::string> sessions;
  {
    std::lock_guard lock(mutex_);
    if (std::exchange(stopping_, true)) return;
    sessions = SessionsOfClients();
  }
  deadlines_.Stop();
  for (const std::string& session_id : sessions) LeaveQueued(session_id);
  StopJobs(ActiveOf(""), turn::Ending::kInterrupted);
  jobs_.Stop();
  servers_.Stop();
  pool_.Stop();
}

size_t Sessions::running_turns() const {
  size_t out = 0;
  for (const SessionPtr& record : runtime_.store->List()) {
    for (const TurnRecord& turn : record->turns) out += turn.status == TurnStatus::kRunning;
  }
  return out;
}

Result<agent::v1::GetQuotaResponse> Sessions::GetQuota(uint32_t owner) const {
  ODY_ASSIGN_OR_RETURN(const ceiling::Quota quota, QuotaOf(owner, runtime_));
  const auto bound = [&](ceiling::Counted kind) { return quota[static_cast<size_t>(kind)].value; };
  agent::v1::GetQuotaResponse out;
  agent::v1::Quota& bounds = *out.mutable_bounds();
  bounds.set_sessions(bound(ceiling::Counted::kSessions));
  bounds.set_cells(bound(ceiling::Counted::kCells));
  bounds.set_turns(bound(ceiling::Counted::kTurns));
  bounds.set_disk_bytes(bound(ceiling::Counted::kDiskBytes));
  agent::v1::Quota& used = *out.mutable_used();
  ODY_ASSIGN_OR_RETURN(const uint64_t cells, CellQuota::Count(owner, runtime_));
  used.set_sessions(CountSessions(owner, runtime_));
  used.set_cells(cells);
  used.set_turns(CountTurns(owner));
  used.set_disk_bytes(CountDiskBytes(owner, runtime_));
  return out;
}

Status Sessions::CheckDiskQuota(uint32_t owner) const {
  ODY_ASSIGN_OR_RETURN(const ceiling::Quota quota, QuotaOf(owner, runtime_));
  return session::CheckDiskQuota(quota, owner, runtime_);
}

}  // namespace odyssey::session
