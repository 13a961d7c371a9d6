#ifndef ODYSSEY_SUPERVISOR_RPC_SLOT_POOL_H_
#define ODYSSEY_SUPERVISOR_RPC_SLOT_POOL_H_

// The slots of one cell, which cell-init makes when it is asked: those that are ready, the commands
// that run in them, and the commands that wait for one. For the loop's thread alone.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/os/unique_fd.h"
#include "supervisor/rpc/event_loop.h"
#include "supervisor/rpc/exec.h"

namespace odyssey::supervisor {

class SlotPool final {
 public:
  using ExecPtr = std::shared_ptr<Exec>;
  struct Slot {
    uint64_t number = 0;
    UniqueFd exec, control;
  };

  // `loop` is borrowed. `on_host`: each slot is granted when it is made, so none is made ahead.
  SlotPool(EventLoop* loop, bool on_host) : loop_(loop), on_host_(on_host) {}
  ~SlotPool() { Close(); }
  SlotPool(const SlotPool&) = delete;
  SlotPool& operator=(const SlotPool&) = delete;

  // `cell` is cell-init's socket, borrowed until Close. A confined cell is asked for its first
  // slot.
  void Open(int cell);
  // Every process of the cell is dead. The commands that ran or waited.
  std::vector<ExecPtr> Close();

  // Runs the command now, or when there is a slot for it.
  void Run(const ExecPtr& exec);
  // The command does not wait for a slot any more.
  void Remove(const Exec* exec);

  // The cell is to end: it is asked for nothing more.
  void Stop() { cell_ = -1; }

  // The cell's processes are frozen, or run again: the time in between counts against no deadline.
  void Pause();
  void Resume();

  // Events. First the command whose slot this was, if it was one's: its every process is dead.
  ExecPtr TakeEnded(uint64_t slot);
  // Then: the slot is ready. `made`: it is a new one.
  void Offer(Slot slot, bool made);
  // Or: the slot is gone.
  void OnGone(uint64_t slot);
  // cell-init could not make a slot. The command that must fail, unless one runs whose end may make
  // room.
  ExecPtr OnError();

  // Of a command that runs or waits here.
  void Watch(Exec* exec, int fd, Exec::Source source, bool writable);
  void SetTimer(Exec* exec);

  // The command of this id that runs or waits here; null: none, or it has its outcome.
  ExecPtr Find(const std::string& exec_id) const;

  size_t running() const { return running_.size(); }
  bool busy() const { return !running_.empty() || !waiting_.empty(); }
  // Every command has its outcome, and of one the slot is not free yet.
  bool finishing() const;

 private:
  static constexpr auto kNotPaused = Clock::time_point::max();
  struct Ids {
    uint64_t group = 0;
    uint64_t timer = EventLoop::kNoTimer;
  };

  void Start(Slot slot, const ExecPtr& exec);
  void Forget(const Exec* exec);
  void Want();
  void ReleaseMounts();
  void Trim();
  void TrimLater();

  EventLoop* const loop_;
  const bool on_host_;
  int cell_ = -1;
  std::deque<Slot> ready_;
  uint32_t wanted_ = 0;  // asked for, not yet here
  std::deque<ExecPtr> waiting_;
  std::map<uint64_t, ExecPtr> running_;  // by slot
  std::unordered_map<const Exec*, Ids> ids_;
  std::vector<uint64_t> gone_;  // slots whose mounts cell-init still holds
  Clock::time_point paused_ = kNotPaused;
  Clock::time_point busy_until_ = Clock::time_point::min();
  uint64_t trim_timer_ = EventLoop::kNoTimer;
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_SLOT_POOL_H_
