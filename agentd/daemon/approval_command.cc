#include "agentd/daemon/approval_command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <utility>
#include <vector>

#include "agentd/approval/command_answer.h"

namespace odyssey::daemon {
namespace {

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

class CommandRun final : public AnswerRun {
 public:
  CommandRun(pid_t pid, UniqueFd input, UniqueFd output, std::string question)
      : pid_(pid),
        process_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))),
        input_(std::move(input)),
        output_(std::move(output)),
        unsent_(std::move(question)) {}
  ~CommandRun() override {
    if (pid_ > 0) KillAndWait(pid_);
  }
  CommandRun(const CommandRun&) = delete;
  CommandRun& operator=(const CommandRun&) = delete;

  std::optional<Result<approval::Answer>> Advance() override {
    Send(&input_, &unsent_);
    const bool ended = HasEnded(pid_);  // before the last of its output is read
    Receive(&output_, &answer_);
    if (answer_.size() > approval::kMaxCommandAnswer) return approval::ParseCommandAnswer(answer_);
    if (!ended) return std::nullopt;
    return AnswerOf(KillAndWait(std::exchange(pid_, -1)), answer_);
  }

  void AddPolled(std::vector<pollfd>* out) const override {
    out->push_back({process_.get(), POLLIN, 0});
    out->push_back({output_.get(), POLLIN, 0});
    out->push_back({input_.get(), POLLOUT, 0});
  }

 private:
  pid_t pid_;  // -1: waited for
  const UniqueFd process_;
  UniqueFd input_, output_;
  std::string unsent_, answer_;
};

class CommandTransport final : public AnswerTransport {
 public:
  explicit CommandTransport(std::string path) : path_(std::move(path)) {}

  std::string_view name() const override { return "command"; }

  Result<std::unique_ptr<AnswerRun>> Start(const std::string& question) override {
    ODY_ASSIGN_OR_RETURN(Pipe input, OpenPipe());
    ODY_ASSIGN_OR_RETURN(Pipe output, OpenPipe());
    ODY_RETURN_IF_ERROR(DoNotBlock(input.write.get()));
    ODY_RETURN_IF_ERROR(DoNotBlock(output.read.get()));
    pid_t pid = -1;
    const int error = SpawnSetup().Spawn(path_, input.read.get(), output.write.get(), &pid);
    if (error != 0) return ErrnoStatus(error, "start " + path_);
    return std::unique_ptr<AnswerRun>(std::make_unique<CommandRun>(
        pid, std::move(input.write), std::move(output.read), question));
  }

 private:
  const std::string path_;
};

}  // namespace

Status CheckApprovalCommand(const std::string& path) {
  struct stat found = {};
  if (stat(path.c_str(), &found) != 0) return ErrnoStatus(errno, "approval command " + path);
  if (!S_ISREG(found.st_mode) || access(path.c_str(), X_OK) != 0) {
    return InvalidArgument("approval command " + path + ": no file that agentd may execute");
  }
  return OkStatus();
}

std::unique_ptr<AnswerTransport> NewApprovalCommand(std::string path) {
  return std::make_unique<CommandTransport>(std::move(path));
}

}  // namespace odyssey::daemon
