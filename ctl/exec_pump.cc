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

void Add(int event_fd) {
  const uint64_t one = 1;
  ODY_CHECK(write(event_fd, &one, sizeof(one)) == sizeof(one));
}

}  // namespace

ExecPump::ExecPump(ExecStream* stream, grpc::ClientContext* context, ExecFds fds,
                   std::chrono::milliseconds grace)
    : stream_(stream),
      context_(context),
      fds_(fds),
      grace_(grace),
      stop_(eventfd(0, EFD_CLOEXEC)),
      wake_(eventfd(0, EFD_CLOEXEC)) {
  ODY_CHECK(stop_ && wake_);
}

ExitReport ExecPump::Run(const supervisor::v1::ExecStart& start,
                         const std::function<void()>& started,
                         const std::function<ExitReport(const grpc::Status&)>& explain) {
  ExecRequest request;
  *request.mutable_start() = start;
  std::thread sender;
  if (stream_->Write(request)) sender = std::thread([this] { SendLoop(); });

  ExecResponse response;
  while (stream_->Read(&response)) {
    if (response.has_started()) {
      started();
      started_ = true;
    }
    if (response.has_output()) WriteOut(response.output());
    if (response.has_denial()) denials_.push_back(std::move(*response.mutable_denial()));
    if (response.has_outcome()) outcome_ = std::move(*response.mutable_outcome());
  }
  Write(fds_.out, out_filter_.Finish());
  Write(fds_.err, err_filter_.Finish());
  Add(stop_.get());
  if (sender.joinable()) sender.join();
  const std::string command = start.argv_size() > 0 ? start.argv(0) : std::string();
  return Conclude(stream_->Finish(), command, explain);
}

void ExecPump::WriteOut(const ExecOutput& output) {
  const bool err = output.stream() == supervisor::v1::OUTPUT_STREAM_STDERR;
  const int fd = err ? fds_.err : fds_.out;
  if (!(err ? fds_.clean_err : fds_.clean_out)) return Write(fd, output.data());
  Write(fd, (err ? err_filter_ : out_filter_).Pass(output.data()));
}

void ExecPump::Write(int fd, std::string_view bytes) {
  if (write_error_ != 0) return;
  write_error_ = WriteFully(fd, bytes);
  // Nobody reads any more: the command ends, as it would in a pipeline.
  if (write_error_ != 0) context_->TryCancel();
}

ExitReport ExecPump::Conclude(const grpc::Status& status, const std::string& command,
                              const std::function<ExitReport(const grpc::Status&)>& explain) const {
  if (write_error_ == EPIPE) return {kExitSignalBase + SIGPIPE, ""};
  if (write_error_ != 0) return {kExitCannot, ErrnoStatus(write_error_, "write output").message()};
  if (outcome_) return ReportOutcome(*outcome_, command, cancelled_by_);
  if (cancelled_by_ != 0) return {kExitSignalBase + cancelled_by_, ""};
  if (status.ok()) return {kExitCannot, command + ": the stream ended without an outcome"};
  return explain(status);
}

void ExecPump::OnSignal(int signal) {
  ExecRequest request;
  if (signal == SIGWINCH) {
    const TerminalSize size = CurrentTerminalSize();
    request.mutable_resize()->set_rows(size.rows);
    request.mutable_resize()->set_columns(size.columns);
  } else {
    request.set_signal(signal);
  }
  if (!started_ && signal != SIGWINCH) {
    cancelled_by_ = signal;
    context_->TryCancel();
    return;
  }
  const bool again = signal == SIGINT && interrupts_.fetch_add(1) > 0;

  std::unique_lock<std::mutex> lock(mutex_);
  waiting_.push_back(std::move(request));
  if ((signal == SIGTERM || signal == SIGHUP) && !end_by_) {
    end_by_ = Clock::now() + grace_;
    end_signal_ = signal;
  }
  Add(wake_.get());
  if (signal == SIGWINCH) return;
  // A command that does not read its stdin blocks the stream, and signals with it.
  const bool sent = sent_.wait_for(lock, kDeliverSignalWithin, [this] { return waiting_.empty(); });
  if (again || !sent) {
    cancelled_by_ = signal;
    context_->TryCancel();
  }
}

bool ExecPump::SendWaiting() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!waiting_.empty()) {
    const ExecRequest request = waiting_.front();
    lock.unlock();
    const bool sent = stream_->Write(request);
    lock.lock();
    waiting_.pop_front();
    if (!sent) return false;
  }
  sent_.notify_all();
  return true;
}

bool ExecPump::SendStdin() {
  std::string buffer(kStdinChunk, '\0');
  const ssize_t n = read(fds_.in, buffer.data(), buffer.size());
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  ExecRequest request;
  if (n <= 0) {
    request.set_stdin_eof(true);
  } else {
    buffer.resize(static_cast<size_t>(n));
    request.set_stdin(std::move(buffer));
  }
  return stream_->Write(request) && n > 0;
}

int ExecPump::AwaitEnd() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!end_by_) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*end_by_ - Clock::now());
  if (left.count() > 0) return static_cast<int>(left.count());
  end_by_.reset();
  cancelled_by_ = end_signal_;
  context_->TryCancel();
  return 0;
}

void ExecPump::SendLoop() noexcept {
  pollfd polled[] = {{fds_.in, POLLIN, 0}, {wake_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
  for (;;) {
    if (poll(polled, 3, AwaitEnd()) < 0 && errno == EINTR) continue;
    if (polled[2].revents != 0) return;
    if (polled[1].revents != 0) {
      uint64_t count = 0;
      ODY_CHECK(read(wake_.get(), &count, sizeof(count)) == sizeof(count));
      if (!SendWaiting()) return;
    }
    // Nothing more of stdin: only signals are left to send.
    if (polled[0].revents != 0 && !SendStdin()) polled[0].fd = -1;
  }
}

}  // namespace odyssey::ctl
