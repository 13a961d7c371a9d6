#include "supervisor/rpc/slot_pool.h"

#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "common/os/message_socket.h"
#include "supervisor/wire/cell_wire.h"

namespace odyssey::supervisor {
namespace {

// Slots kept ready in an idle cell. One: a second would cost every idle cell two more processes
// and help only commands that start within the same millisecond.
constexpr size_t kReadySlots = 1;
// For so long after a command started one slot more is kept than an idle cell has: the next command
// may come while the last one's slot is being emptied, and to make a slot costs as much as to run a
// command.
constexpr auto kBusy = std::chrono::seconds(1);

}  // namespace

void SlotPool::Open(int cell) {
  cell_ = cell;
  if (!on_host_) Want();
}

std::vector<SlotPool::ExecPtr> SlotPool::Close() {
  std::vector<ExecPtr> left;
  for (const auto& [slot, exec] : running_) left.push_back(exec);
  left.insert(left.end(), waiting_.begin(), waiting_.end());
  for (const ExecPtr& exec : left) Forget(exec.get());
  running_.clear();
  waiting_.clear();
  ready_.clear();
  loop_->Cancel(std::exchange(trim_timer_, EventLoop::kNoTimer));
  cell_ = -1;
  return left;
}

void SlotPool::Run(const ExecPtr& exec) {
  if (ready_.empty()) {
    waiting_.push_back(exec);
    ids_[exec.get()] = {};
    exec->Queue();
  } else {
    Slot slot = std::move(ready_.front());
    ready_.pop_front();
    Start(std::move(slot), exec);
  }
  Want();
}

void SlotPool::Start(Slot slot, const ExecPtr& exec) {
  running_[slot.number] = exec;
  ids_[exec.get()].group = loop_->NewGroup();
  busy_until_ = Clock::now() + kBusy;
  TrimLater();
  exec->Start(std::move(slot.exec), std::move(slot.control));
}

bool SlotPool::finishing() const {
  return !running_.empty() && waiting_.empty() &&
         std::all_of(running_.begin(), running_.end(),
                     [](const auto& running) { return running.second->finished(); });
}

void SlotPool::Remove(const Exec* exec) {
  std::erase_if(waiting_, [exec](const ExecPtr& other) { return other.get() == exec; });
  Forget(exec);
}

void SlotPool::Forget(const Exec* exec) {
  const auto node = ids_.extract(exec);
  if (node.empty()) return;
  loop_->Forget(node.mapped().group);
  loop_->Cancel(node.mapped().timer);
}

SlotPool::ExecPtr SlotPool::TakeEnded(uint64_t slot) {
  auto node = running_.extract(slot);
  if (node.empty()) return nullptr;
  Forget(node.mapped().get());
  return std::move(node.mapped());
}

void SlotPool::Offer(Slot slot, bool made) {
  if (made && wanted_ > 0) --wanted_;
  ReleaseMounts();
  ready_.push_back(std::move(slot));
  if (!waiting_.empty()) {
    Slot first = std::move(ready_.front());
    ready_.pop_front();
    const ExecPtr exec = std::move(waiting_.front());
    waiting_.pop_front();
    Start(std::move(first), exec);
  }
  Trim();
  Want();
}

// A slot may die before it is used, killed for memory for example: another takes its place.
void SlotPool::OnGone(uint64_t slot) {
  std::erase_if(ready_, [slot](const Slot& ready) { return ready.number == slot; });
  if (!on_host_) gone_.push_back(slot);
  ReleaseMounts();
  Want();
}

SlotPool::ExecPtr SlotPool::OnError() {
  if (wanted_ > 0) --wanted_;
  if (!running_.empty() || waiting_.empty()) return nullptr;
  ExecPtr exec = std::move(waiting_.front());
  waiting_.pop_front();
  Forget(exec.get());
  return exec;
}

void SlotPool::Watch(Exec* exec, int fd, Exec::Source source, bool writable) {
  const auto ids = ids_.find(exec);
  if (ids == ids_.end()) return;
  const auto when = writable ? EventLoop::When::kWritableEdge : EventLoop::When::kReadableEdge;
  loop_->Watch(ids->second.group, static_cast<unsigned>(source), fd, when,
               [exec = exec->shared_from_this(), source] { exec->OnReady(source); });
}

void SlotPool::SetTimer(Exec* exec) {
  const auto ids = ids_.find(exec);
  if (ids == ids_.end()) return;
  loop_->Cancel(std::exchange(ids->second.timer, EventLoop::kNoTimer));
  if (paused_ != kNotPaused) return;
  ids->second.timer = loop_->At(
      exec->deadline(), [exec = exec->shared_from_this()] { exec->OnDeadline(Clock::now()); });
}

void SlotPool::Pause() {
  if (paused_ == kNotPaused) paused_ = Clock::now();
  for (auto& [exec, ids] : ids_) loop_->Cancel(std::exchange(ids.timer, EventLoop::kNoTimer));
}

void SlotPool::Resume() {
  if (paused_ == kNotPaused) return;
  const Clock::duration pause = Clock::now() - std::exchange(paused_, kNotPaused);
  for (const ExecPtr& exec : waiting_) exec->Delay(pause);
  for (const auto& [slot, exec] : running_) exec->Delay(pause);
}

SlotPool::ExecPtr SlotPool::Find(const std::string& exec_id) const {
  for (const ExecPtr& exec : waiting_) {
    if (exec->options().exec_id == exec_id) return exec;
  }
  for (const auto& [slot, exec] : running_) {
    if (exec->options().exec_id == exec_id && !exec->finished()) return exec;
  }
  return nullptr;
}

// For the commands that wait; without any, a running command's slot comes back.
void SlotPool::Want() {
  const size_t ahead = running_.empty() && !on_host_ ? kReadySlots : 0;
  const size_t needed = waiting_.size() + ahead;
  const std::string want = cell::EncodeEmpty(cell::MessageType::kWantSlot);
  while (ready_.size() + wanted_ < needed) {
    if (cell_ < 0 || !SendMessage(cell_, want, {}, MSG_DONTWAIT).ok()) return;
    ++wanted_;
  }
}

// cell-init holds the mounts of slots that are gone while a command lives (Slot::mounts); when none
// does, the message that it sent goes back to it.
void SlotPool::ReleaseMounts() {
  if (!running_.empty() || cell_ < 0) return;
  std::erase_if(gone_, [this](uint64_t slot) {
    const std::string gone = cell::Encode(cell::SlotGone{.slot = slot});
    return SendMessage(cell_, gone, {}, MSG_DONTWAIT).ok();
  });
}

// Ends slots beyond what an idle cell keeps: closing a slot's sockets ends it. Not while a command
// runs, for which cell-init would hold the mounts of each.
void SlotPool::Trim() {
  if (!running_.empty() && !on_host_) return;
  const bool idle = Clock::now() >= busy_until_;
  const size_t most = on_host_ ? 0 : kReadySlots + (idle ? 0 : 1);
  while (ready_.size() > most) ready_.pop_front();
}

void SlotPool::TrimLater() {
  if (trim_timer_ != EventLoop::kNoTimer) return;
  trim_timer_ = loop_->At(busy_until_, [this] {
    trim_timer_ = EventLoop::kNoTimer;
    if (Clock::now() < busy_until_) return TrimLater();
    Trim();
  });
}

}  // namespace odyssey::supervisor
