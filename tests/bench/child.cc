#include "tests/bench/child.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace odyssey::bench {

Result<Child> Child::Spawn(const std::vector<std::string>& argv, const ChildStdio& stdio) {
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ODY_CHECK(posix_spawn_file_actions_init(&actions) == 0);
  if (stdio.stdout_fd >= 0) {
    ODY_CHECK(posix_spawn_file_actions_adddup2(&actions, stdio.stdout_fd, STDOUT_FILENO) == 0);
  }
  if (stdio.stderr_fd >= 0) {
    ODY_CHECK(posix_spawn_file_actions_adddup2(&actions, stdio.stderr_fd, STDERR_FILENO) == 0);
  }
  pid_t pid;
  const int error = posix_spawn(&pid, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return ErrnoStatus(error, "start " + argv[0]);
  return Child(pid);
}

Child::~Child() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

Status Child::Wait() {
  int status = 0;
  pid_t reaped;
  do {
    reaped = waitpid(pid_, &status, 0);
  } while (reaped < 0 && errno == EINTR);
  pid_ = -1;
  if (reaped < 0) return ErrnoStatus(errno, "wait for child");
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return OkStatus();
  return Internal("child ended with wait status " + std::to_string(status));
}

}  // namespace odyssey::bench
