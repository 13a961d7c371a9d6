#include "agentd/daemon/approval_command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "agentd/approval/command_answer.h"

namespace odyssey::daemon {
namespace {

using Clock = std::chrono::steady_clock;

// At the same time; further questions wait for one of them to end.
constexpr size_t kMaxRunning = 16;
// How soon a question that was taken back is noticed.
constexpr int kTickMs = 200;

// Both ends of a pipe, closed at exec.
struct Pipe {
  UniqueFd read, write;
};

Result<Pipe> OpenPipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return ErrnoStatus(errno, "create pipe");
  return Pipe{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

Status DoNotBlock(int fd) {
  const int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) {
    return ErrnoStatus(errno, "set O_NONBLOCK");
  }
  return OkStatus();
}

// The parts of posix_spawn(3) that are destroyed after use.
class SpawnSetup final {
 public:
  SpawnSetup() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
  }
  ~SpawnSetup() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnSetup(const SpawnSetup&) = delete;
  SpawnSetup& operator=(const SpawnSetup&) = delete;

  // A number of errno; 0: the process was started.
  int Spawn(const std::string& path, int input, int output, pid_t* pid) {
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    const short flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    for (const int error :
         {posix_spawnattr_setflags(&attributes_, flags), posix_spawnattr_setpgroup(&attributes_, 0),
          posix_spawnattr_setsigmask(&attributes_, &none),
          posix_spawnattr_setsigdefault(&attributes_, &all),
          posix_spawn_file_actions_adddup2(&actions_, input, STDIN_FILENO),
          posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO),
          posix_spawn_file_actions_addopen(&actions_, STDERR_FILENO, "/dev/null", O_WRONLY, 0),
          posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1),
          posix_spawn_file_actions_addchdir_np(&actions_, "/")}) {
      if (error != 0) return error;
    }
    std::string name = path;
    std::string search = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    std::string locale = "LANG=C.UTF-8";
    char* argv[] = {name.data(), nullptr};
    char* env[] = {search.data(), locale.data(), nullptr};
    return posix_spawn(pid, path.c_str(), &actions_, &attributes_, argv, env);
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

// What it started too. The group before the process is waited for, so that its id is still its own.
int KillAndWait(pid_t pid) {
  kill(-pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

bool HasEnded(pid_t pid) {
  siginfo_t info = {};
  return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid;
}

// A command need not read its question: what cannot be written is left.
void Send(UniqueFd* input, std::string* unsent) {
  while (*input && !unsent->empty()) {
    const ssize_t sent = write(input->get(), unsent->data(), unsent->size());
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return;
    if (sent < 0) unsent->clear();
    if (sent > 0) unsent->erase(0, static_cast<size_t>(sent));
  }
  input->reset();
}

void Receive(UniqueFd* output, std::string* answer) {
  char buffer[4096];
  while (*output && answer->size() <= approval::kMaxCommandAnswer) {
    const ssize_t got = read(output->get(), buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) return output->reset();
    answer->append(buffer, static_cast<size_t>(got));
  }
}

Result<approval::Answer> AnswerOf(int status, const std::string& output) {
  if (WIFSIGNALED(status)) {
    return InvalidArgument("ended by signal " + std::to_string(WTERMSIG(status)));
  }
  if (WEXITSTATUS(status) != 0) {
    return InvalidArgument("exit status " + std::to_string(WEXITSTATUS(status)));
  }
  return approval::ParseCommandAnswer(output);
}

}  // namespace

Status CheckApprovalCommand(const std::string& path) {
  struct stat found = {};
  if (stat(path.c_str(), &found) != 0) return ErrnoStatus(errno, "approval command " + path);
  if (!S_ISREG(found.st_mode) || access(path.c_str(), X_OK) != 0) {
    return InvalidArgument("approval command " + path + ": no file that agentd may execute");
  }
  return OkStatus();
}

ApprovalCommand::ApprovalCommand(
    approval::Registry* registry, ApprovalCommandOptions options,
    std::function<void(const std::string& request_id, const std::string& why)> on_failure)
    : registry_(registry),
      options_(std::move(options)),
      on_failure_(std::move(on_failure)),
      wake_(std::make_shared<const UniqueFd>(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))) {
  ODY_CHECK(*wake_);
  thread_ = std::jthread([this](const std::stop_token& stop) { Watch(stop); });
}

void ApprovalCommand::Watch(const std::stop_token& stop) {
  const std::stop_callback wake(stop, [this] { eventfd_write(wake_->get(), 1); });
  while (!stop.stop_requested()) {
    StartNew();
    std::erase_if(running_, [this](Run& run) { return !Advance(run); });
    Wait();
  }
  for (const Run& run : running_) KillAndWait(run.pid);
}

void ApprovalCommand::StartNew() {
  const uint64_t latest = registry_->last_ordinal();
  for (const approval::Registry::Open& open : registry_->After(seen_, "")) {
    if (running_.size() >= kMaxRunning) return;
    seen_ = open.ordinal;
    Result<Run> run = Start(open.question);
    if (run.ok()) {
      running_.push_back(*std::move(run));
    } else {
      Settle(open.question.request().request_id(), run.status());
    }
  }
  seen_ = std::max(seen_, latest);  // beyond those that were taken back
}

Result<ApprovalCommand::Run> ApprovalCommand::Start(const approval::Question& question) const {
  ODY_ASSIGN_OR_RETURN(Pipe input, OpenPipe());
  ODY_ASSIGN_OR_RETURN(Pipe output, OpenPipe());
  ODY_RETURN_IF_ERROR(DoNotBlock(input.write.get()));
  ODY_RETURN_IF_ERROR(DoNotBlock(output.read.get()));
  Run out;
  const int error =
      SpawnSetup().Spawn(options_.path, input.read.get(), output.write.get(), &out.pid);
  if (error != 0) return ErrnoStatus(error, "start " + options_.path);
  out.request_id = question.request().request_id();
  out.process.reset(static_cast<int>(syscall(SYS_pidfd_open, out.pid, 0)));
  out.input = std::move(input.write);
  out.output = std::move(output.read);
  out.unsent = approval::QuestionLine(question);
  out.deadline = Clock::now() + options_.timeout;
  return out;
}

// False: it is over, and nothing of it runs.
bool ApprovalCommand::Advance(Run& run) {
  if (!registry_->Find(run.request_id)) {
    KillAndWait(run.pid);
    return false;
  }
  Send(&run.input, &run.unsent);
  const bool ended = HasEnded(run.pid);  // before the last of its output is read
  Receive(&run.output, &run.answer);
  const bool too_long = run.answer.size() > approval::kMaxCommandAnswer;
  const bool too_late = Clock::now() >= run.deadline;
  if (!ended && !too_long && !too_late) return true;
  const int status = KillAndWait(run.pid);
  if (ended || too_long) {
    Settle(run.request_id,
           too_long ? approval::ParseCommandAnswer(run.answer) : AnswerOf(status, run.answer));
  } else {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(options_.timeout).count();
    Settle(run.request_id, InvalidArgument("no answer in " + std::to_string(seconds) + " s"));
  }
  return false;
}

void ApprovalCommand::Settle(const std::string& request_id, Result<approval::Answer> answer) {
  if (!answer.ok()) {
    const std::string why = "the approval command gave no answer: " + answer.status().message();
    on_failure_(request_id, why);
    if (options_.fallback_ask) return;
    answer = approval::Answer{approval::Decision::kDeny, why};
  }
  answer->by_uid = getuid();
  answer->by = "command";
  registry_->Resolve(request_id, *answer);
}

// Until a command or the registry has something, or the end is asked for.
void ApprovalCommand::Wait() {
  const auto wake = wake_;
  if (running_.empty() &&
      !registry_->NotifyAfter(seen_, [wake] { eventfd_write(wake->get(), 1); })) {
    return;
  }
  std::vector<pollfd> polled = {{wake_->get(), POLLIN, 0}};
  for (const Run& run : running_) {
    polled.push_back({run.process.get(), POLLIN, 0});
    polled.push_back({run.output.get(), POLLIN, 0});
    polled.push_back({run.input.get(), POLLOUT, 0});
  }
  (void)poll(polled.data(), polled.size(), running_.empty() ? -1 : kTickMs);
  eventfd_t count = 0;
  (void)eventfd_read(wake_->get(), &count);
}

}  // namespace odyssey::daemon
