#include "ctl/exec_pump.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <string_view>
#include <thread>
#include <utility>

#include "common/base/status.h"
#include "ctl/exit_code.h"
#include "ctl/terminal.h"

namespace odyssey::ctl {
namespace {

using supervisor::v1::ExecOutput;
using supervisor::v1::ExecRequest;
using supervisor::v1::ExecResponse;

constexpr size_t kStdinChunk = 256 * 1024;
constexpr std::chrono::milliseconds kDeliverSignalWithin{500};

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

ExecPump::ExecPump(ExecStream* stream, grpc::ClientContext* context, ExecFds fds)
    : stream_(stream), context_(context), fds_(fds), stop_(eventfd(0, EFD_CLOEXEC)) {
  ODY_CHECK(static_cast<bool>(stop_));
}

ExitReport ExecPump::Run(const supervisor::v1::ExecStart& start,
                         const std::function<std::string(const grpc::Status&)>& explain) {
  ExecRequest request;
  *request.mutable_start() = start;
  std::thread feeder;
  if (Send(request)) feeder = std::thread([this] { FeedStdin(); });

  ExecResponse response;
  while (stream_->Read(&response)) {
    if (response.has_output()) WriteOut(response.output());
    if (response.has_outcome()) outcome_ = std::move(*response.mutable_outcome());
  }
  const uint64_t one = 1;
  ODY_CHECK(write(stop_.get(), &one, sizeof(one)) == sizeof(one));
  if (feeder.joinable()) feeder.join();
  const std::string command = start.argv_size() > 0 ? start.argv(0) : std::string();
  return Conclude(stream_->Finish(), command, explain);
}

void ExecPump::WriteOut(const ExecOutput& output) {
  if (write_error_ != 0) return;
  const int fd = output.stream() == supervisor::v1::OUTPUT_STREAM_STDERR ? fds_.err : fds_.out;
  write_error_ = WriteFully(fd, output.data());
  // Nobody reads any more: the command ends, as it would in a pipeline.
  if (write_error_ != 0) context_->TryCancel();
}

ExitReport ExecPump::Conclude(
    const grpc::Status& status, const std::string& command,
    const std::function<std::string(const grpc::Status&)>& explain) const {
  if (write_error_ == EPIPE) return {kExitSignalBase + SIGPIPE, ""};
  if (write_error_ != 0) return {kExitCannot, ErrnoStatus(write_error_, "write output").message()};
  if (outcome_) return ReportOutcome(*outcome_, command, cancelled_by_);
  if (cancelled_by_ != 0) return {kExitSignalBase + cancelled_by_, ""};
  if (status.ok()) return {kExitCannot, command + ": the stream ended without an outcome"};
  return {kExitCannot, explain(status)};
}

void ExecPump::OnSignal(int signal) {
  ExecRequest request;
  if (signal == SIGWINCH) {
    const TerminalSize size = CurrentTerminalSize();
    request.mutable_resize()->set_rows(size.rows);
    request.mutable_resize()->set_columns(size.columns);
    SendUrgently(request);
    return;
  }
  const bool again = signal == SIGINT && interrupts_.fetch_add(1) > 0;
  request.set_signal(signal);
  if (again || !SendUrgently(request)) {
    cancelled_by_ = signal;
    context_->TryCancel();
  }
}

bool ExecPump::Send(const ExecRequest& request) {
  {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return !sending_ && urgent_waiting_ == 0; });
    sending_ = true;
  }
  const bool sent = stream_->Write(request);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    sending_ = false;
  }
  changed_.notify_all();
  return sent;
}

bool ExecPump::SendUrgently(const ExecRequest& request) {
  {
    std::unique_lock<std::mutex> lock(mutex_);
    ++urgent_waiting_;
    const bool free = changed_.wait_for(lock, kDeliverSignalWithin, [this] { return !sending_; });
    --urgent_waiting_;
    if (!free) return false;
    sending_ = true;
  }
  stream_->Write(request);  // a stream that is over needs no signal
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    sending_ = false;
  }
  changed_.notify_all();
  return true;
}

bool ExecPump::SendStdin(std::string bytes) {
  ExecRequest request;
  if (bytes.empty()) {
    request.set_stdin_eof(true);
  } else {
    request.set_stdin(std::move(bytes));
  }
  return Send(request);
}

void ExecPump::FeedStdin() noexcept {
  pollfd polled[] = {{fds_.in, POLLIN, 0}, {stop_.get(), POLLIN, 0}};
  std::string buffer;
  for (;;) {
    if (poll(polled, 2, -1) < 0 && errno == EINTR) continue;
    if (polled[1].revents != 0) return;
    buffer.resize(kStdinChunk);
    const ssize_t n = read(fds_.in, buffer.data(), buffer.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    buffer.resize(n > 0 ? static_cast<size_t>(n) : 0);
    const bool end = buffer.empty();
    if (!SendStdin(std::move(buffer)) || end) return;
  }
}

}  // namespace odyssey::ctl
