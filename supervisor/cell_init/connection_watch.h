#ifndef ODYSSEY_SUPERVISOR_CELL_INIT_CONNECTION_WATCH_H_
#define ODYSSEY_SUPERVISOR_CELL_INIT_CONNECTION_WATCH_H_

// Connections of TCP that wait to be accepted. Until then no control group counts what the kernel
// keeps of them, and they need no process: the client may have closed its end. They cannot be kept
// within a number, since the kernel notifies of none, so cell-init looks from time to time, from
// when a command listens (ADR 0034). A listener goes from command to command by SCM_RIGHTS, so the
// watch is of the cell and not of a slot.

#include <chrono>
#include <cstdint>

#include "common/os/unique_fd.h"

namespace odyssey::cell_init {

class ConnectionWatch final {
 public:
  static constexpr int kBetweenLooksMs = 250;

  // Of the caller's network namespace, and in it of sockets of the caller's uid.
  ConnectionWatch();

  // Readable when there is something to Receive; what slots need for BeginListening.
  int fd() const { return commands_.get(); }
  void Receive();

  // For poll(2): how long until the next look; -1 without a watch. Other work does not put it off.
  int TimeoutMs() const;

  // When it is time for a look, and more wait than cell::kMaxWaitingConnections; a table that
  // cannot be read counts as too many. Ends the watch when no socket listens or is about to.
  bool IsTooMuch();

 private:
  UniqueFd commands_;  // eventfd
  uint64_t listening_ = 0;
  bool watching_ = false;
  std::chrono::steady_clock::time_point next_look_;
};

// A slot tells the watch behind `watch` that its command listens, or is about to; and that no
// process of that command is left.
void BeginListening(int watch);
void EndListening(int watch);

}  // namespace odyssey::cell_init

#endif  // ODYSSEY_SUPERVISOR_CELL_INIT_CONNECTION_WATCH_H_
