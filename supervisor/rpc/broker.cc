#include "supervisor/rpc/broker.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <future>
#include <utility>

#include "common/os/message_socket.h"
#include "policy/plan/plan.h"
#include "supervisor/rpc/exec_request.h"

namespace odyssey::supervisor {
namespace {

// Slots kept ready in an idle cell. One: a second would cost every idle cell two more processes and
// help only commands that start within the same millisecond.
constexpr size_t kReadySlots = 1;
constexpr auto kLaunchTimeout = std::chrono::seconds(20);
constexpr auto kEndTimeout = std::chrono::seconds(20);
constexpr auto kToolsTimeout = std::chrono::seconds(10);
constexpr auto kStatsTimeout = std::chrono::seconds(2);
constexpr timeval kFileOpTimeout{30, 0};
constexpr int kMaxEvents = 64;

// Tags of epoll events: what, and which one.
enum class Tag : uint64_t { kWake = 0, kRoot = 1, kCell = 2, kSession = 3 };
constexpr int kTagShift = 60;
constexpr int kSourceBits = 3;

uint64_t MakeTag(Tag tag, uint64_t id = 0) {
  return (static_cast<uint64_t>(tag) << kTagShift) | id;
}

std::string RandomCellId() {
  uint64_t bits = 0;
  ODY_CHECK(getrandom(&bits, sizeof(bits), 0) == sizeof(bits));
  char text[32];
  snprintf(text, sizeof(text), "cel_%016llx", static_cast<unsigned long long>(bits));
  return text;
}

std::string Rfc3339Now() {
  const time_t now = time(nullptr);
  tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string IdentityOf(const PrepareSpec& spec, const compile::Compiled& compiled) {
  return compiled.digest + "|" + spec.bundle_digest + "|" + spec.sandbox.workspace + "|" +
         (spec.sandbox.ephemeral ? "memory" : "disk");
}

}  // namespace

Broker::Broker(RootClient* root, wire::Hello hello, compile::HostFacts facts)
    : root_(root),
      hello_(std::move(hello)),
      facts_(std::move(facts)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  ODY_CHECK(epoll_ && wake_);
  Watch(wake_.get(), MakeTag(Tag::kWake), false, /*edge=*/true);
  Watch(root_->fd(), MakeTag(Tag::kRoot), false, /*edge=*/false);
  root_->set_on_gone([this](const wire::Gone& gone) { OnGone(gone); });
}

Broker::~Broker() = default;

void Broker::Watch(int fd, uint64_t tag, bool writable, bool edge) {
  epoll_event event{};
  event.events = (writable ? EPOLLOUT : EPOLLIN) | (edge ? static_cast<uint32_t>(EPOLLET) : 0U);
  event.data.u64 = tag;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return;
  // Watched already: an edge that was seen is told again.
  ODY_CHECK(errno == EEXIST && epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) == 0);
}

// ── Requests ────────────────────────────────────────────────────────────────────────────────────

Result<Broker::CellPtr> Broker::FindCell(const std::string& cell_id) {
  const auto it = cells_.find(cell_id);
  if (it == cells_.end() || it->second->state == CellState::kEnding) {
    return NotFound("cell_id \"" + cell_id.substr(0, plan::kMaxCellId) + "\": no such cell");
  }
  return it->second;
}

Result<CellView> Broker::Prepare(const PrepareSpec& spec, bool* created) {
  ODY_RETURN_IF_ERROR(CheckCellKey(spec.key));
  ODY_ASSIGN_OR_RETURN(compile::Compiled compiled, compile::Compile(spec.sandbox, facts_));
  CellPtr cell;
  {
    Lock lock(mutex_);
    ODY_ASSIGN_OR_RETURN(cell, PrepareLocked(lock, spec, std::move(compiled), created));
  }
  CellView view = View(*cell);
  return view;
}

Result<Broker::CellPtr> Broker::PrepareLocked(Lock& lock, const PrepareSpec& spec,
                                              compile::Compiled compiled, bool* created) {
  const std::string identity = IdentityOf(spec, compiled);
  *created = false;
  for (;;) {
    const auto it = std::find_if(cells_.begin(), cells_.end(), [&spec](const auto& entry) {
      return entry.second->key == spec.key;
    });
    if (it == cells_.end()) break;
    const CellPtr cell = it->second;
    if (cell->identity == identity && cell->state != CellState::kEnding) {
      cell->env = spec.sandbox.env;  // a rotated value reaches the next command
      ODY_RETURN_IF_ERROR(AwaitReady(lock, cell.get()));
      return cell;
    }
    ODY_RETURN_IF_ERROR(EndAndWait(lock, cell, /*purge=*/false));
  }
  uint32_t& revision = revisions_[CellTreeOf(spec.key)];
  ODY_ASSIGN_OR_RETURN(CellPtr cell, Launch(spec, std::move(compiled), ++revision));
  *created = true;
  const Status ready = AwaitReady(lock, cell.get());
  if (!ready.ok()) {
    (void)EndAndWait(lock, cell, /*purge=*/false);
    return ready;
  }
  return cell;
}

Result<Broker::CellPtr> Broker::Launch(const PrepareSpec& spec, compile::Compiled compiled,
                                       uint32_t revision) {
  auto cell = std::make_shared<Cell>();
  cell->id = RandomCellId();
  cell->key = spec.key;
  cell->handle = next_handle_++;
  cell->revision = revision;
  cell->identity = IdentityOf(spec, compiled);
  cell->env = spec.sandbox.env;
  cell->ephemeral = spec.sandbox.ephemeral;
  cell->created_at = Rfc3339Now();

  plan::Plan plan = compiled.plan;
  plan.cell_id = cell->id;
  if (!cell->ephemeral) {
    plan.cell_tree = CellTreeOf(spec.key);
    if (spec.sandbox.workspace.empty()) {
      cell->workspace_path = hello_.cells_directory + "/" + plan.cell_tree + "/app";
    }
  }
  cell->compiled = std::move(compiled);
  const std::string bytes = plan::EncodePlan(plan);
  if (bytes.size() > plan::kMaxPlanBytes) {
    return InvalidArgument("the plan is larger than " + std::to_string(plan::kMaxPlanBytes) +
                           " bytes: give fewer or shorter mounts");
  }
  ODY_RETURN_IF_ERROR(
      root_->Launch(bytes, [this, cell](const wire::Launched& launched, UniqueFd socket) {
        OnLaunched(cell, launched, std::move(socket));
      }));
  cells_[cell->id] = cell;
  return cell;
}

Status Broker::AwaitReady(Lock& lock, Cell* cell) {
  const bool settled = changed_.wait_for(lock, kLaunchTimeout,
                                         [cell] { return cell->state != CellState::kLaunching; });
  if (!settled) return Unavailable("the cell was not ready in time");
  if (cell->state == CellState::kReady) return OkStatus();
  return cell->failure.ok() ? Unavailable("the cell ended") : cell->failure;
}

Status Broker::EndAndWait(Lock& lock, const CellPtr& cell, bool purge) {
  cell->state = CellState::kEnding;
  if (cells_.count(cell->id) != 0) ODY_RETURN_IF_ERROR(root_->Kill(cell->id, purge));
  const bool gone =
      changed_.wait_for(lock, kEndTimeout, [&] { return cells_.count(cell->id) == 0; });
  return gone ? OkStatus() : Unavailable("cell " + cell->id + " did not end in time");
}

Status Broker::Remove(const std::string& cell_id, bool purge) {
  Lock lock(mutex_);
  ODY_ASSIGN_OR_RETURN(const CellPtr cell, FindCell(cell_id));
  return EndAndWait(lock, cell, purge);
}

std::vector<CellView> Broker::List() {
  std::vector<CellPtr> cells;
  {
    const Lock lock(mutex_);
    for (const auto& [id, cell] : cells_) {
      if (cell->state == CellState::kReady) cells.push_back(cell);
    }
  }
  std::vector<CellView> views;
  for (const CellPtr& cell : cells) views.push_back(View(*cell));
  for (CellView& view : views) view.usage = AskUsage(view.id);
  return views;
}

Result<CellView> Broker::Describe(const std::string& cell_id) {
  CellPtr cell;
  {
    const Lock lock(mutex_);
    ODY_ASSIGN_OR_RETURN(cell, FindCell(cell_id));
  }
  CellView view = View(*cell);
  view.usage = AskUsage(cell_id);
  return view;
}

CellView Broker::View(const Cell& cell) {
  const Lock lock(mutex_);
  return {.id = cell.id,
          .key = cell.key,
          .revision = cell.revision,
          .policy_digest = cell.compiled.digest,
          .host_uid = cell.host_uid,
          .running_execs = static_cast<uint32_t>(cell.running.size()),
          .created_at = cell.created_at,
          .workspace_path = cell.workspace_path,
          .explanation = cell.compiled.explanation};
}

wire::StatsReply Broker::AskUsage(const std::string& cell_id) {
  const auto answer = std::make_shared<std::promise<wire::StatsReply>>();
  auto future = answer->get_future();
  const Status asked =
      root_->AskStats(cell_id, [answer](const wire::StatsReply& r) { answer->set_value(r); });
  if (!asked.ok() || future.wait_for(kStatsTimeout) != std::future_status::ready) return {};
  return future.get();
}

uint32_t Broker::live_cells() {
  const Lock lock(mutex_);
  return static_cast<uint32_t>(cells_.size());
}

// ── Commands ────────────────────────────────────────────────────────────────────────────────────

Result<std::shared_ptr<ExecSession>> Broker::Exec(const ExecSpec& spec, ExecSink* sink) {
  Lock lock(mutex_);
  ODY_ASSIGN_OR_RETURN(const CellPtr cell, FindCell(spec.cell_id));
  ODY_ASSIGN_OR_RETURN(ExecOptions options, MakeExecOptions(cell->compiled, cell->env, spec));
  auto session = std::make_shared<ExecSession>(std::move(options), sink);
  if (cell->ready.empty()) {
    cell->waiting.push_back(session);
    WantSlots(cell.get());
    return session;
  }
  ReadySlot slot = std::move(cell->ready.front());
  cell->ready.pop_front();
  StartInSlot(cell, std::move(slot), session);
  WantSlots(cell.get());
  return session;
}

// Called with the lock: a session's own lock nests inside the broker's, never the other way round.
void Broker::StartInSlot(const CellPtr& cell, ReadySlot slot,
                         std::shared_ptr<ExecSession> session) {
  const uint64_t handle = next_handle_++;
  session_handles_[handle] = session;
  cell->running[slot.number] = session;
  session->Start(
      std::move(slot.exec), std::move(slot.control),
      [this, handle](int fd, ExecSession::Source source, bool writable) {
        const uint64_t id = (handle << kSourceBits) | static_cast<uint64_t>(source);
        Watch(fd, MakeTag(Tag::kSession, id), writable, /*edge=*/true);
      },
      [this, cell, weak = std::weak_ptr<ExecSession>(session)] {
        (void)root_->AskStats(cell->id, [cell, weak](const wire::StatsReply& reply) {
          const uint64_t before = cell->oom_seen.exchange(reply.oom_kills);
          const auto asking = weak.lock();
          const uint64_t kills = reply.oom_kills - std::min(before, reply.oom_kills);
          if (asking) asking->SetOomKills(static_cast<uint32_t>(kills));
        });
      });
  const Clock::time_point deadline = session->deadline();
  if (deadline < next_deadline_) {
    next_deadline_ = deadline;
    const uint64_t one = 1;
    (void)!write(wake_.get(), &one, sizeof(one));
  }
}

void Broker::WantSlots(Cell* cell) {
  const size_t needed = cell->waiting.size() + kReadySlots;
  while (cell->ready.size() + cell->slots_wanted < needed) {
    const std::string want = cell::EncodeEmpty(cell::MessageType::kWantSlot);
    if (!cell->socket || !SendMessage(cell->socket.get(), want).ok()) return;
    ++cell->slots_wanted;
  }
}

// ── Files ───────────────────────────────────────────────────────────────────────────────────────

Result<std::shared_ptr<UniqueFd>> Broker::AwaitTools(Lock& lock, const CellPtr& cell) {
  if (!cell->tools && !cell->tools_wanted) {
    cell->tools_wanted = true;
    ODY_RETURN_IF_ERROR(
        SendMessage(cell->socket.get(), cell::EncodeEmpty(cell::MessageType::kWantTools)));
  }
  changed_.wait_for(lock, kToolsTimeout,
                    [&] { return cell->tools || cell->state != CellState::kReady; });
  if (!cell->tools) return Unavailable("the cell's file worker did not start");
  return cell->tools;
}

Result<tool::Response> Broker::FileOp(const std::string& cell_id, const tool::Request& request) {
  CellPtr cell;
  std::shared_ptr<UniqueFd> tools;
  {
    Lock lock(mutex_);
    ODY_ASSIGN_OR_RETURN(cell, FindCell(cell_id));
    ODY_ASSIGN_OR_RETURN(tools, AwaitTools(lock, cell));
  }
  const std::lock_guard conversation(cell->tools_mutex);
  Status status = tool::WriteFrame(tools->get(), tool::Encode(request));
  tool::Response response;
  if (status.ok()) {
    const auto frame = tool::ReadFrame(tools->get());
    status = frame.ok() ? tool::Decode(*frame, &response) : frame.status();
  }
  if (status.ok()) return response;
  // A broken conversation cannot be picked up: the next operation gets a new worker.
  const Lock lock(mutex_);
  if (cell->tools == tools) {
    cell->tools.reset();
    cell->tools_wanted = false;
  }
  return Unavailable("the cell's file worker ended: " + status.message());
}

// ── Events ──────────────────────────────────────────────────────────────────────────────────────

void Broker::OnLaunched(const CellPtr& cell, const wire::Launched& launched, UniqueFd socket) {
  const Lock lock(mutex_);
  if (launched.code != Code::kOk || !socket) {
    cell->failure =
        Status(launched.code == Code::kOk ? Code::kInternal : launched.code, launched.error);
    cell->state = CellState::kGone;
    cells_.erase(cell->id);
    changed_.notify_all();
    return;
  }
  cell->host_uid = launched.uid;
  cell->socket = std::move(socket);
  cell_handles_[cell->handle] = cell;
  Watch(cell->socket.get(), MakeTag(Tag::kCell, cell->handle), false, /*edge=*/false);
  // Asked for ahead of cell-init's Hello: the messages wait for it in the socket.
  const Status sent = SendMessage(cell->socket.get(), cell::Encode(cell->compiled.confinement));
  if (sent.ok()) {
    WantSlots(cell.get());
  } else if (sent.code() != Code::kUnavailable) {  // else it ended already, and Gone says why
    cell->failure = sent;
  }
}

void Broker::OnGone(const wire::Gone& gone) {
  CellPtr cell;
  std::vector<std::shared_ptr<ExecSession>> sessions;
  {
    const Lock lock(mutex_);
    const auto it = cells_.find(gone.cell_id);
    if (it == cells_.end()) return;
    cell = it->second;
    if (cell->failure.ok() && !gone.reason.empty()) {
      cell->failure = Status(gone.code == Code::kOk ? Code::kInternal : gone.code, gone.reason);
    }
    cell->state = CellState::kGone;
    for (auto& [slot, session] : cell->running) sessions.push_back(session);
    sessions.insert(sessions.end(), cell->waiting.begin(), cell->waiting.end());
    for (const auto& session : sessions) ForgetSession(session.get());
    cell->running.clear();
    cell->waiting.clear();
    cell->ready.clear();
    cell->tools.reset();
    cell->socket.reset();
    cell_handles_.erase(cell->handle);
    cells_.erase(it);
    changed_.notify_all();
  }
  for (const auto& session : sessions) session->OnCellGone(gone.reason);
}

void Broker::OnCellReadable(const CellPtr& cell) {
  auto message = ReceiveMessage(cell->socket.get());
  if (message.ok()) {
    OnCellMessage(cell, std::move(*message));
    return;
  }
  // cell-init is gone: root sees bubblewrap end and says Gone, with the reason. Until then this
  // descriptor would stay readable.
  const Lock lock(mutex_);
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, cell->socket.get(), nullptr);
  cell_handles_.erase(cell->handle);
}

void Broker::OnCellMessage(const CellPtr& cell, Message message) {
  cell::SlotReady ready;
  cell::SlotGone gone;
  cell::CellError error;
  if (cell::Decode(message.bytes, &ready).ok() && message.fds.size() == 2) {
    OnSlotReady(cell, ready, std::move(message));
  } else if (cell::Decode(message.bytes, &gone).ok()) {
    std::shared_ptr<ExecSession> session;
    {
      const Lock lock(mutex_);
      auto node = cell->running.extract(gone.slot);
      if (!node.empty()) session = node.mapped();
      // A slot that died before it was used (killed for memory, say): another takes its place.
      const auto dead = std::find_if(cell->ready.begin(), cell->ready.end(),
                                     [&](const ReadySlot& s) { return s.number == gone.slot; });
      if (dead != cell->ready.end()) cell->ready.erase(dead);
      WantSlots(cell.get());
      if (session) ForgetSession(session.get());
    }
    if (session) session->OnSlotGone();
  } else if (cell::Decode(message.bytes, &error).ok()) {
    const Lock lock(mutex_);
    if (cell->slots_wanted > 0) --cell->slots_wanted;
    if (cell->state == CellState::kLaunching) {
      cell->failure = FailedPrecondition(error.step);
      cell->state = CellState::kEnding;
      changed_.notify_all();
    }
  } else if (message.fds.size() == 1) {
    const Lock lock(mutex_);
    setsockopt(message.fds[0].get(), SOL_SOCKET, SO_RCVTIMEO, &kFileOpTimeout,
               sizeof(kFileOpTimeout));
    cell->tools = std::make_shared<UniqueFd>(std::move(message.fds[0]));
    changed_.notify_all();
  }
}

void Broker::OnSlotReady(const CellPtr& cell, const cell::SlotReady& slot, Message message) {
  const Lock lock(mutex_);
  if (cell->slots_wanted > 0) --cell->slots_wanted;
  ReadySlot ready{slot.slot, std::move(message.fds[0]), std::move(message.fds[1])};
  if (cell->waiting.empty()) {
    cell->ready.push_back(std::move(ready));
  } else {
    const auto session = cell->waiting.front();
    cell->waiting.pop_front();
    StartInSlot(cell, std::move(ready), session);
    WantSlots(cell.get());
  }
  if (cell->state == CellState::kLaunching) {
    cell->state = CellState::kReady;
    changed_.notify_all();
  }
}

void Broker::ForgetSession(const ExecSession* session) {
  for (auto it = session_handles_.begin(); it != session_handles_.end(); ++it) {
    if (it->second.get() != session) continue;
    session_handles_.erase(it);
    return;
  }
}

void Broker::HandleEvent(uint64_t tag) {
  const uint64_t id = tag & ((uint64_t{1} << kTagShift) - 1);
  switch (static_cast<Tag>(tag >> kTagShift)) {
    case Tag::kCell: {
      CellPtr cell;
      {
        const Lock lock(mutex_);
        const auto it = cell_handles_.find(id);
        if (it == cell_handles_.end()) return;
        cell = it->second;
      }
      OnCellReadable(cell);
      return;
    }
    case Tag::kSession: {
      std::shared_ptr<ExecSession> session;
      {
        const Lock lock(mutex_);
        const auto it = session_handles_.find(id >> kSourceBits);
        if (it == session_handles_.end()) return;
        session = it->second;
      }
      session->OnReady(static_cast<ExecSession::Source>(id & ((1U << kSourceBits) - 1)));
      return;
    }
    default: {
      uint64_t count;
      (void)!read(wake_.get(), &count, sizeof(count));
      return;
    }
  }
}

int Broker::TimeoutMs() {
  const Lock lock(mutex_);
  if (next_deadline_ == Clock::time_point::max()) return -1;
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(next_deadline_ - Clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count() + 1, 0, 60'000));
}

void Broker::RunDeadlines() {
  const auto now = Clock::now();
  std::vector<std::shared_ptr<ExecSession>> sessions;
  {
    const Lock lock(mutex_);
    if (now < next_deadline_) return;
    next_deadline_ = Clock::time_point::max();  // a command that starts meanwhile sets its own
    for (const auto& [handle, session] : session_handles_) sessions.push_back(session);
  }
  Clock::time_point next = Clock::time_point::max();
  for (const auto& session : sessions) {
    session->OnDeadline(now);
    next = std::min(next, session->deadline());
  }
  const Lock lock(mutex_);
  next_deadline_ = std::min(next_deadline_, next);
}

Status Broker::Run() {
  epoll_event events[kMaxEvents];
  for (;;) {
    const int count = epoll_wait(epoll_.get(), events, kMaxEvents, TimeoutMs());
    if (count < 0 && errno != EINTR) return ErrnoStatus(errno, "epoll_wait");
    for (int i = 0; i < count; ++i) {
      if (static_cast<Tag>(events[i].data.u64 >> kTagShift) == Tag::kRoot) {
        ODY_RETURN_IF_ERROR(root_->ReadOne());
      } else {
        HandleEvent(events[i].data.u64);
      }
    }
    RunDeadlines();
  }
}

}  // namespace odyssey::supervisor
