#include "supervisor/rpc/cell.h"

#include <errno.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "common/base/refusal.h"
#include "common/base/time_text.h"
#include "policy/compile/environment.h"
#include "policy/executables/closure.h"
#include "supervisor/rpc/exec_denials.h"

namespace odyssey::supervisor {
namespace {

// Places in the cell's group of the loop.
constexpr unsigned kInitPlace = 0;
constexpr unsigned kHostPlace = 1;
// Of a single-use cell, as supervisor.proto says.
constexpr auto kUnusedTimeout = std::chrono::seconds(30);
// A cell that fills its runs faster than they can be removed is not followed for ever.
constexpr int kMaxTrimRequests = 1000;

uint64_t NanosecondsSince1970() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// What a counter of the kernel's has grown by since it was last asked for.
uint64_t NewSince(uint64_t* seen, uint64_t now) {
  const uint64_t before = std::exchange(*seen, now);
  return now - std::min(before, now);
}

// The field that asks for a run.
std::string_view RunField(const v1::ExecStart& start) {
  return start.keep_output() && start.run_id().empty() ? "start.keep_output" : "start.run_id";
}

std::string FindOnHost(const std::string& name) {
  return executables::FindProgram(executables::HostTree(""), name);
}

// Places that are no mounts of the cell's plan are left out: so is a second time.
void ExplainUnmapped(const cell::Unmapped& unmapped, compile::Compiled* compiled) {
  for (const plan::Entry& entry : compiled->plan.entries) {
    const auto& targets = unmapped.targets;
    const bool mapped =
        entry.kind == plan::EntryKind::kHostTree && entry.ownership == plan::Ownership::kMapped;
    if (!mapped || std::count(targets.begin(), targets.end(), entry.target) == 0) continue;
    const std::string line = entry.target +
                             ": its file system cannot be idmapped, or it is another user's: " +
                             "shown as it is, so that the cell reads what is world-readable";
    auto& lines = compiled->explanation;
    if (std::count(lines.begin(), lines.end(), line) == 0) lines.push_back(line);
  }
}

// Decodes the message and gives it to `handle`; what does not decode is dropped.
template <typename M, typename F>
void Handle(const Message& message, F handle) {
  M decoded;
  if (cell::Decode(message.bytes, &decoded).ok()) handle(decoded);
}

}  // namespace

Cell::Cell(EventLoop* loop, Auditor* auditor, CellFacts facts, std::function<void()> on_change)
    : loop_(loop),
      auditor_(auditor),
      facts_(std::move(facts)),
      key_(std::make_shared<CellKey>(facts_.key)),
      on_change_(std::move(on_change)),
      group_(loop->NewGroup()),
      slots_(loop, facts_.compiled.unconfined),
      worker_(
          loop,
          [this] {
            const std::string want = cell::EncodeEmpty(cell::MessageType::kWantTools);
            return SendMessage(socket_.get(), want, {}, MSG_DONTWAIT);
          },
          facts_.compiled.unconfined) {
  if (facts_.single_use) EndUnusedLater();
}

void Cell::SetState(State state) {
  state_ = state;
  was_ready_ |= state_ == State::kReady;
  since_ = Rfc3339Now();
  if (state_ == State::kEnding) slots_.Stop();
  on_change_();
}

Standing Cell::standing() const {
  switch (state_) {
    case State::kLaunching:
      return {.phase = v1::CELL_PHASE_PREPARING, .since = since_};
    case State::kReady:
      return {.phase = busy() ? v1::CELL_PHASE_RUNNING : v1::CELL_PHASE_READY, .since = since_};
    default:
      return {.phase = v1::CELL_PHASE_ENDED, .since = since_, .reason = failure_.message()};
  }
}

CellView Cell::View() const {
  return {.id = facts_.id,
          .key = facts_.key,
          .revision = facts_.revision,
          .policy_digest = facts_.compiled.digest,
          .host_uid = facts_.host_uid,
          .running_execs = running_execs(),
          .created_at = facts_.created_at,
          .workspace_path = facts_.workspace_path,
          .mode = facts_.admission.request.mode,
          .owner_uid = facts_.admission.owner.uid,
          .host_network = !facts_.compiled.HasOwnNetwork(),
          .explanation = facts_.compiled.explanation,
          .standing = standing()};
}

Status Cell::Freeze(bool frozen) {
  if (state_ != State::kReady) return FailedPrecondition("it is not ready");
  if (facts_.compiled.unconfined) return FailedPrecondition("its commands run on the host");
  if (!freezer_) return FailedPrecondition("no cgroup v2 tree of this host is the supervisor's");
  const char value = frozen ? '1' : '0';
  if (write(freezer_.get(), &value, 1) != 1) return ErrnoStatus(errno, "write cgroup.freeze");
  frozen ? slots_.Pause() : slots_.Resume();
  if (!facts_.single_use || busy()) return OkStatus();
  frozen ? KeepUnused() : EndUnusedLater();
  return OkStatus();
}

void Cell::Claim(CellFacts facts) {
  facts.id = facts_.id;
  facts.host_uid = facts_.host_uid;
  facts.compiled = std::move(facts_.compiled);
  facts.made_ahead = true;
  facts_ = std::move(facts);
  *key_ = facts_.key;
  since_ = Rfc3339Now();
  if (facts_.single_use) EndUnusedLater();
}

// ── Launch and end ──────────────────────────────────────────────────────────────────────────────

// Weak: a connection of the cell's own, which holds the callback until it is answered, is its.
RootClient::LaunchedCallback Cell::OnLaunched() {
  return [weak = weak_from_this()](const wire::Launched& launched, std::vector<UniqueFd> fds) {
    if (const auto cell = weak.lock()) cell->OnLaunched(launched, std::move(fds));
  };
}

Status Cell::LaunchBy(RootClient* root, const std::string& plan) {
  provider_ = root;
  return provider_->Launch(plan, OnLaunched());
}

Status Cell::LaunchBy(std::shared_ptr<RootClient> host, const std::string& plan) {
  host_ = std::move(host);
  provider_ = host_.get();
  host_->set_on_gone([weak = weak_from_this()](const wire::Gone& gone) {
    if (const auto cell = weak.lock()) cell->OnGone(gone.reason);
  });
  loop_->Watch(group_, kHostPlace, host_->fd(), EventLoop::When::kReadable,
               [cell = shared_from_this()] {
                 if (cell->host_->ReadOne().ok()) return;
                 cell->OnGone(Unavailable("the host runner ended"));
               });
  return provider_->Launch(plan, OnLaunched());
}

Status Cell::OpenEgress(const std::string& broker_socket) {
  CellEgress::Recorder recorder{
      .on_record = [auditor = auditor_, id = facts_.id,
                    key = key_](const auto& decision) { auditor->OnEgress(id, *key, decision); },
      .on_traffic = [auditor = auditor_](const auto& more) { auditor->OnTraffic(more); }};
  egress_ = std::make_shared<CellEgress>(loop_, std::move(recorder), [weak = weak_from_this()] {
    const auto cell = weak.lock();
    if (!cell) return;
    cell->TakeEarlySlots();
    cell->on_change_();
  });
  ODY_RETURN_IF_ERROR(egress_->Open(facts_, broker_socket));
  writes_certificates_ = true;
  return OkStatus();
}

// Before the first command. What the cell's programs trust is a file of the cell's own: changing it
// changes whom they believe, and nothing else.
void Cell::WriteCertificates() {
  const tool::Request request{
      .op = tool::Op::kWrite, .path = compile::kCertificates, .content = egress_->certificates()};
  AskOwn(request, [weak = weak_from_this()](const Result<tool::Response>& written) {
    const auto cell = weak.lock();
    if (!cell || cell->state_ != State::kLaunching) return;
    cell->writes_certificates_ = false;
    if (!written.ok()) {
      return cell->EndLaunch(
          Internal("write the cell's certificates: " + written.status().message()));
    }
    cell->TakeEarlySlots();
  });
}

void Cell::EndLaunch(Status why) {
  failure_ = std::move(why);
  SetState(State::kEnding);
}

// Once what commands find in a cell with egress is there.
void Cell::TakeEarlySlots() {
  if (state_ != State::kLaunching || writes_certificates_ || !egress_->ready()) return;
  if (!egress_->failure().ok()) return EndLaunch(egress_->failure());
  for (auto& [ready, message] : std::exchange(early_slots_, {})) {
    OnSlotReady(ready, std::move(message));
  }
}

bool Cell::SetEgress(const policy::SandboxRequest& asked) {
  if (!egress_) return false;
  const uint32_t owner = facts_.admission.owner.uid;
  if (asked.providers != facts_.request.providers) egress_->SetProviders(owner, asked.providers);
  const bool changed =
      asked.egress != facts_.request.egress &&
      SetEgressPolicy(asked.egress, {.source = "prepare", .by_uid = owner, .at = Rfc3339Now()});
  facts_.request.providers = asked.providers;
  facts_.request.egress = asked.egress;
  return changed;
}

bool Cell::SetEgressPolicy(const egress::NetworkPolicy& policy, const EgressChange& change) {
  const bool changed = egress_->SetPolicy(policy, change);
  if (changed && socket_) (void)AskForWays();
  return changed;
}

Status Cell::AskForWays() {
  return SendMessage(socket_.get(), cell::Encode(egress_->Ways()), {}, MSG_DONTWAIT);
}

void Cell::FailLaunch(Status why) {
  failure_ = std::move(why);
  Close();
  if (egress_) egress_->Close();
}

// Its handlers may hold the last reference.
void Cell::Close() {
  const auto self = shared_from_this();
  loop_->Forget(group_);
  KeepUnused();
  if (host_) loop_->Unwatch(host_->fd());
  socket_.reset();
  freezer_.reset();
  worker_.Close(failure_.ok() ? Unavailable("the cell ended") : failure_);
  SetState(State::kGone);
}

void Cell::OnLaunched(const wire::Launched& launched, std::vector<UniqueFd> fds) {
  if (!launched.status.ok() || fds.empty()) {
    FailLaunch(launched.status.ok() ? Internal("") : launched.status);
    return;
  }
  facts_.host_uid = launched.uid;
  socket_ = std::move(fds[0]);
  if (fds.size() > 1) freezer_ = std::move(fds[1]);
  loop_->Watch(group_, kInitPlace, socket_.get(), EventLoop::When::kReadable,
               [cell = shared_from_this()] { cell->OnReadable(); });
  if (facts_.compiled.unconfined) {
    slots_.Open(socket_.get());
    SetState(State::kReady);
    return;
  }
  // Before cell-init's Hello: the messages wait for it in the socket.
  Status sent = SendMessage(socket_.get(), cell::Encode(facts_.compiled.confinement));
  if (sent.ok() && egress_) sent = AskForWays();
  if (sent.ok()) {
    slots_.Open(socket_.get());
  } else if (sent.code() != Code::kUnavailable) {  // else it ended already, and Gone says why
    failure_ = sent;
  }
}

Status Cell::Kill(bool purge, const Status& why) {
  if (state_ == State::kLaunching || !facts_.claimed()) failure_ = why;
  SetState(State::kEnding);
  if (provider_ != nullptr) return provider_->Kill(facts_.id, purge);
  FailLaunch(why);  // the connection to the host runner is still on its way
  return OkStatus();
}

void Cell::OnGone(Status why) {
  if (state_ == State::kGone) return;
  CellEnd how = CellEnd::kFailed;
  if (why.ok()) why = Internal("");
  if (why.code() == Code::kAborted) {
    why = Status(Code::kAborted, "its memory limit was reached");
    how = CellEnd::kMemory;
  }
  if (failure_.ok() && !why.message().empty()) failure_ = why;
  if (why.message().empty() && (failure_.ok() || failure_.code() == Code::kAborted)) {
    how = CellEnd::kStopped;
  }
  if (why.message().empty() && !failure_.ok()) why = failure_;
  const auto self = shared_from_this();
  const auto execs = slots_.Close();
  Close();
  for (const auto& exec : execs) exec->OnCellGone(why);
  if (egress_) egress_->Close();  // after its commands have asked for decisions
  // One that was made ahead, and never ready, has no record of its beginning.
  if (facts_.claimed() || was_ready_) auditor_->OnCellEnded(facts_, how, why);
}

// ── Messages of cell-init ───────────────────────────────────────────────────────────────────────

void Cell::OnReadable() {
  auto message = ReceiveMessage(socket_.get());
  if (message.ok()) return OnMessage(std::move(*message));
  // cell-init is gone: root sees bubblewrap end and reports Gone, with the reason. Until then this
  // descriptor would stay readable.
  loop_->Unwatch(socket_.get());
}

// By its type; what is of no use here is dropped.
void Cell::OnMessage(Message message) {
  const Result<cell::MessageType> type = cell::TypeOf(message.bytes);
  if (!type.ok()) return;
  switch (*type) {
    case cell::MessageType::kHello:
      return Handle<cell::Hello>(message, [&](const auto& hello) { runs_.AddFound(hello.runs); });
    case cell::MessageType::kUnmapped:
      return Handle<cell::Unmapped>(message, [&](const auto& unmapped) {
        if (state_ == State::kLaunching) ExplainUnmapped(unmapped, &facts_.compiled);
      });
    case cell::MessageType::kSlotReady:
      return Handle<cell::SlotReady>(message, [&](const auto& ready) {
        if (message.fds.size() == 2) OnSlotReady(ready, std::move(message));
      });
    case cell::MessageType::kEgressWay:
      return Handle<cell::EgressWay>(message, [&](const auto& way) {
        if (egress_ && message.fds.size() == 1) egress_->AddWay(way, std::move(message.fds[0]));
      });
    case cell::MessageType::kSlotGone:
      return Handle<cell::SlotGone>(message, [&](const auto& gone) { OnSlotGone(gone); });
    case cell::MessageType::kCellError:
      return Handle<cell::CellError>(message, [&](const auto& error) { OnError(error); });
    case cell::MessageType::kToolsReady:
      if (message.fds.size() == 1) worker_.OnStarted(std::move(message.fds[0]));
      return;
    default:
      return;
  }
}

// A new slot, or one whose command has ended: then every process of that command is dead.
void Cell::OnSlotReady(const cell::SlotReady& slot, Message message) {
  if (state_ == State::kLaunching && egress_ && (writes_certificates_ || !egress_->ready())) {
    early_slots_.emplace_back(slot, std::move(message));
    if (writes_certificates_ && early_slots_.size() == 1) WriteCertificates();
    return;
  }
  const auto ended = slots_.TakeEnded(slot.slot);
  if (state_ == State::kLaunching) SetState(State::kReady);
  if (ended) OnExecEnded(ended->options());
  if (state_ == State::kReady) {
    slots_.Offer({slot.slot, std::move(message.fds[0]), std::move(message.fds[1])}, !ended);
  }
  if (ended) ended->OnSlotGone();
}

void Cell::OnSlotGone(const cell::SlotGone& gone) {
  const auto ended = slots_.TakeEnded(gone.slot);
  if (ended) OnExecEnded(ended->options());
  slots_.OnGone(gone.slot);
  if (ended) ended->OnSlotGone();
}

// A slot or a file worker could not be made: most likely the cell's processes are used up. Commands
// that wait go on waiting as long as another one runs, whose end may make room.
void Cell::OnError(const cell::CellError& error) {
  const bool exhausted = error.status.detail().error == EAGAIN;
  if (error.of_tools) {
    return worker_.OnFailed(
        exhausted ? ResourceExhausted(DescribeNeverForked(Known()))
                  : Unavailable("the cell's file worker did not start: " + error.status.message()));
  }
  const auto failed = slots_.OnError();
  if (state_ == State::kLaunching) {
    failure_ = FailedPrecondition(error.status.message()).With(error.status.detail());
    SetState(State::kEnding);
  }
  if (!failed) return;
  runs_.Release(failed->options().spec.run);
  failed->Fail("the cell could not start another process: " + error.status.message(),
               error.status.detail().error);
}

// ── Commands ────────────────────────────────────────────────────────────────────────────────────

Result<std::shared_ptr<Exec>> Cell::StartExec(const v1::ExecStart& start,
                                              const std::string& exec_id, ExecSink* sink) {
  std::map<std::string, std::string> env = facts_.env;
  if (egress_) env.insert(egress_->env().begin(), egress_->env().end());
  if (egress_ && !busy()) egress_->ForgetDecisions();
  ODY_ASSIGN_OR_RETURN(ExecOptions options, MakeExecOptions(facts_.compiled, env, start));
  options.exec_id = exec_id;
  if (first_exec_.empty()) first_exec_ = exec_id;
  // The runs of commands are not trimmed for connections, which have none.
  const bool wants = !start.run_id().empty() || start.keep_output() || !facts_.compiled.unconfined;
  if (wants && start.port() == 0) {
    ODY_ASSIGN_OR_RETURN(options.spec.run, TakeRun(RunField(start), start.run_id()));
  }
  auto exec = std::make_shared<Exec>(std::move(options), sink, shared_from_this());
  auditor_->OnExecStarted(facts_, exec->options());
  KeepUnused();
  if (!busy()) since_ = Rfc3339Now();
  slots_.Run(exec);
  return exec;
}

void Cell::Watch(Exec* exec, int fd, Source source, bool writable) {
  slots_.Watch(exec, fd, source, writable);
}

void Cell::SetTimer(Exec* exec) { slots_.SetTimer(exec); }

void Cell::AskUsage(const Done<wire::CellUsage>& done) {
  const Status asked =
      provider_->AskStats(facts_.id, [done](const wire::StatsReply& reply) { done(reply.usage); });
  if (!asked.ok()) done({});
}

// Weak: a connection of the cell's own may end without an answer, and holds the callback until
// then.
void Cell::AskUsage(Exec* exec) {
  AskUsage([cell = weak_from_this(), asking = exec->weak_from_this()](const wire::CellUsage& now) {
    const auto self = cell.lock();
    const auto command = asking.lock();
    if (!self || !command) return;
    const uint64_t kills = NewSince(&self->oom_seen_, now.oom_kills);
    command->SetUsage(kills, NewSince(&self->pids_seen_, now.pids_refused));
  });
}

bool Cell::AwaitDecisions(Exec* exec) {
  if (!egress_) return false;
  return egress_->AwaitDecisions([waiting = exec->weak_from_this()] {
    if (const auto command = waiting.lock()) command->OnDecisionsKnown();
  });
}

void Cell::NoteIdle() {
  if (!busy()) since_ = Rfc3339Now();
}

// The client may have come for more to a single-use cell: then it stays until the client removes
// it, or asks for nothing more.
void Cell::OnExecEnded(const ExecOptions& options) {
  NoteIdle();
  runs_.Release(options.spec.run);
  if (!facts_.single_use || state_ != State::kReady) return;
  if (busy() && options.exec_id != first_exec_) return;  // a guest of the command it is for
  options.stays ? EndUnusedLater() : EndUnused();
}

void Cell::OnLeftQueue(Exec* exec) {
  runs_.Release(exec->options().spec.run);
  slots_.Remove(exec);
  NoteIdle();
}

// Root can always end a cell.
void Cell::OnOverdue() {
  if (state_ != State::kReady) return;
  failure_ = Internal("a command did not end when it was killed");
  (void)Kill(/*purge=*/facts_.single_use, failure_);
}

std::vector<explain::Denial> Cell::Conclude(const ExecOptions& options, Outcome* outcome,
                                            std::string_view stderr_tail) {
  std::vector<explain::Denial> denials =
      FindDenials(Known(), options, *outcome, stderr_tail, FindOnHost);
  if (outcome->never_forked) outcome->sent.set_message(DescribeNeverForked(Known()));
  std::vector<explain::Denial> of_network;  // recorded as they were decided
  if (egress_) egress_->Describe(&outcome->sent, &of_network);
  outcome->sent.set_denials(static_cast<uint32_t>(
      std::min<uint64_t>(denials.size() + of_network.size() + outcome->refused_more, UINT32_MAX)));
  for (explain::Denial& denial : denials) {
    denial.session_id = facts_.key.session_id;
    auditor_->OnDenied(facts_, options.exec_id, denial);
  }
  auditor_->OnExecEnded(facts_, options, *outcome);
  denials.insert(denials.begin(), of_network.begin(), of_network.end());
  if (denials.size() > kMaxDenialsSent) denials.resize(kMaxDenialsSent);
  return denials;
}

// ── A single-use cell that is not used ──────────────────────────────────────────────────────────

void Cell::KeepUnused() { loop_->Cancel(std::exchange(unused_timer_, EventLoop::kNoTimer)); }

void Cell::EndUnusedLater() {
  KeepUnused();
  unused_timer_ = loop_->At(Clock::now() + kUnusedTimeout, [this] { EndUnused(); });
}

// Kill fails only when the provider is gone, and the cell with it.
void Cell::EndUnused() {
  KeepUnused();
  if (state_ == State::kReady || state_ == State::kLaunching) {
    (void)Kill(/*purge=*/true, Unavailable("the cell was not used in time"));
  }
}

// ── Files and runs ──────────────────────────────────────────────────────────────────────────────

void Cell::AskWorker(const tool::Request& request, FileWorker::Answer answer) {
  worker_.Ask(request, std::move(answer));
}

void Cell::AskOwn(const tool::Request& request, const FileWorker::Answer& answer) {
  AskWorker(request, [answer](Result<tool::Response> response) {
    if (response.ok() && response->code != Code::kOk) {
      return answer(Status(response->code, response->error));
    }
    answer(std::move(response));
  });
}

std::shared_ptr<RunOutput> Cell::MakeCopy(Exec* exec, Stream stream) {
  const std::string path = cell::RunName(exec->options().spec.run) + "/outbox/" +
                           (stream == Stream::kStdout ? "stdout" : "stderr");
  RunOutput::Wiring wiring{
      .ask = [cell = shared_from_this()](
                 const tool::Request& request,
                 const FileWorker::Answer& answer) { cell->AskOwn(request, answer); },
      .progress =
          [weak = exec->weak_from_this()] {
            if (const auto waiting = weak.lock()) waiting->Continue();
          }};
  return std::make_shared<RunOutput>(std::move(wiring), path);
}

// On the host there is no directory of the cell's own to make them in.
Result<uint64_t> Cell::TakeRun(std::string_view field, const std::string& run_id) {
  if (facts_.compiled.unconfined) {
    return FailedPrecondition(std::string(field) + ": there are no runs with danger_full_access");
  }
  if (!run_id.empty()) return runs_.Use(field, run_id);
  const uint64_t run = runs_.Begin(NanosecondsSince1970());
  // Here, because a cell that gets no more runs need not lose any.
  if (runs_.StartTrim()) Trim(kMaxTrimRequests, 0);
  return run;
}

Result<uint64_t> Cell::UseRun(std::string_view field, const std::string& run_id) {
  ODY_ASSIGN_OR_RETURN(const uint64_t run, TakeRun(field, run_id));
  KeepUnused();
  return run;
}

// Whether it is still there is for the file worker to say.
Result<uint64_t> Cell::UseOldRun(std::string_view field, const std::string& run_id) {
  ODY_ASSIGN_OR_RETURN(const uint64_t run, ParseRunId(field, run_id));
  const auto used = TakeRun(field, run_id);
  if (!used.ok() && used.status().code() != Code::kNotFound) return used;
  KeepUnused();
  return run;
}

void Cell::ReleaseRun(uint64_t run) {
  runs_.Release(run);
  if (facts_.single_use && !busy() && state_ == State::kReady) EndUnusedLater();
}

void Cell::Trim(int rounds, uint32_t left) {
  const tool::Request request{.op = tool::Op::kTrim, .names = runs_.InUse()};
  AskOwn(request, [cell = shared_from_this(), rounds, left](const Result<tool::Response>& answer) {
    const uint32_t now_left = answer.ok() ? answer->runs : left;
    const bool more = answer.ok() && answer->truncated && rounds > 1;
    more ? cell->Trim(rounds - 1, now_left) : cell->runs_.Trimmed(now_left);
  });
}

}  // namespace odyssey::supervisor
