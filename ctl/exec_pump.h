#ifndef ODYSSEY_CTL_EXEC_PUMP_H_
#define ODYSSEY_CTL_EXEC_PUMP_H_

// One command over an Exec or SessionExec stream: stdin in, stdout and stderr out, signals across.
//
// Three threads: the caller's reads answers and writes output, so that a slow terminal holds back
// the command; one feeds stdin, so that a slow command holds back stdin; the signal watch's sends
// signals.

#include <grpcpp/client_context.h>
#include <grpcpp/support/sync_stream.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/os/unique_fd.h"
#include "ctl/outcome_report.h"
#include "ctl/terminal_filter.h"
#include "odyssey/supervisor/v1/supervisor.pb.h"

namespace odyssey::ctl {

using ExecStream =
    grpc::ClientReaderWriterInterface<supervisor::v1::ExecRequest, supervisor::v1::ExecResponse>;

struct ExecFds {
  int in = 0;
  int out = 1;
  int err = 2;
  // Terminals of the user's own, which the command is not to act on.
  bool clean_out = false;
  bool clean_err = false;
};

class ExecPump final {
 public:
  static constexpr std::chrono::milliseconds kGrace = std::chrono::seconds(10);

  // `stream` and `context` are of one call that has just been made, and outlive the pump.
  ExecPump(ExecStream* stream, grpc::ClientContext* context, ExecFds fds,
           std::chrono::milliseconds grace = kGrace);

  // Runs the command to its end and the stream with it. `started` is called once there is a
  // command; `explain` words an RPC failure. Where output is cleaned, colours end with it.
  ExitReport Run(const supervisor::v1::ExecStart& start, const std::function<void()>& started,
                 const std::function<ExitReport(const grpc::Status&)>& explain);

  // After Run: what confinement refused, and how many those are with what was not sent.
  const std::vector<supervisor::v1::Denial>& denials() const { return denials_; }
  uint32_t denial_count() const { return outcome_ ? outcome_->denials() : 0; }

  // After Run, if the command came to an end.
  const std::optional<supervisor::v1::ExecOutcome>& outcome() const { return outcome_; }

  // From any thread, while Run runs. SIGWINCH resizes; SIGINT, SIGTERM, SIGQUIT and SIGHUP go to
  // the command. While it waits to be started, or the signal cannot be delivered because the
  // command does not read its stdin, they cancel the call. So does a second SIGINT; and `grace`
  // after SIGTERM or SIGHUP, since who sends those does not wait for ever.
  void OnSignal(int signal);

 private:
  using Clock = std::chrono::steady_clock;

  void SendLoop() noexcept;
  // Until the grace after a signal is over, for poll: -1 without one. 0 if it is: then the call has
  // been cancelled.
  int AwaitEnd();
  // Reads stdin once and sends it, or its end. False when nothing more is to be read.
  bool SendStdin();
  // Sends what OnSignal left. False if the stream is over.
  bool SendWaiting();
  void WriteOut(const supervisor::v1::ExecOutput& output);
  void Write(int fd, std::string_view bytes);
  ExitReport Conclude(const grpc::Status& status, const std::string& command,
                      const std::function<ExitReport(const grpc::Status&)>& explain) const;

  ExecStream* const stream_;
  grpc::ClientContext* const context_;
  const ExecFds fds_;
  const std::chrono::milliseconds grace_;
  UniqueFd stop_;

  UniqueFd wake_;  // eventfd: `waiting_` has something

  std::mutex mutex_;
  std::condition_variable sent_;
  std::deque<supervisor::v1::ExecRequest> waiting_;
  std::optional<Clock::time_point> end_by_;
  int end_signal_ = 0;

  std::atomic<bool> started_ = false;
  std::atomic<int> interrupts_ = 0;
  std::atomic<int> cancelled_by_ = 0;  // a signal
  int write_error_ = 0;                // errno of stdout or stderr
  TerminalFilter out_filter_, err_filter_;
  std::vector<supervisor::v1::Denial> denials_;
  std::optional<supervisor::v1::ExecOutcome> outcome_;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_EXEC_PUMP_H_
