#ifndef ODYSSEY_CTL_EXEC_EXEC_PUMP_H_
#define ODYSSEY_CTL_EXEC_EXEC_PUMP_H_

// One command over an Exec or SessionExec stream: stdin in, stdout and stderr out, signals across.
//
// One poll loop: the next answer is received when the output of the last one is written, so that a
// slow terminal holds back the command; stdin is read when the connection has taken what was read
// before, so that a slow command holds back stdin; signals are taken at any time.

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/rpc/stub.h"
#include "ctl/base/terminal_filter.h"
#include "ctl/exec/outcome_report.h"
#include "odyssey/supervisor/v1/supervisor.pb.h"

namespace odyssey::ctl {

using ExecStream = rpc::Stream<supervisor::v1::ExecRequest, supervisor::v1::ExecResponse>;

struct ExecFds {
  int in = 0;
  int out = 1;
  int err = 2;
  int signals = -1;  // a non-blocking signalfd
  // Terminals of the user's own, which the command is not to act on.
  bool clean_out = false;
  bool clean_err = false;
};

class ExecPump final {
 public:
  static constexpr std::chrono::milliseconds kGrace = std::chrono::seconds(10);

  // Signals: SIGWINCH resizes; SIGINT, SIGTERM, SIGQUIT and SIGHUP go to the command. While it
  // waits to be started, or the signal cannot be delivered because the command does not read its
  // stdin, they cancel the call. So does a second SIGINT; and `grace` after SIGTERM or SIGHUP,
  // whose sender does not wait for ever.
  // `stream` is of a call that has just been made, and outlives the pump.
  ExecPump(ExecStream* stream, ExecFds fds, std::chrono::milliseconds grace = kGrace);

  // Runs the command to its end and the stream with it. `started` is called once there is a
  // command; `explain` words an RPC failure. Where output is cleaned, colours end with it.
  ExitReport Run(const supervisor::v1::ExecStart& start, const std::function<void()>& started,
                 const std::function<ExitReport(const Status&)>& explain);

  // After Run: what confinement refused, and how many those are with what was not sent.
  const std::vector<supervisor::v1::Denial>& denials() const { return denials_; }
  uint32_t denial_count() const { return outcome_ ? outcome_->denials() : 0; }

  // After Run, if the command came to an end.
  const std::optional<supervisor::v1::ExecOutcome>& outcome() const { return outcome_; }

 private:
  using Clock = std::chrono::steady_clock;

  // Waits for what can be done next, and does it.
  void Step(const std::function<void()>& started);
  // Receives until there is output to write.
  void TakeAnswers(const std::function<void()>& started);
  bool IsOver() const;
  // Reads stdin once and sends it, or its end.
  void SendStdin();
  void Show(const supervisor::v1::ExecOutput& output);
  void WritePending();
  void OnSignal(int signal);
  void CancelBy(int signal);
  // Cancels what was given time that is over.
  void CancelIfDue();
  int TimeoutMs() const;
  ExitReport Conclude(const std::string& command,
                      const std::function<ExitReport(const Status&)>& explain) const;

  // A signal's, until its time is over.
  struct Patience {
    Clock::time_point until;
    int signal;
  };

  rpc::H2Call* const call_;
  const ExecFds fds_;
  const std::chrono::milliseconds grace_;

  bool started_ = false;
  bool in_open_ = true;
  std::string pending_;  // output, for pending_fd_
  int pending_fd_ = -1;
  int interrupts_ = 0;
  std::optional<Patience> to_deliver_;  // until the connection has taken it
  std::optional<Patience> to_end_;      // until the command has ended
  int cancelled_by_ = 0;                // a signal
  int write_error_ = 0;                 // errno of stdout or stderr
  TerminalFilter out_filter_, err_filter_;
  std::vector<supervisor::v1::Denial> denials_;
  std::optional<supervisor::v1::ExecOutcome> outcome_;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_EXEC_EXEC_PUMP_H_
