// The broker's other half: what root and the cells tell it, on the loop's thread.

#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "common/os/message_socket.h"
#include "supervisor/rpc/audit_records.h"
#include "supervisor/rpc/broker.h"

namespace odyssey::supervisor {
namespace {

constexpr timeval kFileOpTimeout{30, 0};
constexpr unsigned kOnlyPlace = 0;  // a cell has one descriptor in its group

// What a cell says of places that are no mounts of its plan is left out: so is a second time.
void ExplainUnmapped(const cell::Unmapped& unmapped, compile::Compiled* compiled) {
  for (const plan::Entry& entry : compiled->plan.entries) {
    const auto& targets = unmapped.targets;
    const bool mapped =
        entry.kind == plan::EntryKind::kHostTree && entry.ownership == plan::Ownership::kMapped;
    if (!mapped || std::count(targets.begin(), targets.end(), entry.target) == 0) continue;
    const std::string line = entry.target +
                             ": its file system cannot be idmapped, or it is another user's: " +
                             "shown as it is, so that the cell reads what everybody may";
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

// Never ok.
Status ReasonOf(const wire::Gone& gone) {
  if (gone.reason.code() == Code::kAborted) return {Code::kAborted, "its memory limit was reached"};
  return gone.reason.ok() ? Internal("") : gone.reason;
}

}  // namespace

void Broker::OnLaunched(const CellPtr& cell, const wire::Launched& launched, UniqueFd socket) {
  const Lock lock(mutex_);
  if (!launched.status.ok() || !socket) {
    cell->failure = launched.status.ok() ? Internal("") : launched.status;
    cell->state = CellState::kGone;
    LetGoOfHost(cell.get());
    cells_.erase(cell->id);
    changed_.notify_all();
    return;
  }
  cell->host_uid = launched.uid;
  cell->socket = std::move(socket);
  loop_.Watch(cell->group, kOnlyPlace, cell->socket.get(), EventLoop::When::kReadable,
              [this, cell] { OnCellReadable(cell); });
  if (cell->compiled.unconfined) {
    cell->state = CellState::kReady;
    changed_.notify_all();
    return;
  }
  // Asked for ahead of cell-init's Hello: the messages wait for it in the socket.
  const Status sent = SendMessage(cell->socket.get(), cell::Encode(cell->compiled.confinement));
  if (sent.ok()) {
    WantSlots(cell.get());
  } else if (sent.code() != Code::kUnavailable) {  // else it ended already, and Gone says why
    cell->failure = sent;
  }
}

void Broker::OnGone(const wire::Gone& gone) {
  Status why = ReasonOf(gone);
  CellPtr cell;
  std::vector<std::shared_ptr<ExecSession>> sessions;
  {
    const Lock lock(mutex_);
    const auto it = cells_.find(gone.cell_id);
    if (it == cells_.end()) return;
    cell = it->second;
    if (cell->failure.ok() && !why.message().empty()) cell->failure = why;
    if (why.message().empty() && !cell->failure.ok()) why = cell->failure;
    cell->state = CellState::kGone;
    for (auto& [slot, running] : cell->running) {
      sessions.push_back(running.session);
      loop_.Forget(running.group);
    }
    sessions.insert(sessions.end(), cell->waiting.begin(), cell->waiting.end());
    cell->running.clear();
    cell->waiting.clear();
    cell->ready.clear();
    cell->tools.reset();
    cell->socket.reset();
    loop_.Forget(cell->group);
    LetGoOfHost(cell.get());
    cells_.erase(it);
    changed_.notify_all();
  }
  for (const auto& session : sessions) session->OnCellGone(why);
  audit_->Add(CellEndRecord(cell->id, why.message()));
}

void Broker::OnCellReadable(const CellPtr& cell) {
  auto message = ReceiveMessage(cell->socket.get());
  if (message.ok()) {
    OnCellMessage(cell, std::move(*message));
    return;
  }
  // cell-init is gone: root sees bubblewrap end and says Gone, with the reason. Until then this
  // descriptor would stay readable.
  loop_.Unwatch(cell->socket.get());
  loop_.Forget(cell->group);
}

// By its type. A cell is not trusted: what is of no use here is dropped.
void Broker::OnCellMessage(const CellPtr& cell, Message message) {
  const Result<cell::MessageType> type = cell::TypeOf(message.bytes);
  if (!type.ok()) return;
  switch (*type) {
    case cell::MessageType::kHello:
      return Handle<cell::Hello>(message, [&](const auto& hello) {
        const Lock lock(mutex_);
        cell->runs.AddFound(hello.runs);
      });
    case cell::MessageType::kUnmapped:
      return Handle<cell::Unmapped>(message, [&](const auto& unmapped) {
        const Lock lock(mutex_);
        if (cell->state == CellState::kLaunching) ExplainUnmapped(unmapped, &cell->compiled);
      });
    case cell::MessageType::kSlotReady:
      return Handle<cell::SlotReady>(message, [&](const auto& ready) {
        if (message.fds.size() == 2) OnSlotReady(cell, ready, std::move(message));
      });
    case cell::MessageType::kSlotGone:
      return Handle<cell::SlotGone>(message, [&](const auto& gone) { OnSlotGone(cell, gone); });
    case cell::MessageType::kCellError:
      return Handle<cell::CellError>(message, [&](const auto& error) { OnCellError(cell, error); });
    case cell::MessageType::kToolsReady:
      if (message.fds.size() == 1) OnToolsReady(cell.get(), std::move(message.fds[0]));
      return;
    default:
      return;
  }
}

void Broker::OnToolsReady(Cell* cell, UniqueFd tools) {
  for (const int way : {SO_RCVTIMEO, SO_SNDTIMEO}) {
    setsockopt(tools.get(), SOL_SOCKET, way, &kFileOpTimeout, sizeof(kFileOpTimeout));
  }
  const Lock lock(mutex_);
  cell->tools = std::make_shared<UniqueFd>(std::move(tools));
  changed_.notify_all();
}

void Broker::OnSlotGone(const CellPtr& cell, const cell::SlotGone& gone) {
  std::shared_ptr<ExecSession> session;
  {
    const Lock lock(mutex_);
    session = TakeRunning(cell.get(), gone.slot);
    // A slot that died before it was used (killed for memory, say): another takes its place.
    const auto dead = std::find_if(cell->ready.begin(), cell->ready.end(),
                                   [&](const ReadySlot& s) { return s.number == gone.slot; });
    if (dead != cell->ready.end()) cell->ready.erase(dead);
    if (session) OnCommandEnd(cell.get(), *session);
    if (!cell->compiled.unconfined) cell->gone.push_back(gone.slot);
    ForgetSlots(cell.get());
    if (cell->state == CellState::kReady) WantSlots(cell.get());
  }
  if (session) session->OnSlotGone();
}

// Called with the lock. While a command lives, cell-init holds the mounts of slots that are gone
// (Slot::mounts); when none does, it is told so, by the message that it sent.
void Broker::ForgetSlots(Cell* cell) {
  if (!cell->running.empty() || !cell->socket) return;
  std::erase_if(cell->gone, [&](uint64_t slot) {
    const std::string gone = cell::Encode(cell::SlotGone{.slot = slot});
    return SendMessage(cell->socket.get(), gone, {}, MSG_DONTWAIT).ok();
  });
}

// A slot could not be made: most likely the cell's processes are used up. Commands that wait go on
// waiting as long as another one runs, whose end may make room.
void Broker::OnCellError(const CellPtr& cell, const cell::CellError& error) {
  std::shared_ptr<ExecSession> failed;
  {
    const Lock lock(mutex_);
    if (error.of_tools) {
      OnToolsFailed(cell.get(), error);
      return;
    }
    if (cell->slots_wanted > 0) --cell->slots_wanted;
    if (cell->state == CellState::kLaunching) {
      cell->failure = FailedPrecondition(error.status.message()).With(error.status.detail());
      cell->state = CellState::kEnding;
      changed_.notify_all();
    }
    if (cell->running.empty() && !cell->waiting.empty()) {
      failed = cell->waiting.front();
      cell->waiting.pop_front();
      cell->runs.Release(failed->options().spec.run);
    }
  }
  if (failed) {
    failed->Fail("the cell could not start another process: " + error.status.message(),
                 error.status.detail().error);
  }
}

// A new slot, or one whose command has ended: then every process of that command is dead.
void Broker::OnSlotReady(const CellPtr& cell, const cell::SlotReady& slot, Message message) {
  std::shared_ptr<ExecSession> ended;
  {
    const Lock lock(mutex_);
    ended = TakeRunning(cell.get(), slot.slot);
    if (!ended && cell->slots_wanted > 0) --cell->slots_wanted;
    if (cell->state == CellState::kLaunching) {
      cell->state = CellState::kReady;
      changed_.notify_all();
    }
    if (ended) OnCommandEnd(cell.get(), *ended);
    ForgetSlots(cell.get());
    if (cell->state == CellState::kReady) {
      UseSlot(cell, {slot.slot, std::move(message.fds[0]), std::move(message.fds[1])});
    }
  }
  if (ended) ended->OnSlotGone();
}

// Called with the lock.
std::shared_ptr<ExecSession> Broker::TakeRunning(Cell* cell, uint64_t slot) {
  auto node = cell->running.extract(slot);
  if (node.empty()) return nullptr;
  loop_.Forget(node.mapped().group);
  return node.mapped().session;
}

// Called with the lock.
void Broker::UseSlot(const CellPtr& cell, ReadySlot slot) {
  cell->ready.push_back(std::move(slot));
  if (!cell->waiting.empty()) {
    ReadySlot first = std::move(cell->ready.front());
    cell->ready.pop_front();
    const auto session = cell->waiting.front();
    cell->waiting.pop_front();
    StartInSlot(cell, std::move(first), session);
  }
  LetSlotsGo(cell.get(), Clock::now());
  WantSlots(cell.get());
}

// Called with the lock. Slots beyond what an idle cell keeps: closing one's sockets ends it. Not
// while a command runs, for which cell-init would hold the mounts of each.
void Broker::LetSlotsGo(Cell* cell, Clock::time_point now) {
  const bool on_host = cell->compiled.unconfined;
  if (!cell->running.empty() && !on_host) return;
  const size_t most = on_host ? 0 : kReadySlots + (now < cell->busy_until ? 1 : 0);
  while (cell->ready.size() > most) cell->ready.pop_front();
}

// Called with the lock. Gone says when nothing of the cell is left.
void Broker::EndSingleUse(Cell* cell) {
  cell->state = CellState::kEnding;
  cell->unused_deadline = Clock::time_point::max();
  // Fails only when who made it is gone, and the cell with it.
  (void)cell->provider->Kill(cell->id, /*purge=*/true);
}

// Called with the lock: commands whose time has passed while they waited for a slot.
std::vector<std::shared_ptr<ExecSession>> Broker::TakeExpired(Cell* cell, Clock::time_point now,
                                                              Clock::time_point* next) {
  std::vector<std::shared_ptr<ExecSession>> expired;
  std::erase_if(cell->waiting, [&](const std::shared_ptr<ExecSession>& session) {
    const Clock::time_point deadline = session->deadline();
    if (deadline > now) {
      *next = std::min(*next, deadline);
      return false;
    }
    cell->runs.Release(session->options().spec.run);
    expired.push_back(session);
    return true;
  });
  return expired;
}

// A command is left that its slot could not end in time: the cell ends, which root can always do.
void Broker::EndOverdue(const CellPtr& cell) {
  const Lock lock(mutex_);
  if (cell->state != CellState::kReady) return;
  cell->failure = Internal("a command did not end when it was killed");
  cell->state = CellState::kEnding;
  (void)cell->provider->Kill(cell->id, /*purge=*/cell->single_use);
}

Clock::time_point Broker::RunDeadlines(Clock::time_point now) {
  std::vector<std::pair<CellPtr, std::shared_ptr<ExecSession>>> sessions;
  Clock::time_point next = Clock::time_point::max();
  {
    const Lock lock(mutex_);
    for (const auto& [id, cell] : cells_) {
      for (const auto& [slot, running] : cell->running) {
        sessions.emplace_back(cell, running.session);
      }
      for (auto& expired : TakeExpired(cell.get(), now, &next)) {
        sessions.emplace_back(cell, std::move(expired));
      }
      if (cell->unused_deadline <= now) EndSingleUse(cell.get());
      next = std::min(next, cell->unused_deadline);
      LetSlotsGo(cell.get(), now);
      if (now < cell->busy_until) next = std::min(next, cell->busy_until);
    }
  }
  for (const auto& [cell, session] : sessions) {
    session->OnDeadline(now);
    if (session->TakeOverdue(now)) EndOverdue(cell);
    next = std::min(next, session->deadline());
  }
  return next;
}

Status Broker::Run() {
  return loop_.Run([this](Clock::time_point now) { return RunDeadlines(now); });
}

}  // namespace odyssey::supervisor
