#include "ctl/doctor/probe_interrupt.h"

#include <signal.h>

#include <vector>

#include "ctl/base/signal_fd.h"

namespace odyssey::ctl {
namespace {

const std::vector<int>& StopSignals() {
  static const std::vector<int> signals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
  return signals;
}

}  // namespace

ProbeInterrupt::ProbeInterrupt() : signals_(MakeSignalFd(StopSignals())) {}

int ProbeInterrupt::signal() const { return PendingSignal(StopSignals()); }

}  // namespace odyssey::ctl
