#include "ctl/exec/exec_pump.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/signal_fd.h"
#include "ctl/base/terminal.h"

namespace odyssey::ctl {
namespace {

using supervisor::v1::ExecOutput;
using supervisor::v1::ExecRequest;
using supervisor::v1::ExecResponse;

constexpr size_t kStdinChunk = 256 * 1024;
constexpr std::chrono::milliseconds kDeliverSignalWithin{500};

// How much can be written to `fd` without waiting when poll says that it takes some: a pipe has
// room for PIPE_BUF then, and a regular file for everything.
size_t MostAtOnce(int fd) {
  struct stat info {};
  return fstat(fd, &info) == 0 && S_ISREG(info.st_mode) ? SSIZE_MAX : PIPE_BUF;
}

// All bytes, whether or not `fd` blocks. Returns an errno, 0 if all went out.
int WriteFully(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n >= 0) {
      bytes.remove_prefix(static_cast<size_t>(n));
    } else if (errno == EAGAIN) {
      pollfd polled = {fd, POLLOUT, 0};
      poll(&polled, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

}  // namespace

ExecPump::ExecPump(ExecStream* stream, ExecFds fds, std::chrono::milliseconds grace)
    : call_(stream->call()), fds_(fds), grace_(grace) {}

ExitReport ExecPump::Run(const supervisor::v1::ExecStart& start,
                         const std::function<void()>& started,
                         const std::function<ExitReport(const Status&)>& explain) {
  ExecRequest request;
  *request.mutable_start() = start;
  call_->Send(request);
  while (!IsOver()) Step(started);
  if (write_error_ == 0) write_error_ = WriteFully(fds_.out, out_filter_.Finish());
  if (write_error_ == 0) write_error_ = WriteFully(fds_.err, err_filter_.Finish());
  call_->Cancel();  // unless it is done
  return Conclude(start.argv_size() > 0 ? start.argv(0) : std::string(), explain);
}

bool ExecPump::IsOver() const {
  const bool all_shown = call_->done() && pending_.empty() && !call_->HasMessage();
  return all_shown || write_error_ != 0 || cancelled_by_ != 0;
}

void ExecPump::Step(const std::function<void()>& started) {
  pollfd polled[] = {call_->channel().Polled(),
                     {fds_.signals, POLLIN, 0},
                     {-1, POLLIN, 0},
                     {pending_.empty() ? -1 : pending_fd_, POLLOUT, 0}};
  if (in_open_ && call_->sent() && !call_->done()) polled[2].fd = fds_.in;
  // Sending may have shown that the connection is lost.
  poll(polled, std::size(polled), IsOver() ? 0 : TimeoutMs());
  call_->channel().Pump();
  if (polled[3].revents != 0) WritePending();
  TakeAnswers(started);
  if (polled[1].revents != 0) OnSignal(TakeSignal(fds_.signals));
  if (polled[2].revents != 0) SendStdin();
  CancelIfDue();
}

void ExecPump::TakeAnswers(const std::function<void()>& started) {
  ExecResponse response;
  while (pending_.empty() && call_->Receive(&response)) {
    if (response.has_started()) {
      started();
      started_ = true;
    }
    if (response.has_output()) Show(response.output());
    if (response.has_denial()) denials_.push_back(std::move(*response.mutable_denial()));
    if (response.has_outcome()) outcome_ = std::move(*response.mutable_outcome());
  }
}

void ExecPump::Show(const ExecOutput& output) {
  const bool err = output.stream() == supervisor::v1::OUTPUT_STREAM_STDERR;
  const bool clean = err ? fds_.clean_err : fds_.clean_out;
  pending_fd_ = err ? fds_.err : fds_.out;
  pending_ = clean ? (err ? err_filter_ : out_filter_).Pass(output.data()) : output.data();
}

void ExecPump::WritePending() {
  const size_t most = std::min(pending_.size(), MostAtOnce(pending_fd_));
  const ssize_t n = write(pending_fd_, pending_.data(), most);
  if (n >= 0) {
    pending_.erase(0, static_cast<size_t>(n));
  } else if (errno != EINTR && errno != EAGAIN) {
    // Its reader is gone: the command ends, as it would in a pipeline.
    write_error_ = errno;
  }
}

ExitReport ExecPump::Conclude(const std::string& command,
                              const std::function<ExitReport(const Status&)>& explain) const {
  if (write_error_ == EPIPE) return {kExitSignalBase + SIGPIPE, ""};
  if (write_error_ != 0) return {kExitCannot, ErrnoStatus(write_error_, "write output").message()};
  if (outcome_) return ReportOutcome(*outcome_, command, cancelled_by_);
  if (cancelled_by_ != 0) return {kExitSignalBase + cancelled_by_, ""};
  if (call_->status().ok()) return {kExitCannot, command + ": the stream ended without an outcome"};
  return explain(call_->status());
}

void ExecPump::CancelBy(int signal) {
  cancelled_by_ = signal;
  call_->Cancel();
}

void ExecPump::OnSignal(int signal) {
  if (signal == 0) return;
  ExecRequest request;
  if (signal == SIGWINCH) {
    const TerminalSize size = CurrentTerminalSize();
    request.mutable_resize()->set_rows(size.rows);
    request.mutable_resize()->set_columns(size.columns);
    return call_->Send(request);
  }
  if (!started_ || (signal == SIGINT && interrupts_++ > 0)) return CancelBy(signal);
  request.set_signal(signal);
  call_->Send(request);
  // A command that does not read its stdin blocks the stream, and signals with it.
  if (!to_deliver_) to_deliver_ = {Clock::now() + kDeliverSignalWithin, signal};
  const bool ends = signal == SIGTERM || signal == SIGHUP;
  if (ends && !to_end_) to_end_ = {Clock::now() + grace_, signal};
}

void ExecPump::CancelIfDue() {
  if (call_->sent()) to_deliver_.reset();
  for (const std::optional<Patience>& patience : {to_deliver_, to_end_}) {
    if (patience && patience->until <= Clock::now()) CancelBy(patience->signal);
  }
}

int ExecPump::TimeoutMs() const {
  int64_t least = call_->channel().timeout_ms();
  for (const std::optional<Patience>& patience : {to_deliver_, to_end_}) {
    if (!patience) continue;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(patience->until - Clock::now());
    const int64_t ms = std::max<int64_t>(left.count(), 0);
    least = least < 0 ? ms : std::min(least, ms);
  }
  return static_cast<int>(least);
}

void ExecPump::SendStdin() {
  std::string buffer(kStdinChunk, '\0');
  const ssize_t n = read(fds_.in, buffer.data(), buffer.size());
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  ExecRequest request;
  if (n <= 0) {
    in_open_ = false;
    request.set_stdin_eof(true);
  } else {
    buffer.resize(static_cast<size_t>(n));
    request.set_stdin(std::move(buffer));
  }
  call_->Send(request);
}

}  // namespace odyssey::ctl
