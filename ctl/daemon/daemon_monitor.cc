#include "ctl/daemon/daemon_monitor.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "ctl/base/units.h"

namespace odyssey::ctl {
namespace {

constexpr std::chrono::seconds kReadyTimeout{30};
constexpr std::chrono::hours kIdle{1};

// Everything that a non-blocking pipe holds now.
void ReadInto(int fd, LineBuffer* buffer, const std::function<void(const std::string&)>& line) {
  char bytes[4096];
  for (;;) {
    const ssize_t n = read(fd, bytes, sizeof(bytes));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    buffer->Append(std::string_view(bytes, static_cast<size_t>(n)), line);
  }
}

// A daemon's line without the "<3>" that a journal reads and the name that is put before it anyway.
std::string WithoutPrefix(const std::string& line, const std::string& name) {
  size_t at = line.size() > 2 && line[0] == '<' && line[2] == '>' ? 3 : 0;
  if (line.compare(at, name.size() + 2, name + ": ") == 0) at += name.size() + 2;
  return line.substr(at);
}

}  // namespace

void LineBuffer::Append(std::string_view bytes,
                        const std::function<void(const std::string&)>& line) {
  for (const char c : bytes) {
    if (c != '\n') partial_ += c;
    if (c == '\n' || partial_.size() == kMaxLine) {
      line(partial_);
      partial_.clear();
    }
  }
}

void LineBuffer::Finish(const std::function<void(const std::string&)>& line) {
  if (!partial_.empty()) line(partial_);
  partial_.clear();
}

DaemonMonitor::DaemonMonitor(std::vector<DaemonSpec> specs, int signal_fd, Log log)
    : signal_fd_(signal_fd), log_(std::move(log)) {
  for (DaemonSpec& spec : specs) {
    slots_.push_back(std::make_unique<Slot>());
    slots_.back()->spec = std::move(spec);
  }
}

DaemonMonitor::~DaemonMonitor() = default;

Status DaemonMonitor::Start(Slot* slot) {
  ODY_ASSIGN_OR_RETURN(slot->process, DaemonProcess::Start(slot->spec));
  slot->ready = false;
  return OkStatus();
}

Status DaemonMonitor::StartAll() {
  for (const auto& slot : slots_) {
    ODY_RETURN_IF_ERROR(Start(slot.get()));
    const Clock::time_point deadline = Clock::now() + kReadyTimeout;
    while (!slot->ready) {
      ODY_RETURN_IF_ERROR(Step(deadline));
      if (signalled_) return Cancelled("stopped before the daemons were ready");
      if (!slot->ready && Clock::now() >= deadline) {
        return Unavailable(slot->spec.name + " did not become ready within 30 s");
      }
    }
  }
  return OkStatus();
}

Status DaemonMonitor::Keep() {
  keeping_ = true;
  while (!signalled_) {
    ODY_RETURN_IF_ERROR(Step(NextRestart(Clock::now() + kIdle)));
    ODY_RETURN_IF_ERROR(RestartDue());
  }
  return OkStatus();
}

void DaemonMonitor::StopAll() {
  stopping_ = true;
  signalled_ = false;
  for (auto slot = slots_.rbegin(); slot != slots_.rend(); ++slot) {
    if (!(*slot)->process) continue;
    (*slot)->process->Signal(SIGTERM);
    const Clock::time_point deadline = Clock::now() + (*slot)->spec.stop_timeout;
    while ((*slot)->process && Clock::now() < deadline) {
      // While stopping, a daemon's end is no error.
      ODY_CHECK(Step(deadline).ok());
      if (std::exchange(signalled_, false) && (*slot)->process) (*slot)->process->Signal(SIGTERM);
    }
    if ((*slot)->process) {
      log_((*slot)->spec.name + " did not stop within " +
           std::to_string((*slot)->spec.stop_timeout.count()) + " s; killed");
      (*slot)->process.reset();
    }
  }
}

Status DaemonMonitor::Step(Clock::time_point until) {
  std::vector<pollfd> polled = {{signal_fd_, POLLIN, 0}};
  std::vector<Slot*> owners = {nullptr};
  for (const auto& slot : slots_) {
    if (!slot->process) continue;
    for (const int fd : {slot->process->pidfd(), slot->process->out(), slot->process->err()}) {
      polled.push_back({fd, POLLIN, 0});
      owners.push_back(slot.get());
    }
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
  const int timeout = static_cast<int>(std::clamp<long long>(left, 0, 3'600'000));
  if (poll(polled.data(), polled.size(), timeout) < 0) {
    return errno == EINTR ? OkStatus() : ErrnoStatus(errno, "poll");
  }
  if (polled[0].revents != 0) {
    signalfd_siginfo info;
    signalled_ = read(signal_fd_, &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info));
  }
  for (size_t i = 1; i < polled.size(); i += 3) {
    const bool ended = polled[i].revents != 0;
    if (ended || polled[i + 1].revents != 0 || polled[i + 2].revents != 0) Drain(owners[i]);
    if (ended) ODY_RETURN_IF_ERROR(OnEnd(owners[i]));
  }
  return OkStatus();
}

void DaemonMonitor::Drain(Slot* slot) {
  const auto line = [this, slot](const std::string& text) { OnLine(slot, text); };
  ReadInto(slot->process->err(), &slot->err, line);
  ReadInto(slot->process->out(), &slot->out, [&](const std::string& text) {
    if (text != "ready") return line(text);
    slot->ready = true;
    slot->ready_at = Clock::now();
    if (keeping_) log_(slot->spec.name + " is ready again");
  });
}

void DaemonMonitor::OnLine(Slot* slot, const std::string& line) {
  slot->last_words = WithoutPrefix(line, slot->spec.name);
  log_(slot->spec.name + ": " + slot->last_words);
}

Status DaemonMonitor::OnEnd(Slot* slot) {
  const auto line = [this, slot](const std::string& text) { OnLine(slot, text); };
  slot->err.Finish(line);
  slot->out.Finish(line);
  const std::string how = slot->process->Reap();
  slot->process.reset();
  if (stopping_) return OkStatus();
  if (!keeping_) {
    std::string message =
        slot->spec.name +
        (slot->ready ? " ended right after it was ready: " : " ended before it was ready: ") + how;
    if (!slot->last_words.empty()) message += ": " + slot->last_words;
    return Unavailable(std::move(message));
  }
  return Reschedule(slot, how);
}

Status DaemonMonitor::Reschedule(Slot* slot, const std::string& how) {
  const auto ran = slot->ready ? Clock::now() - slot->ready_at : Clock::duration::zero();
  slot->ready = false;
  const std::optional<uint32_t> delay = slot->policy.OnDeath(
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(ran).count()));
  if (!delay) {
    return Unavailable(slot->spec.name + " died " +
                       std::to_string(RestartPolicy::kMaxFailures + 1) +
                       " times in a row, the last time with " + how);
  }
  log_(slot->spec.name + " died (" + how + "); starting it again in " + FormatDurationMs(*delay));
  slot->restart_at = Clock::now() + std::chrono::milliseconds(*delay);
  return OkStatus();
}

Status DaemonMonitor::RestartDue() {
  for (const auto& slot : slots_) {
    if (slot->process || Clock::now() < slot->restart_at) continue;
    if (const Status status = Start(slot.get()); !status.ok()) {
      ODY_RETURN_IF_ERROR(Reschedule(slot.get(), status.message()));
    }
  }
  return OkStatus();
}

DaemonMonitor::Clock::time_point DaemonMonitor::NextRestart(Clock::time_point until) const {
  for (const auto& slot : slots_) {
    if (!slot->process) until = std::min(until, slot->restart_at);
  }
  return until;
}

}  // namespace odyssey::ctl
