#include "supervisor/root/worker.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "common/os/message_socket.h"
#include "supervisor/root/rpc_process.h"

namespace odyssey::root {
namespace {

constexpr int kDyingPollMs = 2;  // how often dying cells are looked at
constexpr int kEndRpcMs = 1000;  // for what rpc still has to record
constexpr timeval kSendTimeout{1, 0};

void Log(int level, const std::string& text) {
  fprintf(stderr, "<%d>odyssey-supervisor: %s\n", level, text.c_str());
}

plan::CheckContext MakeCheckContext(const Options& options) {
  return {.own_directories = {options.state_directory, options.run_directory, "/etc/odyssey",
                              options.policy_directory},
          .bundle_store = options.bundle_store,
          .max_pids = plan::kMaxPids};
}

StagingPaths MakeStagingPaths(const Options& options) {
  return {.cells_directory = options.state_directory + "/cells",
          .program_directory = options.program_directory,
          .store_uid = options.uid_base,
          .rootless = options.rootless_uid != 0};
}

// The keeper has blocked them.
Result<UniqueFd> OpenSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT}) sigaddset(&set, signal);
  UniqueFd fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) return ErrnoStatus(errno, "create signalfd");
  return fd;
}

}  // namespace

Worker::Worker(const Options& options, CgroupTree* cgroups, int listener)
    : options_(options),
      cgroups_(cgroups),
      listener_(listener),
      check_(MakeCheckContext(options)),
      cells_(cgroups, MakeStagingPaths(options), options.first_uid) {}

Status Worker::Run() {
  ODY_ASSIGN_OR_RETURN(signals_, OpenSignals());
  ODY_RETURN_IF_ERROR(StartRpc());
  const Status status = Loop();
  EndRpc();
  return status;
}

Status Worker::Loop() {
  while (!stopping_ || !cells_.empty()) {
    pollfd polled[] = {{signals_.get(), POLLIN, 0}, {rpc_.get(), POLLIN, 0}};
    if (poll(polled, 2, cells_.dying() ? kDyingPollMs : -1) < 0 && errno != EINTR)
      return ErrnoStatus(errno, "poll");
    if (polled[0].revents != 0) ReadSignals();
    if (polled[1].revents != 0 && rpc_) ReadRequest();
    ReportGone();
    if (!stopping_) cells_.PrepareNext();
    if (rpc_ || rpc_pid_ > 0 || stopping_) continue;
    if (!rpc_ready_) return Internal("odyssey-supervisor-rpc ended before it was ready");
    ODY_RETURN_IF_ERROR(StartRpc());
  }
  return OkStatus();
}

Status Worker::StartRpc() {
  ODY_ASSIGN_OR_RETURN(RpcProcess rpc, StartRpcProcess(options_, listener_));
  rpc_ = std::move(rpc.socket);
  setsockopt(rpc_.get(), SOL_SOCKET, SO_SNDTIMEO, &kSendTimeout, sizeof(kSendTimeout));
  rpc_pid_ = rpc.pid;
  rpc_ready_ = false;
  Send(wire::Encode(MakeHello()));
  return OkStatus();
}

void Worker::EndRpc() {
  // That ends it, and its end is a signal. A root that died would have closed the socket as a
  // whole.
  shutdown(rpc_.get(), SHUT_WR);
  pollfd ended{signals_.get(), POLLIN, 0};
  if (rpc_pid_ > 0) {
    poll(&ended, 1, kEndRpcMs);
    kill(rpc_pid_, SIGKILL);
    waitpid(rpc_pid_, nullptr, 0);
  }
  rpc_pid_ = -1;
}

wire::Hello Worker::MakeHello() const {
  return {.cgroup = cgroups_->kind(),
          .rootless = options_.rootless_uid != 0,
          .uid_base = options_.first_uid,
          .max_cells = kMaxCells,
          .own_directories = check_.own_directories,
          .bundle_store = check_.bundle_store,
          .cells_directory = options_.state_directory + "/cells"};
}

void Worker::ReadSignals() {
  signalfd_siginfo info;
  while (read(signals_.get(), &info, sizeof(info)) == sizeof(info)) {
    if (info.ssi_signo == SIGCHLD) continue;
    stopping_ = true;
    cells_.EndAll();
  }
  ReapChildren();
}

void Worker::ReapChildren() {
  int status = 0;
  for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
    if (pid == rpc_pid_) {
      rpc_pid_ = -1;
      RpcEnded();
    } else {
      cells_.ChildExited(pid, status);
    }
  }
}

// Its cells end with it: no other process knows what runs in them.
void Worker::RpcEnded() {
  if (!stopping_) Log(3, "odyssey-supervisor-rpc ended; its cells end too");
  rpc_.reset();
  cells_.EndAll();
}

void Worker::ReadRequest() {
  auto message = ReceiveMessage(rpc_.get());
  Status status = message.ok() ? OkStatus() : message.status();
  if (status.ok() && !message->fds.empty()) status = InvalidArgument("unexpected descriptors");
  if (status.ok()) status = Handle(message->bytes);
  if (!status.ok()) BreakWithRpc(status);
}

// Closed, broken or hostile: there is nothing to negotiate. Its cells end when it is reaped.
void Worker::BreakWithRpc(const Status& why) {
  if (why.code() != Code::kUnavailable) Log(2, "rpc broke the protocol: " + why.message());
  if (rpc_pid_ > 0) kill(rpc_pid_, SIGKILL);
  rpc_.reset();
}

Status Worker::Handle(std::string_view bytes) {
  ODY_ASSIGN_OR_RETURN(const wire::RootMessage type, wire::TypeOf(bytes));
  if (type == wire::RootMessage::kReady && bytes.size() == 1) {
    rpc_ready_ = true;
    if (!std::exchange(said_ready_, true)) dprintf(STDOUT_FILENO, "ready\n");
    return OkStatus();
  }
  // The table of legal requests.
  if (type == wire::RootMessage::kLaunch) return HandleLaunch(bytes);
  if (type == wire::RootMessage::kKill) return HandleKill(bytes);
  if (type == wire::RootMessage::kStats) return HandleStats(bytes);
  return InvalidArgument("not a request");
}

Status Worker::HandleLaunch(std::string_view bytes) {
  wire::Launch launch;
  ODY_RETURN_IF_ERROR(wire::Decode(bytes, &launch));
  ODY_ASSIGN_OR_RETURN(const plan::Plan plan, plan::DecodePlan(launch.plan));

  const Status allowed = plan::CheckPlan(plan, check_);
  const auto started = allowed.ok() ? cells_.Start(plan) : Result<CellTable::Started>(allowed);
  wire::Launched answer{.request = launch.request, .status = started.status()};
  std::vector<int> fds;
  if (started.ok()) {
    answer.uid = started->uid;
    fds = {started->socket.get(), started->freezer.get()};
    if (!started->freezer) fds.pop_back();
  }
  Send(wire::Encode(answer), fds);
  return OkStatus();
}

Status Worker::HandleKill(std::string_view bytes) {
  wire::Kill request;
  ODY_RETURN_IF_ERROR(wire::Decode(bytes, &request));
  if (!cells_.End(request.cell_id, request.purge)) {
    Send(wire::Encode(wire::Gone{.cell_id = request.cell_id}));  // was gone already
  }
  return OkStatus();
}

Status Worker::HandleStats(std::string_view bytes) {
  wire::Stats request;
  ODY_RETURN_IF_ERROR(wire::Decode(bytes, &request));
  wire::StatsReply reply{.request = request.request, .found = cells_.Has(request.cell_id)};
  if (reply.found) reply.usage = cells_.Usage(request.cell_id);
  Send(wire::Encode(reply));
  return OkStatus();
}

void Worker::ReportGone() {
  for (const wire::Gone& gone : cells_.Advance()) Send(wire::Encode(gone));
}

// Blocks at most for kSendTimeout: a peer that does not read must not hold root.
void Worker::Send(const std::string& bytes, const std::vector<int>& fds) {
  if (!rpc_) return;
  const Status status = SendMessage(rpc_.get(), bytes, fds);
  if (!status.ok()) BreakWithRpc(status);
}

}  // namespace odyssey::root
