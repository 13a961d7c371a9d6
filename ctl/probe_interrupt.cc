#include "ctl/probe_interrupt.h"

#include <signal.h>

#include <vector>

namespace odyssey::ctl {
namespace {

const std::vector<int>& StopSignals() {
  static const std::vector<int> signals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
  return signals;
}

}  // namespace

ProbeInterrupt::ProbeInterrupt() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : StopSignals()) sigaddset(&set, signal);
  sigprocmask(SIG_BLOCK, &set, nullptr);
}

void ProbeInterrupt::Watch() {
  watch_.emplace(StopSignals(), [this](int signal) { OnSignal(signal); });
}

int ProbeInterrupt::signal() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return signal_;
}

void ProbeInterrupt::OnSignal(int signal) {
  const std::lock_guard<std::mutex> lock(mutex_);
  signal_ = signal;
  for (grpc::ClientContext* call : calls_) call->TryCancel();
}

ProbeInterrupt::Call::Call(ProbeInterrupt* interrupt, grpc::ClientContext* context)
    : interrupt_(interrupt), context_(context) {
  const std::lock_guard<std::mutex> lock(interrupt_->mutex_);
  interrupt_->calls_.insert(context_);
  if (interrupt_->signal_ != 0) context_->TryCancel();
}

ProbeInterrupt::Call::~Call() {
  const std::lock_guard<std::mutex> lock(interrupt_->mutex_);
  interrupt_->calls_.erase(context_);
}

}  // namespace odyssey::ctl
