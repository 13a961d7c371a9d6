#include "agentd/daemon/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "common/os/file.h"
#include "common/os/unique_fd.h"

namespace odyssey::daemon {
namespace {

constexpr size_t kMaxOutputBytes = 1024 * 1024;

// What the program prints on stdout and stderr, and how it ended.
struct Output {
  std::string text;
  bool succeeded = false;
};

Result<Output> Run(const std::string& path, std::vector<std::string> words) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return ErrnoStatus(errno, "create pipe");
  const UniqueFd from(fds[0]);
  UniqueFd to(fds[1]);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  char* const no_environment[] = {nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, to.get(), STDERR_FILENO);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, path.c_str(), &actions, nullptr, argv.data(), no_environment);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return ErrnoStatus(error, "execute " + path);
  to.reset();
  Output out;
  char buffer[4096];
  for (ssize_t n = 1; n != 0 && out.text.size() < kMaxOutputBytes;) {
    n = read(from.get(), buffer, sizeof(buffer));
    if (n > 0) out.text.append(buffer, static_cast<size_t>(n));
    if (n < 0 && errno != EINTR) break;
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  out.succeeded = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return out;
}

// The words of a text, each with a NUL after it.
std::vector<std::string> SplitWords(const std::string& text) {
  std::vector<std::string> out;
  for (size_t at = 0, end = 0; (end = text.find('\0', at)) != std::string::npos; at = end + 1) {
    out.push_back(text.substr(at, end - at));
  }
  return out;
}

}  // namespace

Result<Options> ReadOptionsAnew(const Options& current) {
  if (current.settings.empty()) return current;
  ODY_ASSIGN_OR_RETURN(const std::string directory, ProgramDirectory());
  ODY_ASSIGN_OR_RETURN(
      Output output, Run(directory + "/odyssey-start",
                         {"odyssey-start", "--directory", current.settings, "--print", "agentd"}));
  if (!output.succeeded) {
    while (!output.text.empty() && output.text.back() == '\n') output.text.pop_back();
    return InvalidArgument(output.text);
  }
  ODY_ASSIGN_OR_RETURN(Options anew, ParseOptions(SplitWords(output.text)));
  anew.settings = current.settings;
  anew.listener = current.listener;
  return anew;
}

std::string NeedRestart(const Options& current, const Options& anew) {
  std::string out;
  const auto compare = [&out](const char* option, const auto& one, const auto& other) {
    if (one != other) out += (out.empty() ? "" : ", ") + std::string(option);
  };
  compare("--state", current.state, anew.state);
  compare("--socket", current.socket, anew.socket);
  compare("--supervisor-socket", current.supervisor_socket, anew.supervisor_socket);
  compare("--policy", current.policy_directory, anew.policy_directory);
  compare("--admin-group", current.admin_group, anew.admin_group);
  compare("--metrics-listen", current.metrics_listen, anew.metrics_listen);
  compare("--workers", current.workers, anew.workers);
  compare("--queue", current.queue, anew.queue);
  compare("--queue-total", current.queue_total, anew.queue_total);
  compare("--idle-cell", current.idle_cell, anew.idle_cell);
  compare("--journal-max-bytes", current.journal_max_bytes, anew.journal_max_bytes);
  compare("--journal-keep", current.journal_keep, anew.journal_keep);
  compare("--drain", current.drain, anew.drain);
  compare("--approval-timeout", current.approval_timeout, anew.approval_timeout);
  compare("--approval-command", current.approval_command, anew.approval_command);
  compare("--approval-command-fallback", current.approval_command_fallback,
          anew.approval_command_fallback);
  compare("--approval-webhook", current.approval_webhook, anew.approval_webhook);
  compare("--approval-webhook-token-file", current.approval_webhook_token_file,
          anew.approval_webhook_token_file);
  compare("--approval-webhook-ca", current.approval_webhook_ca, anew.approval_webhook_ca);
  compare("--approval-webhook-fallback", current.approval_webhook_fallback,
          anew.approval_webhook_fallback);
  return out;
}

}  // namespace odyssey::daemon
