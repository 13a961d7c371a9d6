#ifndef ODYSSEY_SUPERVISOR_RPC_EXEC_H_
#define ODYSSEY_SUPERVISOR_RPC_EXEC_H_

// One command in a cell, from its request to its outcome: pipes, caps, deadlines, signals. Knows
// nothing of gRPC; its sink does. For the loop's thread alone.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/os/message_socket.h"
#include "common/os/unique_fd.h"
#include "policy/explain/denial.h"
#include "supervisor/rpc/event_loop.h"
#include "supervisor/rpc/input_stream.h"
#include "supervisor/rpc/outcome.h"
#include "supervisor/rpc/output_stream.h"
#include "supervisor/wire/cell_wire.h"

namespace odyssey::supervisor {

enum class Stream { kStdout, kStderr };

// Where a command's output goes. Must not call back into the command while it is called.
class ExecSink {
 public:
  virtual ~ExecSink() = default;
  // The buffer for the next piece of output; nullptr while the last one is still being sent: then
  // the sink calls Exec::Continue once it is.
  virtual std::string* BeginOutput() = 0;
  // Sends what BeginOutput's buffer holds now. Nothing: the end of a connection's stdout.
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

class Exec;

// What a command needs of its cell.
class ExecHost {
 public:
  // Which of a command's descriptors an event is about.
  enum class Source : uint8_t { kStdout, kStderr, kStdin, kControl, kExec };

  virtual ~ExecHost() = default;
  // Watches a descriptor, edge-triggered, and calls exec->OnReady(source). Called again for the
  // same descriptor: reports once more if there is something to report.
  virtual void Watch(Exec* exec, int fd, Source source, bool writable) = 0;
  // Calls exec->OnDeadline at exec->deadline(), which is another one now.
  virtual void SetTimer(Exec* exec) = 0;
  // Asks what the kernel has counted of the cell since it was asked last; answers by
  // exec->SetUsage.
  virtual void AskUsage(Exec* exec) = 0;
  // False: no decision on the network is under way. True: calls exec->OnDecisionsKnown().
  virtual bool AwaitDecisions(Exec* exec) = 0;
  // The file to which the whole of a stream goes that its cap cuts.
  virtual std::shared_ptr<RunOutput> MakeCopy(Exec* exec, Stream stream) = 0;
  // What the end of the command means, from the outcome, to which it adds, and the end of stderr:
  // the denials to send. Called once, when no process of the command is left, or all of its output
  // is closed.
  virtual std::vector<explain::Denial> Conclude(const ExecOptions& options, Outcome* outcome,
                                                std::string_view stderr_tail) = 0;
  // The command was cancelled, or its time passed, while it waited for a slot: it needs none.
  virtual void OnLeftQueue(Exec* exec) = 0;
  // The command was killed, or has exited, and its slot still has processes: the cell must end.
  // Called once.
  virtual void OnOverdue() = 0;
};

class Exec final : public std::enable_shared_from_this<Exec> {
 public:
  using Source = ExecHost::Source;

  // `sink` must live until Detach. The command waits for a slot.
  Exec(ExecOptions options, ExecSink* sink, std::shared_ptr<ExecHost> host);

  // No slot is ready: the wall clock runs.
  void Queue();
  // Hands the command to a slot.
  void Start(UniqueFd exec_socket, UniqueFd control_socket);
  // The command cannot start at all; with EAGAIN for want of a process.
  void Fail(const std::string& message, int error);

  // Events.
  void OnReady(Source source);
  void OnSlotGone();                   // every process of it is dead
  void OnCellGone(const Status& why);  // likewise, and the cell too; not ok
  void SetUsage(uint64_t oom_kills, uint64_t pids_refused);
  void OnDecisionsKnown();
  void OnDeadline(Clock::time_point now);
  // Every deadline is so much later: its processes did not run for that long.
  void Delay(Clock::duration pause);
  // The next time OnDeadline is needed; time_point::max() for never.
  Clock::time_point deadline() const;

  // From the client.
  void WriteStdin(std::string data);  // one at a time: see ExecSink::StdinTaken
  void CloseStdin();
  void Resize(uint16_t rows, uint16_t columns);
  void Signal(int signal);
  void Cancel();
  void Continue();  // the sink can take more
  // The sink is going away; nothing is sent any more and the command is killed.
  void Detach();

  bool finished() const { return sink_ == nullptr && state_ >= State::kExited; }
  const ExecOptions& options() const { return options_; }

 private:
  enum class State {
    kQueued,   // waits for a slot
    kRunning,  // in a slot
    kExited,   // its first process has; others, and output, may be left
    kGone,     // no process of it is left
  };
  // What the outcome needs from others.
  enum class Fact { kUnknown, kAsked, kKnown };

  bool queued() const { return state_ == State::kQueued; }
  bool gone() const { return state_ == State::kGone; }

  void StartClock();
  void LeaveQueue(Stopped why);
  Status SendSpec();
  void Pump();
  bool PumpOutput(OutputStream* output, Stream stream);
  bool PumpEnd();
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
  void AwaitDecisionsOnce();
  bool Complete();
  void KeepTail(std::string_view bytes);
  void End();

  const ExecOptions options_;
  ExecSink* sink_;  // nullptr once the outcome is sent, or the client is gone
  const std::shared_ptr<ExecHost> host_;
  State state_ = State::kQueued;
  ExecFacts facts_;
  Fact usage_ = Fact::kUnknown, decisions_ = Fact::kUnknown;
  UniqueFd exec_socket_, control_;
  std::vector<int> early_signals_;
  InputStream stdin_;
  OutputStream stdout_, stderr_;
  bool discard_output_ = false;  // the client takes no more
  bool end_sent_ = false;        // of a connection's stdout
  const Clock::time_point requested_;
  std::optional<Clock::duration> waited_;  // for its slot
  Clock::time_point started_;
  Clock::time_point deadline_ = Clock::time_point::max();
  Clock::time_point end_by_ = Clock::time_point::max();  // of all its processes
  std::string stderr_tail_;
  std::optional<Outcome> outcome_;
  std::vector<explain::Denial> denials_;
  size_t denials_sent_ = 0;
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_EXEC_H_
