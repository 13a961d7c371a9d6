#include "supervisor/rpc/exec_session.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <utility>

namespace odyssey::supervisor {
namespace {

// Between SIGTERM and SIGKILL at the wall clock limit.
constexpr auto kGrace = std::chrono::milliseconds(250);
// For a slot to kill what is left of its command and to see it dead: some milliseconds, and on a
// busy machine, with gigabytes to give back, a second or two.
constexpr auto kTimeToEnd = std::chrono::seconds(5);
// Reads of output that nobody gets, before others have their turn: a command that never stops
// writing must not keep the loop to itself.
constexpr int kMaxDroppedReads = 16;
// That wait for the command's slot: more say nothing new.
constexpr size_t kMaxEarlySignals = 16;

struct Pipe {
  UniqueFd ours, theirs;
};

Result<Pipe> MakePipe(bool we_read) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "create pipe");
  Pipe pipe{UniqueFd(ends[we_read ? 0 : 1]), UniqueFd(ends[we_read ? 1 : 0])};
  // The command has another uid, and opens its end again where it is told to use /dev/stdout.
  if (fchmod(pipe.theirs.get(), 0666) != 0) return ErrnoStatus(errno, "set the mode of a pipe");
  if (fcntl(pipe.ours.get(), F_SETFL, O_NONBLOCK) != 0) return ErrnoStatus(errno, "set O_NONBLOCK");
  return pipe;
}

ExecSession::Source SourceOf(Stream stream) {
  return stream == Stream::kStdout ? ExecSession::Source::kStdout : ExecSession::Source::kStderr;
}

}  // namespace

ExecSession::ExecSession(ExecOptions options, ExecSink* sink)
    : options_(std::move(options)),
      sink_(sink),
      stdout_(options_.stdout_cap),
      stderr_(options_.stderr_cap),
      started_(Clock::now()) {}

void ExecSession::KeepOutput(const MakeCopy& make_copy) {
  const std::lock_guard lock(mutex_);
  stdout_.KeepBy([make_copy] { return make_copy(Stream::kStdout); });
  stderr_.KeepBy([make_copy] { return make_copy(Stream::kStderr); });
}

void ExecSession::AtEnd(Conclude conclude) {
  const std::lock_guard lock(mutex_);
  conclude_ = std::move(conclude);
}

void ExecSession::AwaitSlot() {
  const std::lock_guard lock(mutex_);
  waiting_ = true;
  if (options_.wall_clock_ms != 0) {
    deadline_ = Clock::now() + std::chrono::milliseconds(options_.wall_clock_ms);
  }
}

void ExecSession::Start(UniqueFd exec_socket, UniqueFd control_socket, Watch watch,
                        AskUsage ask_usage, WakeAt wake_at) {
  const std::lock_guard lock(mutex_);
  waiting_ = false;
  wake_at_ = std::move(wake_at);
  exec_socket_ = std::move(exec_socket);
  control_ = std::move(control_socket);
  watch_ = std::move(watch);
  ask_usage_ = std::move(ask_usage);
  started_ = Clock::now();
  if (options_.wall_clock_ms != 0) {
    deadline_ = started_ + std::chrono::milliseconds(options_.wall_clock_ms);
  }
  const Status status = cancelled_ ? Cancelled("cancelled before it started") : SendSpec(watch_);
  for (const int signal : std::exchange(early_signals_, {})) SendSignal(signal);
  if (status.ok()) return;
  failure_ = status.message();
  control_.reset();  // the slot ends
  gone_ = true;
  Pump();
}

// The command's ends of the pipes are closed here, so that only the command holds them.
Status ExecSession::SendSpec(Watch& watch) {
  watch(control_.get(), Source::kControl, false);
  if (options_.spec.terminal) {
    watch(exec_socket_.get(), Source::kExec, false);
    return SendMessage(exec_socket_.get(), cell::Encode(options_.spec), {}, MSG_DONTWAIT);
  }
  ODY_ASSIGN_OR_RETURN(Pipe out, MakePipe(true));
  ODY_ASSIGN_OR_RETURN(Pipe err, MakePipe(true));
  UniqueFd input;
  if (options_.open_stdin) {
    ODY_ASSIGN_OR_RETURN(Pipe in, MakePipe(false));
    stdin_.Open(std::move(in.ours));
    input = std::move(in.theirs);
    watch(stdin_.fd(), Source::kStdin, true);
  } else {
    input = UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!input) return ErrnoStatus(errno, "open /dev/null");
  }
  stdout_.Open(std::move(out.ours));
  stderr_.Open(std::move(err.ours));
  watch(stdout_.fd(), Source::kStdout, false);
  watch(stderr_.fd(), Source::kStderr, false);
  return SendMessage(exec_socket_.get(), cell::Encode(options_.spec),
                     {input.get(), out.theirs.get(), err.theirs.get()}, MSG_DONTWAIT);
}

void ExecSession::Fail(const std::string& message, int error) {
  const std::lock_guard lock(mutex_);
  failure_ = message;
  never_forked_ = error == EAGAIN;
  gone_ = true;
  Pump();
}

void ExecSession::OnReady(Source source) {
  const std::lock_guard lock(mutex_);
  switch (source) {
    case Source::kStdout:
      stdout_.set_readable(true);
      break;
    case Source::kStderr:
      stderr_.set_readable(true);
      break;
    case Source::kStdin:
      PumpStdin();
      return;
    case Source::kControl:
      ReadControl();
      break;
    case Source::kExec:
      ReadExecSocket();
      break;
  }
  Pump();
}

void ExecSession::ReadControl() {
  if (exited_ || !control_) return;
  const auto message = ReceiveMessage(control_.get(), MSG_DONTWAIT);
  if (!message.ok() || !cell::Decode(message->bytes, &exit_).ok())
    return;  // SlotGone says the rest
  exited_ = true;
  MustEndSoon();
  duration_usec_ = static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - started_).count());
  // Without a terminal this socket is not watched: what it has to say was said before the exit.
  if (!options_.spec.terminal) ReadExecSocket();
  AskUsageOnce();
}

void ExecSession::ReadExecSocket() {
  if (!exec_socket_) return;
  auto message = ReceiveMessage(exec_socket_.get(), MSG_DONTWAIT);
  if (!message.ok()) return;  // closed by a successful execve
  const auto type = cell::TypeOf(message->bytes);
  if (!type.ok()) return;
  if (*type == cell::MessageType::kTerminalReady && message->fds.size() == 1) {
    TakeTerminal(std::move(message->fds[0]));
  } else if (cell::Decode(message->bytes, &exec_error_).ok()) {
    exec_failed_ = true;
    never_forked_ =
        exec_error_.step == cell::ExecStep::kFork && exec_error_.status.detail().error == EAGAIN;
  }
}

// A slot that cannot fork for its command says so and ends, with the ExecSpec unread: that is an
// error of the socket, which comes before what is to be read there.
void ExecSession::ReadLastWords() {
  int unread = 0;
  socklen_t size = sizeof(unread);
  if (exec_socket_) getsockopt(exec_socket_.get(), SOL_SOCKET, SO_ERROR, &unread, &size);
  ReadExecSocket();
}

// Once, and nothing but a terminal: what cannot be watched, or waits when it is read, would end or
// hold up rpc.
void ExecSession::TakeTerminal(UniqueFd master) {
  unsigned number = 0;
  const bool asked = options_.spec.terminal && !stdin_.was_opened();
  if (!asked || ioctl(master.get(), TIOCGPTN, &number) != 0) return;
  fcntl(master.get(), F_SETFL, O_NONBLOCK);
  stdin_.Open(UniqueFd(fcntl(master.get(), F_DUPFD_CLOEXEC, 0)));
  stdout_.Open(std::move(master));
  watch_(stdout_.fd(), Source::kStdout, false);
  watch_(stdin_.fd(), Source::kStdin, true);
  PumpStdin();
}

void ExecSession::OnSlotGone() {
  const std::lock_guard lock(mutex_);
  gone_ = true;
  // Watched, but an event may still be on its way: look for the exit here.
  ReadControl();
  if (!exited_) ReadLastWords();
  Pump();
}

void ExecSession::OnCellGone(const Status& why) {
  const std::lock_guard lock(mutex_);
  if (!gone_) ReadControl();
  gone_ = true;
  usage_known_ = true;
  const std::string reason = why.message().empty() ? "" : ": " + why.message();
  if (!exited_) failure_ = "the cell ended" + reason;
  cell_ended_ = !exited_;
  // The kernel chose the cell's pid 1, and with it went the command.
  if (!exited_ && control_ && why.code() == Code::kAborted) {
    oom_kills_ = 1;
    oom_killed_ = true;
  }
  Pump();
}

void ExecSession::OnDeadline(Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  if (now < deadline_ || outcome_sent_) return;
  if (waiting_) {
    timed_out_ = gone_ = true;
    return Pump();
  }
  if (!timed_out_) {
    timed_out_ = true;
    deadline_ = now + kGrace;
    (void)SendControl(cell::Encode(cell::SignalSlot{.signal = SIGTERM, .everyone = true}));
    return;
  }
  deadline_ = Clock::time_point::max();
  Kill();
}

Clock::time_point ExecSession::deadline() const {
  const std::lock_guard lock(mutex_);
  const auto never = Clock::time_point::max();
  return std::min(outcome_sent_ ? never : deadline_, gone_ ? never : end_by_);
}

bool ExecSession::TakeOverdue(Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  if (gone_ || now < end_by_) return false;
  end_by_ = Clock::time_point::max();
  return true;
}

// The slot's pid 1 does it; but it is of the command's user, who may have kept it from running.
void ExecSession::MustEndSoon() {
  if (gone_ || end_by_ != Clock::time_point::max()) return;
  end_by_ = Clock::now() + kTimeToEnd;
  if (wake_at_) wake_at_(end_by_);
}

// Nobody waits for a slot that does not read.
Status ExecSession::SendControl(const std::string& bytes) {
  return SendMessage(control_.get(), bytes, {}, MSG_DONTWAIT);
}

void ExecSession::Kill() {
  killed_ = true;
  if (!control_) return;
  MustEndSoon();
  const Status sent = SendControl(cell::EncodeEmpty(cell::MessageType::kKillSlot));
  if (sent.code() == Code::kResourceExhausted) control_.reset();  // which ends the slot too
}

void ExecSession::Signal(int signal) {
  const std::lock_guard lock(mutex_);
  if (control_) {
    SendSignal(signal);
  } else if (early_signals_.size() < kMaxEarlySignals) {
    early_signals_.push_back(signal);  // there is no slot for it yet
  }
}

void ExecSession::SendSignal(int signal) {
  (void)SendControl(cell::Encode(cell::SignalSlot{.signal = signal}));
}

void ExecSession::Cancel() {
  const std::lock_guard lock(mutex_);
  cancelled_ = true;
  if (waiting_) {  // there is nothing to kill
    gone_ = true;
    Pump();
  }
  Kill();
}

void ExecSession::Detach() {
  const std::lock_guard lock(mutex_);
  sink_ = nullptr;
  if (!outcome_sent_) {
    cancelled_ = true;
    Kill();
  }
  outcome_sent_ = true;
  if (gone_) End();
}

void ExecSession::Resize(uint16_t rows, uint16_t columns) {
  const std::lock_guard lock(mutex_);
  const winsize size{rows, columns, 0, 0};
  if (options_.spec.terminal && stdout_.open()) ioctl(stdout_.fd(), TIOCSWINSZ, &size);
}

void ExecSession::WriteStdin(std::string data) {
  const std::lock_guard lock(mutex_);
  stdin_.Write(std::move(data));
  PumpStdin();
}

// A terminal has no end of input: the client sends the terminal's own end-of-file character.
void ExecSession::CloseStdin() {
  const std::lock_guard lock(mutex_);
  if (!options_.spec.terminal) stdin_.Finish();
  PumpStdin();
}

// What is left waits for the descriptor to become writable, or to be made: a command that waits for
// a slot has none.
void ExecSession::PumpStdin() {
  const bool wanted = options_.open_stdin || options_.spec.terminal;
  if (wanted && !stdin_.was_opened() && !exited_ && !gone_) return;
  if (stdin_.Pump() && sink_ != nullptr) sink_->StdinTaken();
}

void ExecSession::Continue() {
  const std::lock_guard lock(mutex_);
  Pump();
}

// True if the stream has nothing more for now and the next may be looked at.
bool ExecSession::PumpOutput(OutputStream* output, Stream stream) {
  int dropped = 0;
  while (output->WantsRead()) {
    std::string* piece = sink_->BeginOutput();
    if (piece == nullptr) return false;
    if (!output->Read(piece)) break;
    if (stream == Stream::kStderr) KeepTail(*piece);
    if (!cancelled_) output->Keep(*piece);
    if (output->Cut(piece) && !cancelled_) {
      sink_->SendOutput(stream);
    } else if (++dropped == kMaxDroppedReads) {
      output->set_readable(false);
      watch_(output->fd(), SourceOf(stream), false);
    }
  }
  return true;
}

bool ExecSession::Complete() {
  if (!cancelled_ && !(stdout_.CopyDone() && stderr_.CopyDone())) return false;
  if (!gone_ && !(exited_ && !stdout_.open() && !stderr_.open())) return false;
  AskUsageOnce();
  return !usage_asked_ || usage_known_;
}

void ExecSession::Pump() {
  if (sink_ == nullptr && gone_) End();  // nobody is told, but it is over all the same
  if (outcome_sent_ || sink_ == nullptr) return;
  if (gone_) {
    stdout_.ReadToTheEnd();
    stderr_.ReadToTheEnd();
  }
  if (!PumpOutput(&stdout_, Stream::kStdout)) return;
  if (!PumpOutput(&stderr_, Stream::kStderr)) return;
  if (!Complete()) return;
  End();
  while (sink_->BeginOutput() != nullptr && denials_sent_ < denials_.size()) {
    sink_->SendDenial(denials_[denials_sent_++]);
  }
  if (denials_sent_ < denials_.size() || sink_->BeginOutput() == nullptr) return;
  outcome_sent_ = true;
  sink_->SendOutcome(outcome_);
  stdin_.Close();
}

bool ExecSession::finished() const {
  const std::lock_guard lock(mutex_);
  return outcome_sent_ && (exited_ || gone_);
}

}  // namespace odyssey::supervisor
