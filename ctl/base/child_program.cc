#include "ctl/base/child_program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

namespace odyssey::ctl {
namespace {

constexpr int kExitSignalBase = 128;

std::vector<char*> Pointers(std::vector<std::string>& arguments) {
  std::vector<char*> out;
  for (std::string& argument : arguments) out.push_back(argument.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

Status ExecuteProgram(const std::string& program, std::vector<std::string> arguments) {
  execv(program.c_str(), Pointers(arguments).data());
  return ErrnoStatus(errno, "execute " + program);
}

Result<ChildProgram> ChildProgram::Start(const std::string& program,
                                         std::vector<std::string> arguments) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "create pipe");
  UniqueFd output(ends[0]);
  const UniqueFd input(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input.get(), STDOUT_FILENO);
  pid_t pid = 0;
  const int error =
      posix_spawn(&pid, program.c_str(), &actions, nullptr, Pointers(arguments).data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return ErrnoStatus(error, "execute " + program);
  return ChildProgram(pid, std::move(output));
}

ChildProgram::ChildProgram(ChildProgram&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), output_(std::move(other.output_)) {}

ChildProgram::~ChildProgram() {
  if (pid_ == 0) return;
  kill(pid_, SIGKILL);
  Wait();
}

int ChildProgram::Wait() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : kExitSignalBase + WTERMSIG(status);
}

}  // namespace odyssey::ctl
