#include "supervisor/host_runner/runner.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "common/os/message_socket.h"
#include "supervisor/host_runner/grant_file.h"
#include "supervisor/wire/root_wire.h"

namespace odyssey::host_runner {
namespace {

constexpr int kDyingPollMs = 2;  // how often what is dying is looked at
constexpr timeval kSendTimeout{1, 0};

Result<UniqueFd> OpenSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT}) sigaddset(&set, signal);
  if (sigprocmask(SIG_BLOCK, &set, nullptr) != 0) return ErrnoStatus(errno, "block signals");
  UniqueFd fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) return ErrnoStatus(errno, "create signalfd");
  return fd;
}

}  // namespace

Runner::Runner(std::string grant_file, OwnUids own, Result<CgroupLayout> layout, UniqueFd listener)
    : grant_file_(std::move(grant_file)),
      own_(std::move(own)),
      layout_(std::move(layout)),
      listener_(std::move(listener)) {}

Status Runner::Run() {
  ODY_ASSIGN_OR_RETURN(signals_, OpenSignals());
  const Status status = Loop();
  // After a broken protocol there may be cells left; nobody is told of their end any more.
  rpc_.reset();
  EndAll();
  stopping_ = true;
  const Status ended = Loop();
  return status.ok() ? ended : status;
}

Status Runner::Loop() {
  while (!stopping_ || !cells_.empty()) {
    std::vector<pollfd> polled;
    std::vector<std::function<Status()>> handlers;
    const auto watch = [&](int fd, std::function<Status()> handler) {
      polled.push_back({fd, POLLIN, 0});
      handlers.push_back(std::move(handler));
    };
    watch(signals_.get(), [this] { return ReadSignals(); });
    if (rpc_) watch(rpc_.get(), [this] { return ReadRequest(); });
    // The next connection waits until nothing of the last one is left.
    if (!rpc_ && cells_.empty()) watch(listener_.get(), [this] { return Accept(); });
    for (auto& [id, owned] : cells_) {
      HostCell* cell = owned.get();
      if (cell->socket() < 0) continue;
      watch(cell->socket(), [cell] { return cell->ReadSocket(); });
      for (auto& [number, slot] : cell->slots()) {
        if (!slot.control) continue;
        watch(slot.control.get(),
              [cell, s = &slot, n = number] { return cell->ReadControl(s, n); });
      }
    }
    if (poll(polled.data(), polled.size(), dying() ? kDyingPollMs : -1) < 0 && errno != EINTR) {
      return ErrnoStatus(errno, "poll");
    }
    for (size_t i = 0; i < polled.size(); ++i) {
      if (polled[i].revents != 0) ODY_RETURN_IF_ERROR(handlers[i]());
    }
    ODY_RETURN_IF_ERROR(Advance());
  }
  return OkStatus();
}

Status Runner::ReadSignals() {
  signalfd_siginfo info;
  while (read(signals_.get(), &info, sizeof(info)) == sizeof(info)) {
    if (info.ssi_signo == SIGCHLD) continue;
    stopping_ = true;
    EndAll();
  }
  int status = 0;
  rusage usage{};
  for (pid_t pid; (pid = wait4(-1, &status, WNOHANG, &usage)) > 0;) {
    for (auto& [id, cell] : cells_) {
      if (cell->ChildExited(pid, status, usage)) break;
    }
  }
  return OkStatus();
}

// Whom the file names is said here, for people; what counts is what it names at a launch.
Status Runner::Accept() {
  rpc_ = UniqueFd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!rpc_) return OkStatus();  // it has gone again
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (getsockopt(rpc_.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.uid != own_.rpc) {
    rpc_.reset();
    return OkStatus();
  }
  setsockopt(rpc_.get(), SOL_SOCKET, SO_SNDTIMEO, &kSendTimeout, sizeof(kSendTimeout));
  const auto grants = ReadGrants(grant_file_);
  wire::HostHello hello;
  if (grants.ok()) hello.users = *grants;
  hello.error = layout_.ok() ? grants.status().message() : layout_.status().message();
  return SendMessage(rpc_.get(), wire::Encode(hello));
}

Status Runner::ReadRequest() {
  const auto message = ReceiveMessage(rpc_.get());
  if (message.status().code() == Code::kUnavailable) {  // its cells end with it
    rpc_.reset();
    EndAll();
    return OkStatus();
  }
  ODY_RETURN_IF_ERROR(message.status());
  if (!message->fds.empty()) return InvalidArgument("unexpected descriptors");
  ODY_ASSIGN_OR_RETURN(const wire::RootMessage type, wire::TypeOf(message->bytes));
  // The table of legal requests.
  switch (type) {
    case wire::RootMessage::kLaunch:
      return HandleLaunch(message->bytes);
    case wire::RootMessage::kKill:
      return HandleKill(message->bytes);
    case wire::RootMessage::kStats:
      return HandleStats(message->bytes);
    default:
      return InvalidArgument("not a request");
  }
}

Status Runner::HandleLaunch(std::string_view bytes) {
  wire::Launch launch;
  wire::HostPlan plan;
  ODY_RETURN_IF_ERROR(wire::Decode(bytes, &launch));
  ODY_RETURN_IF_ERROR(wire::Decode(launch.plan, &plan));
  // rpc does not ask for these, so this is not rpc as we know it.
  ODY_RETURN_IF_ERROR(CheckUid(plan.uid, {.rpc = own_.rpc}));

  const auto socket = Start(plan);
  const wire::Launched answer{.request = launch.request,
                              .code = socket.status().code(),
                              .error = socket.status().message().substr(0, 1024),
                              .uid = plan.uid};
  return SendMessage(rpc_.get(), wire::Encode(answer),
                     socket.ok() ? std::vector<int>{socket->get()} : std::vector<int>{});
}

Result<HostUser> Runner::Authorize(uid_t uid) const {
  ODY_RETURN_IF_ERROR(CheckUid(uid, own_));
  ODY_ASSIGN_OR_RETURN(const auto grants, ReadGrants(grant_file_));
  ODY_ASSIGN_OR_RETURN(HostUser user, FindUser(uid));
  if (Names(grants, user)) return user;
  return PermissionDenied("danger_full_access: " + grant_file_ + " does not name " + user.name +
                          " (uid " + std::to_string(uid) + ")");
}

Result<UniqueFd> Runner::Start(const wire::HostPlan& plan) {
  ODY_RETURN_IF_ERROR(layout_.status());
  ODY_ASSIGN_OR_RETURN(HostUser user, Authorize(plan.uid));
  if (cells_.count(plan.cell_id) != 0)
    return AlreadyExists("cell_id " + plan.cell_id + ": is live");
  if (cells_.size() >= kMaxHostCells) {
    return ResourceExhausted(std::to_string(kMaxHostCells) + " cells are live on the host");
  }
  // The pid in the name tells the next supervisor whether we live (SweepDeadTrees).
  const std::string group =
      "odyssey-" + std::to_string(getpid()) + "-" + std::to_string(next_cell_++);
  auto cell = std::make_unique<HostCell>(*layout_, group, std::move(user), plan.workspace);
  auto socket = cell->Open({plan.memory_bytes, plan.cpu_millis, plan.pids});
  if (socket.ok()) cells_[plan.cell_id] = std::move(cell);
  return socket;
}

Status Runner::HandleKill(std::string_view bytes) {
  wire::Kill request;
  ODY_RETURN_IF_ERROR(wire::Decode(bytes, &request));
  const auto it = cells_.find(request.cell_id);
  if (it != cells_.end()) {
    it->second->End();
    return OkStatus();
  }
  return SendMessage(rpc_.get(), wire::Encode(wire::Gone{.cell_id = request.cell_id}));
}

Status Runner::HandleStats(std::string_view bytes) {
  wire::Stats request;
  ODY_RETURN_IF_ERROR(wire::Decode(bytes, &request));
  wire::StatsReply reply{.request = request.request};
  const auto it = cells_.find(request.cell_id);
  if (it != cells_.end()) {
    const root::CellUsage usage = it->second->Usage();
    reply = {.request = request.request,
             .found = true,
             .memory_bytes = usage.memory_bytes,
             .cpu_usec = usage.cpu_usec,
             .processes = usage.processes,
             .oom_kills = usage.oom_kills};
  }
  return SendMessage(rpc_.get(), wire::Encode(reply));
}

void Runner::EndAll() {
  for (auto& [id, cell] : cells_) cell->End();
}

Status Runner::Advance() {
  for (auto it = cells_.begin(); it != cells_.end();) {
    if (!it->second->Advance()) {
      ++it;
      continue;
    }
    if (rpc_) {
      ODY_RETURN_IF_ERROR(SendMessage(rpc_.get(), wire::Encode(wire::Gone{.cell_id = it->first})));
    }
    it = cells_.erase(it);
  }
  return OkStatus();
}

bool Runner::dying() const {
  return std::any_of(cells_.begin(), cells_.end(),
                     [](const auto& entry) { return entry.second->dying(); });
}

}  // namespace odyssey::host_runner
