#include "supervisor/host_runner/runner.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

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
  // After a broken protocol there may be cells left; their end is reported no more.
  stopping_ = true;
  EndAll();
  Advance();
  const Status ended = Loop();
  return status.ok() ? ended : status;
}

std::vector<Runner::Watched> Runner::EverythingWatched() {
  std::vector<Watched> all = {{signals_.get(), [this] { return ReadSignals(); }}};
  if (!stopping_) all.push_back({listener_.get(), [this] { return Accept(); }});
  for (Conversation& with : conversations_) {
    if (with.rpc) all.push_back({with.rpc.get(), [this, &with] { return ReadRequest(&with); }});
    HostCell* cell = with.cell.get();
    if (cell == nullptr || cell->socket() < 0) continue;
    // The file is read again for each command, and for each operation on files.
    all.push_back({cell->socket(),
                   [this, cell] { return cell->ReadSocket(Authorize(cell->uid()).status()); }});
    for (auto& [number, slot] : cell->slots()) {
      if (!slot.control) continue;
      all.push_back(
          {slot.control.get(), [cell, s = &slot, n = number] { return cell->ReadControl(s, n); }});
    }
  }
  return all;
}

Status Runner::Loop() {
  while (!stopping_ || !conversations_.empty()) {
    const std::vector<Watched> watched = EverythingWatched();
    std::vector<pollfd> polled;
    for (const Watched& one : watched) polled.push_back({one.fd, POLLIN, 0});
    if (poll(polled.data(), polled.size(), dying() ? kDyingPollMs : -1) < 0 && errno != EINTR) {
      return ErrnoStatus(errno, "poll");
    }
    // Handlers close descriptors and end cells; what they are about goes in Advance alone.
    for (size_t i = 0; i < polled.size(); ++i) {
      if (polled[i].revents != 0) ODY_RETURN_IF_ERROR(watched[i].handler());
    }
    Advance();
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
    for (Conversation& with : conversations_) {
      if (with.cell && with.cell->ChildExited(pid, status, usage)) break;
    }
  }
  return OkStatus();
}

// Whom the file names is said here, for people; what counts is what it names at the launch.
Status Runner::Accept() {
  UniqueFd rpc(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (!rpc || getsockopt(rpc.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
      peer.uid != own_.rpc) {
    return OkStatus();  // gone again, or another uid, which gets no answer
  }
  setsockopt(rpc.get(), SOL_SOCKET, SO_SNDTIMEO, &kSendTimeout, sizeof(kSendTimeout));
  const auto grants = ReadGrants(grant_file_);
  wire::HostHello hello;
  if (grants.ok()) hello.users = *grants;
  hello.error = layout_.ok() ? grants.status().message() : layout_.status().message();
  const bool full = conversations_.size() >= kMaxHostCells;
  if (full)
    hello.error = std::to_string(kMaxHostCells) + " cells on the host, the most there can be";
  if (!SendMessage(rpc.get(), wire::Encode(hello)).ok() || full) return OkStatus();
  conversations_.emplace_back().rpc = std::move(rpc);
  return OkStatus();
}

Status Runner::ReadRequest(Conversation* with) {
  if (!with->rpc) return OkStatus();  // ended since it was watched
  const auto message = ReceiveMessage(with->rpc.get());
  if (message.status().code() == Code::kUnavailable) {  // the cell ends with it
    with->rpc.reset();
    if (with->cell) with->cell->End();
    return OkStatus();
  }
  ODY_RETURN_IF_ERROR(message.status());
  if (!message->fds.empty()) return InvalidArgument("unexpected descriptors");
  ODY_ASSIGN_OR_RETURN(const wire::RootMessage type, wire::TypeOf(message->bytes));
  // The table of legal requests.
  switch (type) {
    case wire::RootMessage::kLaunch:
      return HandleLaunch(with, message->bytes);
    case wire::RootMessage::kKill:
      return HandleKill(with, message->bytes);
    case wire::RootMessage::kStats:
      return HandleStats(with, message->bytes);
    default:
      return InvalidArgument("not a request");
  }
}

Status Runner::HandleLaunch(Conversation* with, std::string_view bytes) {
  wire::Launch launch;
  wire::HostPlan plan;
  ODY_RETURN_IF_ERROR(wire::Decode(bytes, &launch));
  ODY_RETURN_IF_ERROR(wire::Decode(launch.plan, &plan));
  if (with->cell) return InvalidArgument("a second launch");
  // rpc does not ask for these, so this is not rpc as we know it.
  ODY_RETURN_IF_ERROR(CheckUid(plan.uid, {.rpc = own_.rpc}));

  const auto socket = Start(plan, with);
  const wire::Launched answer{
      .request = launch.request, .status = socket.status(), .uid = plan.uid};
  const bool started = socket.ok() && *socket;
  return SendMessage(with->rpc.get(), wire::Encode(answer),
                     started ? std::vector<int>{socket->get()} : std::vector<int>{});
}

Result<HostUser> Runner::Authorize(uid_t uid) const {
  ODY_RETURN_IF_ERROR(CheckUid(uid, own_));
  ODY_ASSIGN_OR_RETURN(const auto grants, ReadGrants(grant_file_));
  ODY_ASSIGN_OR_RETURN(HostUser user, FindUser(uid));
  if (Names(grants, user)) return user;
  return PermissionDenied("danger_full_access: " + grant_file_ + " does not name " + user.name +
                          " (uid " + std::to_string(uid) + ")");
}

Result<UniqueFd> Runner::Start(const wire::HostPlan& plan, Conversation* with) {
  ODY_RETURN_IF_ERROR(layout_.status());
  ODY_ASSIGN_OR_RETURN(HostUser user, Authorize(plan.uid));
  if (plan.check_only) return UniqueFd();
  // The pid in the name tells the next supervisor whether we live (SweepDeadTrees).
  const std::string group =
      "odyssey-" + std::to_string(getpid()) + "-" + std::to_string(next_cell_++);
  auto cell = std::make_unique<HostCell>(*layout_, group, std::move(user), plan.workspace);
  ODY_ASSIGN_OR_RETURN(UniqueFd socket,
                       cell->Open({plan.memory_bytes, plan.cpu_millis, plan.pids}));
  with->cell_id = plan.cell_id;
  with->cell = std::move(cell);
  return socket;
}

Status Runner::HandleKill(Conversation* with, std::string_view bytes) {
  wire::Kill request;
  ODY_RETURN_IF_ERROR(wire::Decode(bytes, &request));
  if (with->cell) {
    with->cell->End();
    return OkStatus();
  }
  // It ended by itself, and the request crossed the news of that.
  return SendMessage(with->rpc.get(), wire::Encode(wire::Gone{.cell_id = request.cell_id}));
}

Status Runner::HandleStats(Conversation* with, std::string_view bytes) {
  wire::Stats request;
  ODY_RETURN_IF_ERROR(wire::Decode(bytes, &request));
  wire::StatsReply reply{.request = request.request, .found = with->cell != nullptr};
  if (reply.found) reply.usage = with->cell->Usage();
  return SendMessage(with->rpc.get(), wire::Encode(reply));
}

void Runner::EndAll() {
  for (Conversation& with : conversations_) {
    with.rpc.reset();
    if (with.cell) with.cell->End();
  }
}

// A conversation is over when rpc has closed it and nothing of its cell is left.
void Runner::Advance() {
  for (Conversation& with : conversations_) {
    if (!with.cell || !with.cell->Advance()) continue;
    const Status reason = with.cell->end_reason();
    with.cell.reset();
    if (!with.rpc) continue;
    const wire::Gone gone{.cell_id = with.cell_id,
                          .reason = reason.ok() ? Unavailable("") : reason};
    // rpc may be gone itself, or have closed the conversation.
    if (!SendMessage(with.rpc.get(), wire::Encode(gone)).ok()) with.rpc.reset();
  }
  conversations_.remove_if([](const Conversation& with) { return !with.rpc && !with.cell; });
}

bool Runner::dying() const {
  return std::any_of(conversations_.begin(), conversations_.end(),
                     [](const Conversation& with) { return with.cell && with.cell->dying(); });
}

}  // namespace odyssey::host_runner
