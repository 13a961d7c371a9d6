#include "supervisor/rpc/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "policy/explain/hint.h"

namespace odyssey::supervisor {
namespace {

// Between SIGTERM and SIGKILL at the wall clock limit.
constexpr auto kGrace = std::chrono::milliseconds(250);
// For a slot to kill what is left of its command and to see it dead: some milliseconds, and on a
// busy machine, with gigabytes to give back, a second or two.
constexpr auto kTimeToEnd = std::chrono::seconds(5);
// Reads of output that is dropped, before others have their turn: a command that never stops
// writing must not keep the loop to itself.
constexpr int kMaxDroppedReads = 16;
// That wait for the command's slot: more say nothing new.
constexpr size_t kMaxEarlySignals = 16;
// Of the cell's memory: four workers that use it up have as much each.
constexpr uint64_t kPartOfALargeProcess = 4;

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

ExecHost::Source SourceOf(Stream stream) {
  return stream == Stream::kStdout ? ExecHost::Source::kStdout : ExecHost::Source::kStderr;
}

// Says of a copy that ends early why it does.
void AddCopyNote(const std::shared_ptr<RunOutput>& copy, const char* stream, Outcome* outcome) {
  if (copy == nullptr || copy->error().empty()) return;
  std::string* message = outcome->sent.mutable_message();
  if (!message->empty()) message->append("; ");
  message->append(std::string("the copy of ") + stream + " in the outbox is cut: " + copy->error());
}

}  // namespace

Exec::Exec(ExecOptions options, ExecSink* sink, std::shared_ptr<ExecHost> host)
    : options_(std::move(options)),
      sink_(sink),
      host_(std::move(host)),
      stdout_(options_.stdout_cap),
      stderr_(options_.stderr_cap),
      requested_(Clock::now()),
      started_(requested_) {
  facts_.wall_clock_ms = options_.wall_clock_ms;
  facts_.cwd = options_.spec.cwd;
  if (!options_.keep_output) return;
  stdout_.CopyCutOutputTo([this] { return host_->MakeCopy(this, Stream::kStdout); });
  stderr_.CopyCutOutputTo([this] { return host_->MakeCopy(this, Stream::kStderr); });
}

// ── Start ───────────────────────────────────────────────────────────────────────────────────────

void Exec::StartClock() {
  started_ = Clock::now();
  if (options_.wall_clock_ms != 0) {
    deadline_ = started_ + std::chrono::milliseconds(options_.wall_clock_ms);
  }
  host_->SetTimer(this);
}

void Exec::Queue() { StartClock(); }

void Exec::Start(UniqueFd exec_socket, UniqueFd control_socket) {
  state_ = State::kRunning;
  facts_.had_slot = true;
  exec_socket_ = std::move(exec_socket);
  control_ = std::move(control_socket);
  StartClock();
  waited_ = started_ - requested_;
  const Status status = SendSpec();
  for (const int signal : std::exchange(early_signals_, {})) SendSignal(signal);
  if (status.ok()) return;
  facts_.not_started = status.message();
  control_.reset();  // the slot ends
  state_ = State::kGone;
  Pump();
}

// The command's ends of the pipes are closed here, so that only the command holds them.
Status Exec::SendSpec() {
  host_->Watch(this, control_.get(), Source::kControl, false);
  if (options_.spec.terminal) {
    host_->Watch(this, exec_socket_.get(), Source::kExec, false);
    return SendMessage(exec_socket_.get(), cell::Encode(options_.spec), {}, MSG_DONTWAIT);
  }
  ODY_ASSIGN_OR_RETURN(Pipe out, MakePipe(true));
  ODY_ASSIGN_OR_RETURN(Pipe err, MakePipe(true));
  UniqueFd input;
  if (options_.open_stdin) {
    ODY_ASSIGN_OR_RETURN(Pipe in, MakePipe(false));
    stdin_.Open(std::move(in.ours));
    input = std::move(in.theirs);
    host_->Watch(this, stdin_.fd(), Source::kStdin, true);
  } else {
    input = UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!input) return ErrnoStatus(errno, "open /dev/null");
  }
  stdout_.Open(std::move(out.ours));
  stderr_.Open(std::move(err.ours));
  host_->Watch(this, stdout_.fd(), Source::kStdout, false);
  host_->Watch(this, stderr_.fd(), Source::kStderr, false);
  return SendMessage(exec_socket_.get(), cell::Encode(options_.spec),
                     {input.get(), out.theirs.get(), err.theirs.get()}, MSG_DONTWAIT);
}

void Exec::Fail(const std::string& message, int error) {
  facts_.not_started = message;
  facts_.never_forked = error == EAGAIN;
  state_ = State::kGone;
  Pump();
}

// ── Events ──────────────────────────────────────────────────────────────────────────────────────

void Exec::OnReady(Source source) {
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

// What is no ExecExited is dropped: SlotGone comes in any case.
void Exec::ReadControl() {
  if (facts_.exited || !control_) return;
  const auto message = ReceiveMessage(control_.get(), MSG_DONTWAIT);
  cell::ExecExited exited;
  if (!message.ok() || !cell::Decode(message->bytes, &exited).ok()) return;
  facts_.exited = std::move(exited);
  if (state_ == State::kRunning) state_ = State::kExited;
  MustEndSoon();
  facts_.duration_usec = static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - started_).count());
  // Without a terminal this socket is not watched: an ExecError precedes the exit.
  if (!options_.spec.terminal) ReadExecSocket();
  AskUsageOnce();
}

void Exec::ReadExecSocket() {
  if (!exec_socket_) return;
  auto message = ReceiveMessage(exec_socket_.get(), MSG_DONTWAIT);
  if (!message.ok()) return;  // closed by a successful execve
  const auto type = cell::TypeOf(message->bytes);
  if (!type.ok()) return;
  if (*type == cell::MessageType::kTerminalReady && message->fds.size() == 1) {
    TakeTerminal(std::move(message->fds[0]));
    return;
  }
  cell::ExecError error;
  if (*type != cell::MessageType::kExecError || !cell::Decode(message->bytes, &error).ok()) return;
  facts_.never_forked =
      error.step == cell::ExecStep::kFork && error.status.detail().error == EAGAIN;
  facts_.failed = std::move(error);
}

// A slot that cannot fork for its command reports that and ends, with the ExecSpec unread: that is
// an error of the socket, which comes before what is to be read there.
void Exec::ReadLastWords() {
  int unread = 0;
  socklen_t size = sizeof(unread);
  if (exec_socket_) getsockopt(exec_socket_.get(), SOL_SOCKET, SO_ERROR, &unread, &size);
  ReadExecSocket();
}

// Once, and nothing but a terminal: what cannot be watched, or blocks when it is read, would end or
// block rpc.
void Exec::TakeTerminal(UniqueFd master) {
  unsigned number = 0;
  const bool asked = options_.spec.terminal && !stdin_.was_opened();
  if (!asked || ioctl(master.get(), TIOCGPTN, &number) != 0) return;
  fcntl(master.get(), F_SETFL, O_NONBLOCK);
  stdin_.Open(UniqueFd(fcntl(master.get(), F_DUPFD_CLOEXEC, 0)));
  stdout_.Open(std::move(master));
  host_->Watch(this, stdout_.fd(), Source::kStdout, false);
  host_->Watch(this, stdin_.fd(), Source::kStdin, true);
  PumpStdin();
}

void Exec::OnSlotGone() {
  // Watched, but an event may still be on its way: look for the exit here.
  ReadControl();
  state_ = State::kGone;
  if (!facts_.exited) ReadLastWords();
  Pump();
}

void Exec::OnCellGone(const Status& why) {
  if (!gone()) ReadControl();
  state_ = State::kGone;
  usage_ = Fact::kKnown;
  facts_.cell_ended = why;
  Pump();
}

void Exec::SetUsage(uint64_t oom_kills, uint64_t pids_refused) {
  facts_.oom_kills = oom_kills;
  facts_.pids_refused = pids_refused;
  usage_ = Fact::kKnown;
  Pump();
}

void Exec::OnDecisionsKnown() {
  decisions_ = Fact::kKnown;
  Pump();
}

// ── Deadlines ───────────────────────────────────────────────────────────────────────────────────

Clock::time_point Exec::deadline() const {
  const auto never = Clock::time_point::max();
  return std::min(sink_ == nullptr ? never : deadline_, gone() ? never : end_by_);
}

void Exec::Delay(Clock::duration pause) {
  for (Clock::time_point* time : {&deadline_, &end_by_}) {
    if (*time != Clock::time_point::max()) *time += pause;
  }
  host_->SetTimer(this);
}

void Exec::OnDeadline(Clock::time_point now) {
  if (!gone() && now >= end_by_) {
    end_by_ = Clock::time_point::max();
    host_->OnOverdue();
  }
  if (now >= deadline_ && sink_ != nullptr) {
    if (queued()) {
      LeaveQueue(Stopped::kTimedOut);
    } else if (facts_.stopped == Stopped::kNo) {
      facts_.stopped = Stopped::kTimedOut;
      deadline_ = now + kGrace;
      (void)SendControl(cell::Encode(cell::SignalSlot{.signal = SIGTERM, .everyone = true}));
    } else {
      deadline_ = Clock::time_point::max();
      Kill();
    }
  }
  host_->SetTimer(this);
}

// The slot's pid 1 does it; but it has the command's uid, so the command may have kept it from
// running.
void Exec::MustEndSoon() {
  if (gone() || end_by_ != Clock::time_point::max()) return;
  end_by_ = Clock::now() + kTimeToEnd;
  host_->SetTimer(this);
}

// A slot that does not read is not waited for.
Status Exec::SendControl(const std::string& bytes) {
  return SendMessage(control_.get(), bytes, {}, MSG_DONTWAIT);
}

void Exec::Kill() {
  facts_.killed = true;
  if (!control_) return;
  MustEndSoon();
  const Status sent = SendControl(cell::EncodeEmpty(cell::MessageType::kKillSlot));
  if (sent.code() == Code::kResourceExhausted) control_.reset();  // which ends the slot too
}

// ── The client ──────────────────────────────────────────────────────────────────────────────────

void Exec::Signal(int signal) {
  if (control_) {
    SendSignal(signal);
  } else if (early_signals_.size() < kMaxEarlySignals) {
    early_signals_.push_back(signal);  // there is no slot for it yet
  }
}

void Exec::SendSignal(int signal) {
  (void)SendControl(cell::Encode(cell::SignalSlot{.signal = signal}));
}

void Exec::Cancel() {
  discard_output_ = true;
  if (queued()) return LeaveQueue(Stopped::kCancelled);
  if (facts_.stopped == Stopped::kNo) facts_.stopped = Stopped::kCancelled;
  Kill();
}

// There is nothing to kill.
void Exec::LeaveQueue(Stopped why) {
  facts_.stopped = why;
  state_ = State::kGone;
  host_->OnLeftQueue(this);
  Pump();
}

void Exec::Detach() {
  if (sink_ != nullptr) {
    sink_ = nullptr;
    Cancel();
  }
  if (gone()) End();
}

void Exec::Resize(uint16_t rows, uint16_t columns) {
  const winsize size{rows, columns, 0, 0};
  if (options_.spec.terminal && stdout_.open()) ioctl(stdout_.fd(), TIOCSWINSZ, &size);
}

void Exec::WriteStdin(std::string data) {
  stdin_.Write(std::move(data));
  PumpStdin();
}

// A terminal has no end of input: the client sends the terminal's own end-of-file character.
void Exec::CloseStdin() {
  if (!options_.spec.terminal) stdin_.Finish();
  PumpStdin();
}

// What is left waits for the descriptor to become writable, or to be made: a command that waits for
// a slot has none.
void Exec::PumpStdin() {
  const bool wanted = options_.open_stdin || options_.spec.terminal;
  if (wanted && !stdin_.was_opened() && state_ < State::kExited) return;
  if (stdin_.Pump() && sink_ != nullptr) sink_->StdinTaken();
}

// ── Output and the end ──────────────────────────────────────────────────────────────────────────

void Exec::Continue() { Pump(); }

// Of stderr, whatever is delivered of it: how a command says why it failed.
void Exec::KeepTail(std::string_view bytes) {
  constexpr size_t kTail = explain::kMaxHintBytes;
  stderr_tail_ += bytes.substr(bytes.size() - std::min(bytes.size(), kTail));
  if (stderr_tail_.size() > 2 * kTail) stderr_tail_.erase(0, stderr_tail_.size() - kTail);
}

// True if the stream has nothing more for now and the next may be looked at.
bool Exec::PumpOutput(OutputStream* output, Stream stream) {
  int dropped = 0;
  while (output->WantsRead()) {
    std::string* piece = sink_->BeginOutput();
    if (piece == nullptr) return false;
    if (!output->Read(piece)) break;
    if (stream == Stream::kStderr) KeepTail(*piece);
    if (!discard_output_) output->Keep(*piece);
    if (output->Cut(piece) && !discard_output_) {
      sink_->SendOutput(stream);
    } else if (++dropped == kMaxDroppedReads) {
      output->set_readable(false);
      host_->Watch(this, output->fd(), SourceOf(stream), false);
    }
  }
  return true;
}

// The client of a connection is told when the other side sends no more: it may go on itself.
bool Exec::PumpEnd() {
  if (options_.spec.port == 0 || queued() || stdout_.open() || end_sent_) return true;
  std::string* piece = sink_->BeginOutput();
  if (piece == nullptr) return false;
  piece->clear();
  end_sent_ = true;
  sink_->SendOutput(Stream::kStdout);
  return true;
}

// A command that ends well and writes nothing to stderr is not asked about: no limit kept it from
// its work, unless a process of it that is gone was of a size to be killed.
bool Exec::MayHaveReachedALimit() const {
  if (!facts_.exited || facts_.stopped == Stopped::kCancelled || facts_.failed) return false;
  const bool large = options_.memory_bytes != 0 &&
                     facts_.exited->max_rss_bytes >= options_.memory_bytes / kPartOfALargeProcess;
  return facts_.exited->wait_status != 0 || stderr_.bytes() > 0 || large;
}

void Exec::AskUsageOnce() {
  if (usage_ != Fact::kUnknown || !MayHaveReachedALimit()) return;
  usage_ = Fact::kAsked;
  host_->AskUsage(this);
}

void Exec::AwaitDecisionsOnce() {
  if (decisions_ != Fact::kUnknown) return;
  decisions_ = host_->AwaitDecisions(this) ? Fact::kAsked : Fact::kKnown;
}

bool Exec::Complete() {
  if (!discard_output_ && !(stdout_.CopyDone() && stderr_.CopyDone())) return false;
  const bool silent =
      state_ == State::kExited && facts_.exited->left.empty() && !stdout_.open() && !stderr_.open();
  if (!gone() && !silent) return false;
  AskUsageOnce();
  AwaitDecisionsOnce();
  return usage_ != Fact::kAsked && decisions_ != Fact::kAsked;
}

void Exec::Pump() {
  if (sink_ == nullptr) {
    if (gone()) End();  // for the record
    return;
  }
  if (gone()) {
    stdout_.ReadToTheEnd();
    stderr_.ReadToTheEnd();
  }
  if (!PumpOutput(&stdout_, Stream::kStdout) || !PumpEnd()) return;
  if (!PumpOutput(&stderr_, Stream::kStderr)) return;
  if (!Complete()) return;
  End();
  while (sink_->BeginOutput() != nullptr && denials_sent_ < denials_.size()) {
    sink_->SendDenial(denials_[denials_sent_++]);
  }
  if (denials_sent_ < denials_.size() || sink_->BeginOutput() == nullptr) return;
  std::exchange(sink_, nullptr)->SendOutcome(*outcome_);
  stdin_.Close();
}

void Exec::End() {
  if (outcome_) return;
  outcome_ = MakeOutcome(facts_);
  if (waited_) {
    outcome_->launch_usec = static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(*waited_).count());
  }
  outcome_->sent.set_stdout_bytes(stdout_.bytes());
  outcome_->sent.set_stderr_bytes(stderr_.bytes());
  outcome_->sent.set_stdout_truncated(stdout_.truncated());
  outcome_->sent.set_stderr_truncated(stderr_.truncated());
  AddCopyNote(stdout_.copy(), "stdout", &*outcome_);
  AddCopyNote(stderr_.copy(), "stderr", &*outcome_);
  denials_ = host_->Conclude(options_, &*outcome_, stderr_tail_);
}

}  // namespace odyssey::supervisor
