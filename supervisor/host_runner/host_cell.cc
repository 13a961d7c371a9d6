#include "supervisor/host_runner/host_cell.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "common/os/file.h"
#include "common/os/message_socket.h"
#include "supervisor/cell_init/execute.h"
#include "supervisor/cell_tools/worker.h"
#include "supervisor/wire/cell_wire.h"

namespace odyssey::host_runner {
namespace {

constexpr char kTop[] = ".";              // of a control group tree
constexpr char kUnifiedPrefix[] = "0::";  // of our v2 group in /proc/self/cgroup
constexpr size_t kMaxControlFile = 64 * 1024;
constexpr int kLastSignal = 31;
// How many times an ending cell is looked at before what is dead in it need not be reaped: the
// process that traces a process of the same user can keep that from us for ever.
constexpr int kPatience = 1000;
constexpr timeval kSendTimeout{1, 0};

std::string PartOf(uint64_t number) { return "exec-" + std::to_string(number); }

uint64_t Microseconds(const timeval& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000 + static_cast<uint64_t>(time.tv_usec);
}

// Whether a child of ours, be it dead, is of the groups below that name. A group is empty as soon
// as its last process has left it, which is before that is reaped.
bool HasChildOf(const std::string& group) {
  const std::string parent = "\nPPid:\t" + std::to_string(getpid()) + "\n";
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(opendir("/proc"), closedir);
  while (const dirent* entry = proc != nullptr ? readdir(proc.get()) : nullptr) {
    const std::string process = "/proc/" + std::string(entry->d_name);
    const auto status = ReadFile(process + "/status", kMaxControlFile);
    if (!status.ok() || status->find(parent) == std::string::npos) continue;
    const auto groups = ReadFile(process + "/cgroup", kMaxControlFile);
    if (groups.ok() && groups->find("/" + group + "/") != std::string::npos) return true;
  }
  return false;
}

[[noreturn]] void BecomeCommand(const std::string&) {
  cell_init::NextCommand command = cell_init::AwaitCommand(kOwnerSocketFd);
  cell_init::Execute(&command, kOwnerSocketFd);
}

// The names of the first processes of a control group.
std::vector<std::string> NamesIn(const std::string& group) {
  std::vector<std::string> names;
  const auto pids = ReadFile(group + "/cgroup.procs", kMaxControlFile);
  for (size_t at = 0, end; pids.ok() && (end = pids->find('\n', at)) != std::string::npos;
       at = end + 1) {
    if (names.size() == cell::kMaxLeftProcesses) break;
    const auto comm = ReadFile("/proc/" + pids->substr(at, end - at) + "/comm", kMaxControlFile);
    if (comm.ok()) names.push_back(comm->substr(0, comm->find('\n')).substr(0, cell::kMaxComm));
  }
  return names;
}

// Everything on the host, as roots that a path may be below: the workspace, and whatever is in "/".
std::vector<cell::ToolRoot> HostRoots(const std::string& workspace) {
  std::vector<cell::ToolRoot> roots = {{.path = workspace}};
  const std::unique_ptr<DIR, int (*)(DIR*)> top(opendir("/"), closedir);
  while (const dirent* entry = top != nullptr ? readdir(top.get()) : nullptr) {
    const std::string path = "/" + std::string(entry->d_name);
    struct stat info;
    if (path == "/." || path == "/.." || path == workspace) continue;
    if (stat(path.c_str(), &info) == 0) roots.push_back({.path = path});  // else a dead link
  }
  return roots;
}

[[noreturn]] void BecomeFileWorker(const std::string& workspace) {
  _exit(cell_tools::Work(kOwnerSocketFd, HostRoots(workspace)).ok() ? 0 : 1);
}

}  // namespace

Result<CgroupLayout> FindHostLayout() {
  ODY_ASSIGN_OR_RETURN(CgroupLayout layout, FindCgroupLayout());
  // Where the service manager delegated a v2 group, the supervisor has moved to its leaf, and so
  // have we: the groups are made beside it.
  ODY_ASSIGN_OR_RETURN(const std::string own, ReadFile("/proc/self/cgroup", kMaxControlFile));
  const size_t begin = own.rfind(kUnifiedPrefix);
  const size_t leaf = own.rfind("/supervisor\n");
  if (layout.v2 && begin != std::string::npos && leaf != std::string::npos && leaf > begin) {
    layout.unified +=
        own.substr(begin + strlen(kUnifiedPrefix), leaf - begin - strlen(kUnifiedPrefix));
  }
  if (!layout.unified.empty()) return layout;
  return FailedPrecondition(
      "danger_full_access needs cgroup.kill, which Linux 5.14 has in a v2 "
      "tree; none is mounted here");
}

HostCell::HostCell(const CgroupLayout& layout, const std::string& group, HostUser user,
                   std::string workspace)
    : user_(std::move(user)),
      workspace_(std::move(workspace)),
      group_(group),
      parts_directory_(layout.unified + "/" + group + "/"),
      kill_file_(layout.unified + "/" + group + "/cgroup.kill"),
      whole_(layout, group),
      parts_({.v2 = layout.v2, .unified = layout.unified}, group) {}

Result<UniqueFd> HostCell::Open(const root::CellLimits& limits) {
  ODY_ASSIGN_OR_RETURN(auto ends, MessageSocketPair());
  setsockopt(ends.first.get(), SOL_SOCKET, SO_SNDTIMEO, &kSendTimeout, sizeof(kSendTimeout));
  Status status = whole_.Open();
  if (status.ok() && access(kill_file_.c_str(), F_OK) != 0) {
    status = FailedPrecondition("danger_full_access needs cgroup.kill, which Linux 5.14 has");
  }
  if (status.ok()) status = whole_.SetLimits(kTop, limits);
  if (!status.ok()) {
    whole_.Sweep();
    return status;
  }
  max_slots_ = limits.pids;
  socket_ = std::move(ends.first);
  return std::move(ends.second);
}

Status HostCell::ReadSocket(const Status& allowed) {
  if (!socket_) return OkStatus();  // ended since it was watched
  const auto message = ReceiveMessage(socket_.get());
  if (message.status().code() == Code::kUnavailable) {
    End();
    return OkStatus();
  }
  ODY_RETURN_IF_ERROR(message.status());
  ODY_ASSIGN_OR_RETURN(const cell::MessageType type, cell::TypeOf(message->bytes));
  const bool slot = type == cell::MessageType::kWantSlot;
  if (!slot && type != cell::MessageType::kWantTools) return InvalidArgument("not a request");
  if (!allowed.ok()) {
    End(allowed);
    return OkStatus();
  }
  const Status given = slot ? GiveSlot() : GiveTools();
  if (given.ok()) return OkStatus();
  return SendMessage(socket_.get(),
                     cell::Encode(cell::CellError{.status = given, .of_tools = !slot}));
}

Result<uint64_t> HostCell::StartProcess(int socket, OwnerBody body) {
  if (slots_.size() >= max_slots_) {
    return ResourceExhausted("as many processes as the cell may have");
  }
  const uint64_t number = next_slot_++;
  ODY_RETURN_IF_ERROR(parts_.Create(PartOf(number)));
  const auto pid =
      StartAsOwner(user_, {&whole_, &parts_, PartOf(number)}, socket, body, workspace_);
  if (!pid.ok()) {
    parts_.Remove(PartOf(number));
    return pid.status();
  }
  slots_[number].pid = *pid;
  return number;
}

Status HostCell::GiveSlot() {
  ODY_ASSIGN_OR_RETURN(auto exec, MessageSocketPair());
  ODY_ASSIGN_OR_RETURN(auto control, MessageSocketPair());
  ODY_ASSIGN_OR_RETURN(const uint64_t number, StartProcess(exec.second.get(), BecomeCommand));
  slots_[number].control = std::move(control.first);
  return SendMessage(socket_.get(), cell::Encode(cell::SlotReady{.slot = number}),
                     {exec.first.get(), control.second.get()});
}

Status HostCell::GiveTools() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return ErrnoStatus(errno, "create socket pair");
  }
  const UniqueFd theirs(ends[0]);
  const UniqueFd workers(ends[1]);
  ODY_ASSIGN_OR_RETURN(const uint64_t number, StartProcess(workers.get(), BecomeFileWorker));
  slots_[number].tools = true;
  return SendMessage(socket_.get(), cell::EncodeEmpty(cell::MessageType::kToolsReady),
                     {theirs.get()});
}

Status HostCell::ReadControl(Slot* slot, uint64_t number) {
  if (!slot->control) return OkStatus();
  const auto message = ReceiveMessage(slot->control.get());
  const bool closed = message.status().code() == Code::kUnavailable;
  if (closed || message.ok()) {
    if (closed || message->bytes == cell::EncodeEmpty(cell::MessageType::kKillSlot)) {
      Kill(*slot, number);
      if (closed) slot->control.reset();
      return OkStatus();
    }
  }
  ODY_RETURN_IF_ERROR(message.status());
  cell::SignalSlot request;
  ODY_RETURN_IF_ERROR(cell::Decode(message->bytes, &request));
  if (request.signal < 1 || request.signal > kLastSignal) return InvalidArgument("no such signal");
  // The command's own process group, which no process outside its session can join, and whose
  // number is not used again before the command is reaped. The child alone, where it has not
  // entered it.
  if (slot->pid > 0 && kill(-slot->pid, request.signal) != 0) kill(slot->pid, request.signal);
  return OkStatus();
}

// The child by its pid too: it may not have entered its group yet.
void HostCell::Kill(const Slot& slot, uint64_t number) {
  if (slot.pid > 0) kill(slot.pid, SIGKILL);
  parts_.Kill(PartOf(number));
}

bool HostCell::ChildExited(pid_t pid, int wait_status, const rusage& usage) {
  const auto it = std::find_if(slots_.begin(), slots_.end(),
                               [pid](const auto& entry) { return entry.second.pid == pid; });
  if (it == slots_.end()) return false;
  Slot& slot = it->second;
  slot.pid = -1;
  if (!slot.control || ending_) return true;  // what ends with the cell has no end of its own
  (void)SendMessage(
      slot.control.get(),
      cell::Encode(cell::ExecExited{.wait_status = wait_status,
                                    .user_usec = Microseconds(usage.ru_utime),
                                    .system_usec = Microseconds(usage.ru_stime),
                                    .max_rss_bytes = static_cast<uint64_t>(usage.ru_maxrss) * 1024,
                                    .left = NamesIn(parts_directory_ + PartOf(it->first))}));
  slot.control.reset();
  return true;
}

void HostCell::End(Status why) {
  if (!ending_) end_reason_ = std::move(why);
  ending_ = true;
  socket_.reset();
  for (const auto& [number, slot] : slots_) Kill(slot, number);
}

bool HostCell::Advance() {
  const bool patient = !ending_ || ++looks_ < kPatience;
  for (auto it = slots_.begin(); it != slots_.end();) {
    if (it->second.pid < 0) Kill(it->second, it->first);  // what the process left behind
    if ((it->second.pid > 0 && patient) || !parts_.Remove(PartOf(it->first))) {
      ++it;
      continue;
    }
    if (socket_ && !it->second.tools) {
      (void)SendMessage(socket_.get(), cell::Encode(cell::SlotGone{.slot = it->first}));
    }
    it = slots_.erase(it);
  }
  if (!ending_ || !slots_.empty() || (patient && HasChildOf(group_))) return false;
  whole_.Sweep();
  return true;
}

bool HostCell::dying() const {
  return ending_ || std::any_of(slots_.begin(), slots_.end(),
                                [](const auto& entry) { return entry.second.pid < 0; });
}

}  // namespace odyssey::host_runner
