#ifndef ODYSSEY_CTL_BASE_SIGNAL_FD_H_
#define ODYSSEY_CTL_BASE_SIGNAL_FD_H_

// Signals as something that a poll loop waits for.

#include <vector>

#include "common/os/unique_fd.h"

namespace odyssey::ctl {

// A non-blocking signalfd. The signals stay blocked in this thread, and in those it starts later.
UniqueFd MakeSignalFd(const std::vector<int>& signals);

// The next signal of a signalfd; 0: none has come.
int TakeSignal(int fd);

// One of `signals` that has come and was not taken; 0: none. They are blocked.
int PendingSignal(const std::vector<int>& signals);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_BASE_SIGNAL_FD_H_
