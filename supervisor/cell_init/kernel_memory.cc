#include "supervisor/cell_init/kernel_memory.h"

#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "policy/plan/kernel_memory.h"
#include "supervisor/cell_init/connection_watch.h"
#include "supervisor/cell_init/kernel_table.h"
#include "supervisor/cell_init/seccomp_notify.h"

namespace odyssey::cell_init {
namespace {

constexpr uint64_t kNewNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                    CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

// A lock within the range of another one of the same owner leaves three.
constexpr uint32_t kLocksOfACall = 2;
constexpr uint32_t kCallsAtFirst = cell::kMaxRangeLocks / kLocksOfACall;
// Nearly full, every call would count. The kernel holds up all locking of the host meanwhile.
constexpr uint32_t kFewCalls = kCallsAtFirst / 64;
constexpr std::chrono::milliseconds kBetweenCounts{500};
// Each that is connected in the cell brings an accepted one, of which the kernel sends no
// notification.
constexpr uint32_t kSocketsOfACall = 2;
constexpr uint32_t kMostCallsAtOnce = 16;  // slots do not know of each other's
constexpr uint32_t kPartAtOnce = 8;        // of what is left, where a count takes milliseconds

// Lines of a table of the kernel's that have `word` in them, or `most` if there are more; none if
// it cannot be read.
std::optional<uint32_t> CountLines(int table, std::string_view word, uint32_t most) {
  uint32_t count = 0;
  const bool is_read = ForEachLine(table, [&](const std::string& line) {
    if (line.find(word) != std::string::npos) ++count;
    return count < most;
  });
  if (!is_read) return std::nullopt;
  return count;
}

// "NETLINK   1104      5 …": the name, the size of one, how many. Those that are not bound are
// there too, which /proc/net/netlink is without.
std::optional<uint32_t> NetlinkSockets(int table) {
  std::optional<uint32_t> sockets;
  (void)ForEachLine(table, [&](const std::string& line) {
    const auto words = WordsOf(line);
    if (words.size() > 2 && words[0] == "NETLINK") sockets = NumberIn(words[2]);
    return !sockets;
  });
  return sockets;
}

bool LocksOfProcess(const seccomp_data& call) {
  return call.nr == SYS_fcntl && (Arg32(call, 1) == F_SETLK || Arg32(call, 1) == F_SETLKW);
}

bool LocksOfOpenFile(const seccomp_data& call) {
  return call.nr == SYS_fcntl && (Arg32(call, 1) == F_OFD_SETLK || Arg32(call, 1) == F_OFD_SETLKW);
}

bool OpensNetlink(const seccomp_data& call) {
  const uint32_t type = Arg32(call, 1) & kSocketTypeMask;
  return call.nr == SYS_socket && Arg32(call, 0) == AF_NETLINK &&
         (type == SOCK_RAW || type == SOCK_DGRAM) && Arg32(call, 2) == NETLINK_ROUTE;
}

bool OpensInternet(const seccomp_data& call) {
  return call.nr == SYS_socket &&
         cell::IsInternetSocket(Arg32(call, 0), Arg32(call, 1) & kSocketTypeMask, Arg32(call, 2));
}

bool Listens(const seccomp_data& call) { return call.nr == SYS_listen; }

// A process, not a thread, that has the same table of files: the locks of one are the other's.
bool SharesFiles(const seccomp_data& call) {
  const uint64_t flags = call.args[0];
  return call.nr == SYS_clone && (flags & kNewNamespaces) == 0 && (flags & CLONE_FILES) != 0 &&
         (flags & CLONE_THREAD) == 0;
}

}  // namespace

KernelMemory::KernelMemory(const SocketBounds& sockets, int watch)
    : sockets_(sockets),
      lock_table_(OpenTable("/proc/locks")),
      protocol_table_(OpenTable("/proc/self/net/protocols")),
      of_process_{" POSIX ", kCallsAtFirst, {}},
      // They outlive the command that took them if another one has the file, so that a new slot
      // does not know how many there are.
      of_open_file_{" OFDLCK ", 0, {}},
      watch_(watch) {
  constexpr const char* kOwn[] = {"/proc/self/net/sockstat"};
  constexpr const char* kOfAll[] = {"/proc/self/net/tcp", "/proc/self/net/udp",
                                    "/proc/self/net/tcp6", "/proc/self/net/udp6"};
  const std::span<const char* const> tables =
      sockets.own_network ? std::span<const char* const>(kOwn) : kOfAll;
  for (const char* table : tables) {
    if (access(table, F_OK) == 0) socket_tables_.push_back(OpenTable(table));
  }
}

bool KernelMemory::Bounds(const seccomp_data& call) {
  return LocksOfProcess(call) || LocksOfOpenFile(call) || OpensNetlink(call) ||
         OpensInternet(call) || SharesFiles(call) || Listens(call);
}

int KernelMemory::Judge(const seccomp_data& call) {
  if (OpensNetlink(call)) return IsRoomForNetlink() ? 0 : ENOBUFS;
  if (OpensInternet(call)) return TakeSocket() ? 0 : ENOBUFS;
  if (LocksOfOpenFile(call)) return TakeLock(&of_open_file_, true) ? 0 : ENOLCK;
  // The table does not show a lock whose process has ended, while another one has its files: from
  // now on it does not tell how many there are.
  if (LocksOfProcess(call)) return TakeLock(&of_process_, !files_are_shared_) ? 0 : ENOLCK;
  if (Listens(call)) {
    if (!std::exchange(listens_, true)) BeginListening(watch_);
  } else {
    files_are_shared_ = true;
  }
  return 0;
}

void KernelMemory::CommandEnded() {
  of_process_.calls = kCallsAtFirst;
  of_process_.next_count = {};
  files_are_shared_ = false;
  if (std::exchange(listens_, false)) EndListening(watch_);
}

bool KernelMemory::TakeLock(Locks* locks, bool can_count) {
  if (locks->calls == 0 && can_count && std::chrono::steady_clock::now() >= locks->next_count) {
    const auto held = CountLines(lock_table_.get(), locks->type, cell::kMaxRangeLocks);
    locks->calls = held ? (cell::kMaxRangeLocks - *held) / kLocksOfACall : 0;
    if (locks->calls < kFewCalls) {
      locks->next_count = std::chrono::steady_clock::now() + kBetweenCounts;
    }
  }
  if (locks->calls == 0) return false;
  --locks->calls;
  return true;
}

// Those that were let be opened and are not yet are not counted: one for each thread at most.
bool KernelMemory::IsRoomForNetlink() const {
  const auto open = NetlinkSockets(protocol_table_.get());
  return open &&
         *open < (sockets_.own_network ? cell::kMaxNetlinkSockets : cell::kMaxNetlinkSocketsOfHost);
}

// In the network of the host those of this uid that have an address: the others hold nothing.
std::optional<uint32_t> KernelMemory::SocketsInUse() const {
  if (socket_tables_.empty()) return std::nullopt;
  if (sockets_.own_network) return SocketsUsed(socket_tables_[0].get());
  constexpr size_t kUid = 7;
  uint32_t used = 0;
  bool is_read = true;
  for (const UniqueFd& table : socket_tables_) {
    is_read &= ForEachLine(table.get(), [&](const std::string& line) {
      const auto words = WordsOf(line);
      if (words.size() > kUid && words[0] != "sl" && NumberIn(words[kUid]) == getuid()) ++used;
      return used < sockets_.most;
    });
  }
  if (!is_read) return std::nullopt;
  return used;
}

bool KernelMemory::TakeSocket() {
  if (socket_calls_ == 0) {
    const uint32_t used = std::min(SocketsInUse().value_or(sockets_.most), sockets_.most);
    const uint32_t left = sockets_.most - used;
    const uint32_t few = sockets_.own_network ? kMostCallsAtOnce : left / kPartAtOnce + 1;
    socket_calls_ = std::min((left + 1) / kSocketsOfACall, few);
  }
  if (socket_calls_ == 0) return false;
  --socket_calls_;
  return true;
}

}  // namespace odyssey::cell_init
