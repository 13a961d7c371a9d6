#ifndef ODYSSEY_SUPERVISOR_RPC_EXEC_SESSION_H_
#define ODYSSEY_SUPERVISOR_RPC_EXEC_SESSION_H_

// One command in a cell, from its start to its outcome: pipes, caps, deadlines, signals. Knows
// nothing of gRPC; its sink does. Thread-safe: events come from the broker's loop, input and write
// completions from gRPC's threads.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "common/os/message_socket.h"
#include "common/os/unique_fd.h"
#include "policy/explain/denial.h"
#include "policy/plan/cell_wire.h"
#include "supervisor/rpc/event_loop.h"
#include "supervisor/rpc/input_stream.h"
#include "supervisor/rpc/outcome.h"
#include "supervisor/rpc/output_stream.h"

namespace odyssey::supervisor {

enum class Stream { kStdout, kStderr };

// Where a session's output goes. Called with the session's lock held: must not call back into it.
class ExecSink {
 public:
  virtual ~ExecSink() = default;
  // The buffer for the next piece of output; nullptr while the last one is still being sent: then
  // the sink calls ExecSession::Continue once it is.
  virtual std::string* BeginOutput() = 0;
  // Sends what BeginOutput's buffer holds now.
  virtual void SendOutput(Stream stream) = 0;
  // After all output, once BeginOutput has a buffer: what was refused.
  virtual void SendDenial(const explain::Denial& denial) = 0;
  // The last call.
  virtual void SendOutcome(const Outcome& outcome) = 0;
  // The input given by WriteStdin has been taken: the next may come.
  virtual void StdinTaken() = 0;
};

struct ExecOptions {
  std::string exec_id;
  cell::ExecSpec spec;
  bool open_stdin = false;
  uint32_t wall_clock_ms = 0;  // 0 = unlimited
  uint64_t memory_bytes = 0;   // of the cell; 0 = not known
  uint64_t stdout_cap = 0;     // bytes; 0 = unlimited
  uint64_t stderr_cap = 0;
  bool keep_output = false;  // what a cap cuts off goes to the run's outbox
  bool stays = false;        // the client wants more of a single-use cell: it named a run
};

class ExecSession final {
 public:
  // Which of a session's descriptors an event is about.
  enum class Source : uint8_t { kStdout, kStderr, kStdin, kControl, kExec };
  // Watches a descriptor, edge-triggered, and reports with (session, source). Called again for the
  // same descriptor: reports once more if there is something to report.
  using Watch = std::function<void(int fd, Source source, bool writable)>;
  // Asks what the kernel has counted of the cell since it was asked last; answers by SetUsage.
  using AskUsage = std::function<void()>;
  // Has OnDeadline called then. With the session's lock held.
  using WakeAt = std::function<void(Clock::time_point)>;
  // Where the whole of a stream goes that its cap cuts. Called with the session's lock held.
  using MakeCopy = std::function<std::shared_ptr<RunOutput>(Stream)>;

  // What the end of the command means, from the outcome, to which it adds, and the last words on
  // stderr: the denials to send. Called once, when nothing of the command is left, with the
  // session's lock held, and the caller's of Start when it ends there.
  using Conclude = std::function<std::vector<explain::Denial>(
      const ExecOptions& options, Outcome* outcome, std::string_view stderr_tail)>;

  ExecSession(ExecOptions options, ExecSink* sink);

  // Before Start.
  void KeepOutput(const MakeCopy& make_copy);
  void AtEnd(Conclude conclude);
  // There is no slot for it yet: its wall clock runs all the same, until then.
  void AwaitSlot();
  // Hands the command to a slot. The functions stay valid as long as the session.
  void Start(UniqueFd exec_socket, UniqueFd control_socket, Watch watch, AskUsage ask_usage,
             WakeAt wake_at);
  // The command cannot start at all; with EAGAIN for want of a process.
  void Fail(const std::string& message, int error);

  // Events, from the broker's loop.
  void OnReady(Source source);
  void OnSlotGone();                   // every process of it is dead
  void OnCellGone(const Status& why);  // likewise, and the cell too; not ok
  void SetUsage(uint64_t oom_kills, uint64_t pids_refused);
  // Acts on the deadlines that have passed.
  void OnDeadline(Clock::time_point now);
  // The next time OnDeadline is needed; time_point::max() for never.
  Clock::time_point deadline() const;
  // True, once, if the command was killed or has exited, and its slot has still not said that every
  // process of it is dead: it is up to whoever can end the cell.
  bool TakeOverdue(Clock::time_point now);

  // From the client.
  void WriteStdin(std::string data);  // one at a time: see ExecSink::StdinTaken
  void CloseStdin();
  void Resize(uint16_t rows, uint16_t columns);
  void Signal(int signal);
  void Cancel();
  void Continue();  // the sink can take more
  // The sink is going away; nothing is sent any more and the command is killed.
  void Detach();

  bool finished() const;
  const ExecOptions& options() const { return options_; }

 private:
  Status SendSpec(Watch& watch);
  void Pump();
  bool PumpOutput(OutputStream* output, Stream stream);
  void PumpStdin();
  void ReadControl();
  void ReadExecSocket();
  void ReadLastWords();
  void TakeTerminal(UniqueFd master);
  void Kill();
  void MustEndSoon();
  Status SendControl(const std::string& bytes);
  void SendSignal(int signal);
  bool MayHaveReachedALimit() const;
  void AskUsageOnce();
  bool Complete();
  void KeepTail(std::string_view bytes);
  void End();
  Outcome MakeOutcome() const;
  void SetEnd(Outcome* outcome) const;

  mutable std::mutex mutex_;
  const ExecOptions options_;
  ExecSink* sink_;
  Watch watch_;
  AskUsage ask_usage_;
  WakeAt wake_at_;
  Conclude conclude_;
  UniqueFd exec_socket_, control_;
  std::vector<int> early_signals_;
  InputStream stdin_;
  OutputStream stdout_, stderr_;
  bool exited_ = false;  // ExecExited arrived
  bool gone_ = false;    // nothing of the command is left
  bool timed_out_ = false, cancelled_ = false, killed_ = false;
  bool waiting_ = false;  // for a slot
  bool usage_asked_ = false, usage_known_ = false;
  bool ended_ = false;  // outcome_ and denials_ are set
  bool outcome_sent_ = false;
  uint64_t oom_kills_ = 0, pids_refused_ = 0;
  bool oom_killed_ = false;  // the command itself
  cell::ExecExited exit_;
  cell::ExecError exec_error_;
  bool exec_failed_ = false, never_forked_ = false;
  std::string failure_;
  bool cell_ended_ = false;  // while the command ran
  Clock::time_point started_;
  Clock::time_point deadline_ = Clock::time_point::max();
  Clock::time_point end_by_ = Clock::time_point::max();  // of all its processes
  uint64_t duration_usec_ = 0;
  std::string stderr_tail_;
  Outcome outcome_;
  std::vector<explain::Denial> denials_;
  size_t denials_sent_ = 0;
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_EXEC_SESSION_H_
