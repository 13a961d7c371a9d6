// up, down.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agentd/provider/provider_variables.h"
#include "common/os/file.h"
#include "common/os/open_files.h"
#include "ctl/base/command.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/log_file.h"
#include "ctl/base/program_path.h"
#include "ctl/base/sanitize.h"
#include "ctl/base/state_layout.h"
#include "ctl/base/units.h"
#include "ctl/daemon/daemon_monitor.h"
#include "ctl/daemon/namespace_obstacle.h"
#include "ctl/daemon/up_lock.h"
#include "ctl/settings/setting.h"
#include "ctl/settings/settings_reader.h"
#include "policy/dialect/ceiling_directory.h"

namespace odyssey::ctl {
namespace {

constexpr uint32_t kDownTimeoutMs = 65'000;  // `up` waits up to 20 s for each of three daemons

std::vector<std::string> AgentdEnvironment(const StateLayout& layout) {
  std::vector<std::string> env = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + layout.agentd_dir};
  // Model keys: agentd is the only process that has them.
  for (const provider::Provider& row : provider::kProviders) {
    const provider::Variables variables = provider::VariablesOf(row);
    for (const auto& names : {variables.keys, variables.addresses}) {
      for (const std::string& name : names) {
        const char* value = getenv(name.c_str());
        if (value != nullptr) env.push_back(name + "=" + value);
      }
    }
  }
  return env;
}

// What is to be run, and for whom.
struct UpRequest {
  StateLayout layout;
  DaemonIdentities ids;
  std::vector<uid_t> clients;  // may connect to agentd, besides root
  // Beside what `up` decides.
  std::vector<std::string> agentd_arguments, egress_arguments, supervisor_arguments;
  std::vector<std::string> http_arguments;  // empty: odyssey-http is not run
};

// Of the files in the state directory, then of the options, which win.
Result<std::vector<std::string>> ArgumentsFor(std::string_view daemon, const Invocation& call,
                                              const StateLayout& layout) {
  ODY_ASSIGN_OR_RETURN(std::vector<std::string> out, ArgumentsOfState(daemon, layout.state));
  const std::vector<std::string> typed = ArgumentsOfUp(daemon, call.options);
  out.insert(out.end(), typed.begin(), typed.end());
  return out;
}

// Of the last --drain, in seconds.
uint32_t DrainOf(const std::vector<std::string>& arguments) {
  uint32_t seconds = 0;
  for (size_t i = 0; i + 1 < arguments.size(); i += 2) {
    if (arguments[i] == "--drain") seconds = static_cast<uint32_t>(atoi(arguments[i + 1].c_str()));
  }
  return seconds;
}

Result<DaemonSpec> HttpSpec(const UpRequest& request) {
  ODY_ASSIGN_OR_RETURN(const std::string http, FindProgram("odyssey-http"));
  DaemonSpec out = {.name = "odyssey-http",
                    .argv = {http, "--agentd-socket", request.layout.agentd_socket,
                             "--address-file", request.layout.http_dir + "/address"},
                    .env = {"PATH=/usr/local/bin:/usr/bin:/bin"},
                    .uid = request.ids.http.uid,
                    .gid = request.ids.http.gid};
  out.argv.insert(out.argv.end(), request.http_arguments.begin(), request.http_arguments.end());
  return out;
}

Result<std::vector<DaemonSpec>> MakeSpecs(const UpRequest& request) {
  const auto& [layout, ids, clients, agentd_arguments, egress_arguments, supervisor_arguments,
               http_arguments] = request;
  ODY_ASSIGN_OR_RETURN(const std::string supervisor, FindProgram("odyssey-supervisor"));
  ODY_ASSIGN_OR_RETURN(const std::string agentd, FindProgram("odyssey-agentd"));
  ODY_ASSIGN_OR_RETURN(const std::string egress, FindProgram("odyssey-egress"));
  for (const char* name : {"odyssey-supervisor-rpc", "odyssey-cell-init", "odyssey-cell-guard",
                           "odyssey-egress-worker"}) {
    ODY_RETURN_IF_ERROR(FindProgram(name).status());
  }
  const std::string agentd_uid = std::to_string(ids.agentd.uid);
  const std::string rpc_uid = std::to_string(ids.rpc.uid);
  const bool rootless = geteuid() != 0;  // then all uids are this one
  DaemonSpec broker = {.name = "odyssey-egress",
                       .argv = {egress, "--run", layout.run_dir, "--client-uid", rpc_uid, "--state",
                                layout.egress_state, "--config", layout.state},
                       .env = {"PATH=/usr/local/bin:/usr/bin:/bin"},
                       .uid = ids.egress.uid,
                       .gid = ids.egress.gid};
  broker.argv.insert(broker.argv.end(), egress_arguments.begin(), egress_arguments.end());
  DaemonSpec supervisor_spec = {
      .name = "odyssey-supervisor",
      .argv = {supervisor, "--state", layout.supervisor_dir, "--run", layout.run_dir,
               rootless ? "--rootless" : "--rpc-user", rpc_uid, "--client-uid", "0", "--client-uid",
               agentd_uid, "--bundle-store", layout.agentd_dir + "/bundles/trees", "--policy",
               layout.policy_dir},
      .env = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
      .uid = rootless ? ids.rpc.uid : 0,
      .gid = rootless ? ids.rpc.gid : 0,
      .own_user_namespace = rootless};
  if (!rootless) {
    supervisor_spec.argv.insert(supervisor_spec.argv.end(),
                                {"--danger-grants", layout.state + "/danger_full_access"});
  }
  std::vector<std::string> rest = WithRpcLast("supervisor", supervisor_arguments);
  if (rootless) {
    // Other daemons' directories are not closed to cells by their owners.
    if (std::find(rest.begin(), rest.end(), "--") == rest.end()) rest.emplace_back("--");
    rest.insert(rest.end(), {"--own", layout.state});
  }
  supervisor_spec.argv.insert(supervisor_spec.argv.end(), rest.begin(), rest.end());
  DaemonSpec agentd_spec = {
      .name = "odyssey-agentd",
      .argv = {agentd, "--state", layout.agentd_dir, "--socket", layout.agentd_socket,
               "--supervisor-socket", layout.supervisor_socket, "--policy", layout.policy_dir,
               "--prices", layout.prices_path, "--allow-uid", "0"},
      .env = AgentdEnvironment(layout),
      .uid = ids.agentd.uid,
      .gid = ids.agentd.gid};
  agentd_spec.argv.insert(agentd_spec.argv.end(), agentd_arguments.begin(), agentd_arguments.end());
  agentd_spec.stop_timeout += std::chrono::seconds(DrainOf(agentd_arguments));
  for (const uid_t client : clients) {
    agentd_spec.argv.insert(agentd_spec.argv.end(), {"--allow-uid", std::to_string(client)});
  }
  std::vector<DaemonSpec> out = {std::move(broker), std::move(supervisor_spec)};
  if (http_arguments.empty()) {
    out.push_back(std::move(agentd_spec));
    return out;
  }
  agentd_spec.argv.insert(agentd_spec.argv.end(), {"--http-uid", std::to_string(ids.http.uid)});
  out.push_back(std::move(agentd_spec));
  ODY_ASSIGN_OR_RETURN(out.emplace_back(), HttpSpec(request));
  return out;
}

Result<UniqueFd> StopSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  if (sigprocmask(SIG_BLOCK, &set, nullptr) != 0) return ErrnoStatus(errno, "block signals");
  UniqueFd fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) return ErrnoStatus(errno, "create signalfd");
  return fd;
}

// For people; programs wait for the line on stdout.
void SayReady(const Console& console, const std::string& state) {
  console.Warn("odyssey-ctl: the daemons serve on " + Sanitize(state, Lines::kOne));
  console.PrintLine("ready");
}

// Prints `ready`, then closes the terminal's descriptors.
void AnnounceReady(const Console& console, const std::string& state, int detached_pipe) {
  if (detached_pipe < 0) return SayReady(console, state);
  (void)WriteAll(detached_pipe, "r").ok();  // a starter that died does not need to know
  close(detached_pipe);
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null.get(), fd);
}

// The daemons from start to stop. `detached_pipe` < 0: in the foreground.
Status RunDaemons(const Console& console, const UpRequest& request, int detached_pipe) {
  const StateLayout& layout = request.layout;
  RaiseOpenFiles();
  ODY_ASSIGN_OR_RETURN(std::vector<DaemonSpec> specs, MakeSpecs(request));
  ODY_RETURN_IF_ERROR(CreateLayout(layout, request.ids));
  // The supervisor would refuse to start, and say so less briefly.
  ODY_RETURN_IF_ERROR(dialect::LoadCeiling(layout.policy_dir).status());
  ODY_ASSIGN_OR_RETURN(const UpLock lock, UpLock::Acquire(layout.lock_path));
  ODY_ASSIGN_OR_RETURN(const UniqueFd signals, StopSignals());
  std::optional<LogFile> file;
  if (detached_pipe >= 0) {
    ODY_ASSIGN_OR_RETURN(file, LogFile::Open(layout.log_dir + "/daemons.log"));
  }
  DaemonMonitor monitor(std::move(specs), signals.get(), [&](const std::string& line) {
    const std::string text = Sanitize(line, Lines::kOne);
    file ? file->Append(text) : console.Warn(text);
  });
  Status status = monitor.StartAll();
  if (status.ok()) {
    AnnounceReady(console, layout.state, detached_pipe);
    status = monitor.Keep();
    if (!status.ok() && file) file->Append(Sanitize(status.message(), Lines::kOne));
  }
  monitor.StopAll();
  // The daemons remove their own; these are what a killed one left.
  for (const std::string& path : {layout.agentd_socket, layout.supervisor_socket}) {
    unlink(path.c_str());
  }
  return status;
}

int ReportUp(const Console& console, const Status& status) {
  if (status.ok()) return kExitOk;
  std::string next = "The lines above say more; odyssey-ctl doctor checks this host.";
  if (status.code() == Code::kAlreadyExists) {
    next = "Use it as it is, or stop it with: odyssey-ctl down (with the same --state)";
  } else if (status.code() == Code::kFailedPrecondition) {
    next =
        "The programs stand beside odyssey-ctl or in /usr/libexec/odyssey: build or install them.";
  } else if (status.code() != Code::kUnavailable) {
    next = "Choose another directory with --state, or make this one usable.";
  }
  return console.Fail({"start the daemons", status.message(), next});
}

// The child runs the daemons; this process returns when they are ready or have failed.
int Detach(const Console& console, const UpRequest& request) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) {
    return ReportUp(console, ErrnoStatus(errno, "create pipe"));
  }
  UniqueFd from_child(fds[0]);
  UniqueFd to_parent(fds[1]);
  const pid_t child = fork();
  if (child < 0) return ReportUp(console, ErrnoStatus(errno, "fork"));
  if (child == 0) {
    from_child.reset();
    setsid();
    if (chdir("/") != 0) return ReportUp(console, ErrnoStatus(errno, "change to /"));
    return ReportUp(console, RunDaemons(console, request, to_parent.release()));
  }
  to_parent.reset();
  char byte;
  ssize_t n = 0;
  do {
    n = read(from_child.get(), &byte, 1);
  } while (n < 0 && errno == EINTR);
  if (n == 1) {
    SayReady(console, request.layout.state);
    return kExitOk;
  }
  // It has said why on the stderr that it shares with us.
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return kExitFailed;
}

// None, and so no odyssey-http, where neither the option nor the files in the state directory say
// where it listens.
Result<std::vector<std::string>> HttpArguments(const Invocation& call, const StateLayout& layout) {
  ODY_ASSIGN_OR_RETURN(std::vector<std::string> out, ArgumentsOfState("http", layout.state));
  if (call.options.Has("http-listen")) {
    out.insert(out.end(), {"--listen", call.options.Text("http-listen")});
  }
  if (std::find(out.begin(), out.end(), "--listen") != out.end()) return out;
  if (!out.empty()) {
    call.console->Warn("odyssey-ctl: http.yaml of " + layout.state +
                       " has no listen: odyssey-http is not started; set it, or give "
                       "--http-listen");
  }
  return std::vector<std::string>();
}

Result<UpRequest> ReadRequest(const Invocation& call) {
  UpRequest out = {.layout = LayoutOf(call.locations.state), .ids = ChooseIdentities()};
  for (const std::string& user : call.options.All("allow-user")) {
    if (geteuid() != 0) {
      return InvalidArgument("--allow-user " + user + ": without root the daemons serve uid " +
                             std::to_string(geteuid()) + " alone");
    }
    ODY_ASSIGN_OR_RETURN(const ceiling::Owner owner, dialect::FindOwner("--allow-user", user));
    out.clients.push_back(owner.uid);
  }
  ODY_ASSIGN_OR_RETURN(out.agentd_arguments, ArgumentsFor("agentd", call, out.layout));
  ODY_ASSIGN_OR_RETURN(out.egress_arguments, ArgumentsFor("egress", call, out.layout));
  ODY_ASSIGN_OR_RETURN(out.supervisor_arguments, ArgumentsFor("supervisor", call, out.layout));
  ODY_ASSIGN_OR_RETURN(out.http_arguments, HttpArguments(call, out.layout));
  return out;
}

int Up(const Invocation& call) {
  const Console& console = *call.console;
  const std::optional<NamespaceObstacle> obstacle = FindNamespaceObstacle();
  if (obstacle && geteuid() != 0) {
    return console.Fail({"start the daemons without root",
                         obstacle->detail + ": " + obstacle->advice,
                         "As root: " + obstacle->mend + "  or: sudo odyssey-ctl up"});
  }
  const Result<UpRequest> request = ReadRequest(call);
  if (!request.ok()) {
    return console.Fail({"start the daemons", request.status().message(),
                         "odyssey-ctl up --help lists the options."});
  }
  if (call.options.Has("detach")) return Detach(console, *request);
  return ReportUp(console, RunDaemons(console, *request, -1));
}

int Down(const Invocation& call) {
  const Console& console = *call.console;
  const StateLayout layout = LayoutOf(call.locations.state);
  const Result<std::optional<LockHolder>> found = FindLockHolder(layout.lock_path);
  if (!found.ok()) {
    const bool rights = found.status().code() == Code::kPermissionDenied;
    return console.Fail({"stop the daemons", found.status().message(),
                         rights
                             ? "Run it as the user of up, for example: sudo odyssey-ctl --state " +
                                   layout.state + " down"
                             : "Name the state directory that was given to up with --state."});
  }
  if (!found->has_value()) {
    console.PrintLine("not running on " + Sanitize(layout.state, Lines::kOne));
    return kExitOk;
  }
  const LockHolder& holder = **found;
  // pidfd_send_signal(2): the very process that was verified, even if its pid is used again.
  if (syscall(SYS_pidfd_send_signal, holder.pidfd.get(), SIGTERM, nullptr, 0) != 0 &&
      errno != ESRCH) {
    return console.Fail({"stop pid " + std::to_string(holder.pid),
                         ErrnoStatus(errno, "signal").message(),
                         "Run it as root, for example: sudo odyssey-ctl down"});
  }
  const uint32_t wait_ms =
      call.options.Has("wait") ? call.options.DurationMs("wait") : kDownTimeoutMs;
  pollfd polled = {holder.pidfd.get(), POLLIN, 0};
  int ready = 0;
  do {
    ready = poll(&polled, 1, static_cast<int>(std::min<uint32_t>(wait_ms, INT_MAX)));
  } while (ready < 0 && errno == EINTR);
  if (ready != 1) {
    return console.Fail({"stop pid " + std::to_string(holder.pid),
                         "it still runs after " + FormatDurationMs(wait_ms),
                         "Its log has the reason; another down ends a drain at once, and kill -9 " +
                             std::to_string(holder.pid) + " ends it, and the daemons with it."});
  }
  console.PrintLine("stopped");
  return kExitOk;
}

}  // namespace

std::vector<Command> DaemonCommands() {
  const OptionSpec state = {.name = "state",
                            .kind = ValueKind::kDirectory,
                            .value_name = "DIR",
                            .help = "as before the command: the state directory"};
  std::vector<OptionSpec> of_up = {
      state,
      {.name = "allow-user",
       .kind = ValueKind::kText,
       .value_name = "USER",
       .help = "may use sessions besides root; a name or a uid",
       .repeatable = true},
      {.name = "http-listen",
       .kind = ValueKind::kText,
       .value_name = "ADDRESS:PORT",
       .help = "run odyssey-http there too, on loopback (default: not; port 0: a free one)"},
      {.name = "detach", .help = "return when they are ready; log to STATE/log/daemons.log"}};
  for (const std::string_view daemon : {"supervisor", "egress", "agentd"}) {
    const std::vector<OptionSpec> own = OptionsOfUp(daemon);
    of_up.insert(of_up.end(), own.begin(), own.end());
  }
  return {
      {.name = "up",
       .summary = "run the daemons without systemd, until Ctrl-C",
       .options = std::move(of_up),
       .notes =
           "Says `ready` on stdout once all serve, and on stderr on which directory. Without root "
           "it "
           "runs in a user\nnamespace, and `status` lists what is weaker then (docs/ROOTLESS.md).",
       .run = Up},
      {.name = "down",
       .summary = "stop what `up` started, and wait until it is gone",
       .options = {state,
                   {.name = "wait",
                    .kind = ValueKind::kDuration,
                    .value_name = "DURATION",
                    .help = "how long to wait, with `up --drain` more than that (default 65s)"}},
       .run = Down},
  };
}

}  // namespace odyssey::ctl
