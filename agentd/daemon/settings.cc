#include "agentd/daemon/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>
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
  // What a reload applies, and what odyssey-start adds when it starts us.
  std::set<std::string> settled = {"--allow-uid",      "--allow-group", "--model-key-file",
                                   "--model-base-url", "--prices",      "--settings",
                                   "--listen-fd"};
  std::string out;
  for (const auto* options : {&current.given, &anew.given}) {
    for (const auto& [option, values] : *options) {
      const auto one = current.given.find(option), other = anew.given.find(option);
      const bool same =
          one != current.given.end() && other != anew.given.end() && one->second == other->second;
      if (same || !settled.insert(option).second) continue;
      out += (out.empty() ? "" : ", ") + option;
    }
  }
  return out;
}

}  // namespace odyssey::daemon
