#include "supervisor/cell_init/init.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "common/os/message_socket.h"
#include "policy/plan/kernel_memory.h"
#include "policy/plan/plan.h"
#include "supervisor/cell_init/guard_process.h"
#include "supervisor/cell_init/inherited_attributes.h"
#include "supervisor/cell_init/resolver.h"
#include "supervisor/cell_init/slot.h"
#include "supervisor/cell_init/tools_process.h"
#include "supervisor/cell_tools/run_tree.h"
#include "supervisor/cell_tools/startup_memory.h"

namespace odyssey::cell_init {

namespace {

constexpr uint32_t kMostRunsCounted = 10'000;

// Slots that ended and whose mounts are held, since there always was a command. Only commands that
// mean it end so many.
constexpr size_t kMostGone = 256;

// What every slot inherits, set once: not the supervisor's priority, personality and core limit.
Status PrepareForSlots() {
  ODY_RETURN_IF_ERROR(ResetScheduling());
  ODY_RETURN_IF_ERROR(ResetPersonality());
  return LimitCores();
}

// What is mounted there may be a file of the host's, in which no command could start.
Status CheckWorkspace() {
  struct stat info;
  if (stat(plan::kWorkspacePath, &info) != 0) return ErrnoStatus(errno, "stat the workspace");
  if (S_ISDIR(info.st_mode)) return OkStatus();
  return InvalidArgument(std::string(plan::kWorkspacePath) +
                         " is no directory, and only one is allowed")
      .With({.field = "workspace"});
}

// The owner of a mapped directory is this cell's own user.
cell::Unmapped FindUnmapped(const cell::Configure& configure) {
  std::vector<std::string> targets = {plan::kWorkspacePath};
  for (const cell::ToolRoot& root : configure.tool_roots) targets.push_back(root.path);
  cell::Unmapped unmapped;
  for (std::string& target : targets) {
    struct stat info;
    if (lstat(target.c_str(), &info) != 0 || info.st_uid == geteuid()) continue;
    unmapped.targets.push_back(std::move(target));
  }
  return unmapped;
}

}  // namespace

Status CellInit::Run() {
  ODY_RETURN_IF_ERROR(PrepareForSlots());
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGCHLD);
  if (sigprocmask(SIG_BLOCK, &mask, nullptr) != 0) return ErrnoStatus(errno, "block signals");
  const UniqueFd signals(signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals) return ErrnoStatus(errno, "create signalfd");

  const cell_tools::RunTree runs(cell::kRunsPath);
  const cell::Hello hello{.landlock_abi = LandlockAbi(), .runs = runs.Count(kMostRunsCounted)};
  ODY_RETURN_IF_ERROR(SendMessage(socket_, cell::Encode(hello)));
  for (;;) {
    pollfd polled[] = {{signals.get(), POLLIN, 0},
                       {socket_, POLLIN, 0},
                       {connections_.fd(), POLLIN, 0},
                       {resolver_.get(), POLLIN, 0}};
    const int ready = poll(polled, std::size(polled), connections_.TimeoutMs());
    if (ready < 0 && errno != EINTR) return ErrnoStatus(errno, "poll");
    if (polled[0].revents != 0) {
      signalfd_siginfo info;
      (void)!read(signals.get(), &info, sizeof(info));
      ODY_RETURN_IF_ERROR(Reap());
    }
    if (polled[2].revents != 0) connections_.Receive();
    if (polled[3].revents != 0) AnswerQuery(resolver_.get(), &names_);
    EndFloods();
    if (polled[1].revents == 0) continue;
    const auto message = ReceiveMessage(socket_);
    if (!message.ok()) return message.status();
    const Status status = Handle(message->bytes);
    const bool of_tools = message->bytes == cell::EncodeEmpty(cell::MessageType::kWantTools);
    if (!status.ok()) {
      ODY_RETURN_IF_ERROR(SendMessage(
          socket_, cell::Encode(cell::CellError{.status = status, .of_tools = of_tools})));
    }
  }
}

Status CellInit::Handle(std::string_view bytes) {
  ODY_ASSIGN_OR_RETURN(const cell::MessageType type, cell::TypeOf(bytes));
  if (type == cell::MessageType::kConfigure) return Configure(bytes);
  if (!confinement_) return FailedPrecondition("not configured");
  if (type == cell::MessageType::kWantSlot) return GiveSlot();
  if (type == cell::MessageType::kWantTools) return GiveTools();
  if (type == cell::MessageType::kOpenEgress) return OpenEgress(bytes);
  if (type == cell::MessageType::kSlotGone) return ReleaseSlotMounts(bytes);
  return InvalidArgument("not a request");
}

Status CellInit::Configure(std::string_view bytes) {
  cell::Configure configure;
  ODY_RETURN_IF_ERROR(cell::Decode(bytes, &configure));
  ODY_RETURN_IF_ERROR(CheckWorkspace());
  ODY_ASSIGN_OR_RETURN(confinement_, Confinement::Build(configure));
  if (configure.own_network) {
    ODY_ASSIGN_OR_RETURN(resolver_, OpenResolver());
  }
  const cell::Unmapped unmapped = FindUnmapped(configure);
  if (!unmapped.targets.empty()) {
    ODY_RETURN_IF_ERROR(SendMessage(socket_, cell::Encode(unmapped)));
  }
  ODY_ASSIGN_OR_RETURN(const bool guarded, StartGuards(configure));
  return guarded ? confinement_->AddRules(configure.rules) : OkStatus();
}

// The listening fd may be in flight (SCM_RIGHTS), so its holder is unknown.
void CellInit::EndFloods() {
  if (!connections_.IsTooMuch()) return;
  for (const auto& [pid, place] : slots_) kill(pid, cell::kConnectionsSignal);
}

Status CellInit::GiveSlot() {
  const SlotPlace place{.number = next_slot_++,
                        .spare_run = FreeSpareRun(),
                        .cell_socket = socket_,
                        .connections = connections_.fd(),
                        .names = &names_,
                        .ways = &ways_};
  ODY_ASSIGN_OR_RETURN(Slot slot, MakeSlot(*confinement_, place));
  cell_tools::ReleaseStartupPages();
  slots_[slot.pid] = place;
  mounts_[place.number] = std::move(slot.mounts);
  return SendMessage(socket_, cell::Encode(cell::SlotReady{.slot = place.number}),
                     {slot.exec.get(), slot.control.get()});
}

// The smallest: slots come and go, and what one left unused serves the next.
uint32_t CellInit::FreeSpareRun() const {
  std::vector<bool> taken(slots_.size() + 1);
  for (const auto& [pid, place] : slots_) {
    if (place.spare_run < taken.size()) taken[place.spare_run] = true;
  }
  return static_cast<uint32_t>(std::find(taken.begin(), taken.end(), false) - taken.begin());
}

Status CellInit::GiveTools() {
  ODY_ASSIGN_OR_RETURN(const UniqueFd tools, StartTools(*confinement_));
  return SendMessage(socket_, cell::EncodeEmpty(cell::MessageType::kToolsReady), {tools.get()});
}

Status CellInit::OpenEgress(std::string_view bytes) {
  cell::OpenEgress request;
  ODY_RETURN_IF_ERROR(cell::Decode(bytes, &request));
  resolver_.reset();
  return ways_.Open(request, socket_);
}

// No process that could hold a dirfd into this mount namespace is alive.
Status CellInit::ReleaseSlotMounts(std::string_view bytes) {
  cell::SlotGone gone;
  ODY_RETURN_IF_ERROR(cell::Decode(bytes, &gone));
  const bool lives = std::any_of(slots_.begin(), slots_.end(),
                                 [&](const auto& slot) { return slot.second.number == gone.slot; });
  if (!lives) mounts_.erase(gone.slot);
  return OkStatus();
}

Status CellInit::Reap() {
  for (pid_t pid; (pid = waitpid(-1, nullptr, WNOHANG)) > 0;) {
    const auto it = slots_.find(pid);
    if (it == slots_.end()) continue;
    (void)SendMessage(socket_, cell::Encode(cell::SlotGone{.slot = it->second.number}));
    slots_.erase(it);
  }
  if (mounts_.size() - slots_.size() <= kMostGone) return OkStatus();
  return Status(Code::kResourceExhausted, "too many slots ended while others ran");
}

}  // namespace odyssey::cell_init
