#include "supervisor/cell_init/execute.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace odyssey::cell_init {
namespace {

// Of cell::kExecLimits.
constexpr int kResources[] = {RLIMIT_CPU, RLIMIT_NOFILE, RLIMIT_FSIZE};
static_assert(std::size(kResources) == std::size(cell::kExecLimits));

constexpr size_t kMostAtOnce = 1 << 20;
constexpr int kNotStarted = 125;  // exit status of a command that did not start; never reported

// No more than `value`: the supervisor may have been started with less.
bool Limit(int resource, rlim_t value) {
  const auto which = static_cast<__rlimit_resource>(resource);
  rlimit limit;
  if (getrlimit(which, &limit) != 0) return false;
  limit.rlim_max = std::min(limit.rlim_max, value);
  limit.rlim_cur = limit.rlim_max;
  return setrlimit(which, &limit) == 0;
}

// A pseudo-terminal of the cell's own devpts becomes stdio; the other end goes to the supervisor.
bool OpenTerminal(const cell::ExecSpec& spec, int exec_socket) {
  UniqueFd master(open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!master || unlockpt(master.get()) != 0) return false;
  const winsize size{spec.rows, spec.columns, 0, 0};
  if (ioctl(master.get(), TIOCSWINSZ, &size) != 0) return false;
  UniqueFd slave(ioctl(master.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!slave || ioctl(slave.get(), TIOCSCTTY, 0) != 0) return false;
  for (int fd = 0; fd <= 2; ++fd) {
    if (dup2(slave.get(), fd) < 0) return false;
  }
  return SendMessage(exec_socket, cell::EncodeEmpty(cell::MessageType::kTerminalReady),
                     {master.get()})
      .ok();
}

bool TakeStdio(const std::vector<UniqueFd>& stdio) {
  if (stdio.size() != 3) return false;
  for (int fd = 0; fd <= 2; ++fd) {
    if (dup2(stdio[fd].get(), fd) < 0) return false;
  }
  // The supervisor's null device lies on a mount of the host: as /dev/stdin Landlock refuses it.
  struct stat input;
  if (fstat(0, &input) != 0) return false;
  if (!S_ISCHR(input.st_mode)) return true;
  UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  return null && dup2(null.get(), 0) == 0;
}

std::string SearchPath(const std::vector<std::string>& environment) {
  for (const std::string& entry : environment) {
    if (entry.rfind("PATH=", 0) == 0) return entry.substr(5);
  }
  return "/usr/bin:/bin";
}

// execve along PATH, as execvpe(3) does, but without its fallback to a shell: what is not a program
// is an error. Returns the errno that says most: "permission denied" before "not found".
int ExecuteOnPath(cell::ExecSpec* spec) {
  const auto argv = Pointers(&spec->argv);
  const auto environment = Pointers(&spec->env);
  const std::string& name = spec->argv[0];
  if (name.find('/') != std::string::npos) {
    execve(name.c_str(), argv.data(), environment.data());
    return errno;
  }
  int error = ENOENT;
  const std::string path = SearchPath(spec->env);
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find(':', begin), path.size());
    execve((path.substr(begin, end - begin) + "/" + name).c_str(), argv.data(), environment.data());
    if (errno != ENOENT && errno != ENOTDIR) error = errno;
    begin = end + 1;
  }
  return error;
}

// Between stdio and a port of this network namespace's 127.0.0.1, in a process for each direction,
// so that either can end before the other. No program is executed: no policy has to allow one.
// Returns an errno if there is no connection.
int Relay(uint16_t port) {
  const UniqueFd peer(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = {AF_INET, htons(port), {htonl(INADDR_LOOPBACK)}, {}};
  const auto* to = reinterpret_cast<const sockaddr*>(&address);
  if (connect(peer.get(), to, sizeof(address)) != 0) return errno;
  const pid_t inward = fork();
  if (inward < 0) return errno;
  const int from = inward == 0 ? STDIN_FILENO : peer.get();
  const int into = inward == 0 ? peer.get() : STDOUT_FILENO;
  close(inward == 0 ? STDOUT_FILENO : STDIN_FILENO);  // the other's alone: its end is seen
  while (splice(from, nullptr, into, nullptr, kMostAtOnce, 0) > 0) {
  }
  if (inward == 0) _exit(shutdown(into, SHUT_WR));
  close(into);
  (void)waitpid(inward, nullptr, 0);
  _exit(0);
}

}  // namespace

std::vector<char*> Pointers(std::vector<std::string>* words) {
  std::vector<char*> out;
  for (std::string& word : *words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

void Fail(int exec_socket, const Status& status, cell::ExecStep step) {
  (void)SendMessage(exec_socket, cell::Encode(cell::ExecError{step, status}));
  _exit(kNotStarted);
}

NextCommand AwaitCommand(int exec_socket) {
  auto message = ReceiveMessage(exec_socket);
  if (!message.ok()) _exit(kNotStarted);  // the slot was not needed
  NextCommand command;
  if (!cell::Decode(message->bytes, &command.spec).ok() || command.spec.argv.empty()) {
    Fail(exec_socket, ErrnoStatus(EBADMSG, "decode"));
  }
  command.stdio = std::move(message->fds);
  return command;
}

// In execution order.
void Execute(NextCommand* command, int exec_socket) {
  const cell::ExecSpec& spec = command->spec;
  setsid();
  if (spec.terminal) {
    if (!OpenTerminal(spec, exec_socket)) Fail(exec_socket, ErrnoStatus(errno, "open a terminal"));
  } else if (!TakeStdio(command->stdio)) {
    Fail(exec_socket, ErrnoStatus(errno, "stdio"));
  }
  command->stdio.clear();  // a relay is no execve, which would close them
  for (size_t i = 0; i < std::size(kResources); ++i) {
    const auto& [name, member] = cell::kExecLimits[i];
    if (spec.*member == 0 || Limit(kResources[i], spec.*member)) continue;
    Fail(exec_socket, ErrnoStatus(errno, "limit " + std::string(name)));
  }
  if (chdir(spec.cwd.c_str()) != 0) {
    Fail(exec_socket, ErrnoStatus(errno, "chdir " + spec.cwd), cell::ExecStep::kChdir);
  }
  const int error = spec.port != 0 ? Relay(spec.port) : ExecuteOnPath(&command->spec);
  Fail(exec_socket, ErrnoStatus(error, spec.argv[0]), cell::ExecStep::kExec);
}

}  // namespace odyssey::cell_init
