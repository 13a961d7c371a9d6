#include "supervisor/cell_init/refused_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "common/os/message_socket.h"
#include "supervisor/cell_init/destination.h"
#include "supervisor/cell_init/identity.h"
#include "supervisor/cell_init/seccomp_notify.h"

namespace odyssey::cell_init {
namespace {

// What the filter looks at where it allows a call in part, as far as it tells more than the name.
std::array<uint32_t, 3> DecidingArguments(const seccomp_data& call) {
  switch (call.nr) {
    case SYS_socket:
      return {Arg32(call, 0), Arg32(call, 1) & kSocketTypeMask, Arg32(call, 2)};
    case SYS_socketpair:
      return {Arg32(call, 0)};
    case SYS_ioctl:
    case SYS_fcntl:
      return {Arg32(call, 1)};
    case SYS_setsockopt:
      return {Arg32(call, 2)};
    default:
      return {};
  }
}

// The filter refuses setrlimit for no other limit, and prlimit64 for any of pid 1 too.
bool ChangesCoreLimit(const seccomp_data& call) {
  return call.nr == SYS_setrlimit ||
         (call.nr == SYS_prlimit64 && Arg32(call, 0) != 1 && Arg32(call, 1) == RLIMIT_CORE);
}

// Whether a change of RLIMIT_CORE asks for more than there is. The process waits; another thread of
// it may change what is read here, and gets the other answer: the call is never made.
bool AsksForMore(const seccomp_notif& call) {
  const uint64_t wanted_at = call.data.args[call.data.nr == SYS_setrlimit ? 1 : 2];
  rlimit wanted{}, own{};
  // A process whose memory cannot be read cannot leave a core either.
  if (ReadMemory(call, wanted_at, &wanted, sizeof(wanted)) != ssize_t{sizeof(wanted)}) return false;
  (void)getrlimit(RLIMIT_CORE, &own);
  return std::max(wanted.rlim_cur, wanted.rlim_max) > own.rlim_max;
}

}  // namespace

void RefusedCalls::Answer() {
  seccomp_notif call{};
  // Fails if the caller was killed before it could be looked at.
  if (ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) return;
  seccomp_notif_resp answer{};
  answer.id = call.id;
  if (GivesAddress(call.data)) {
    LetConnect(call, &answer);
  } else if (KernelMemory::Bounds(call.data)) {
    Bound(call, &answer);
  } else {
    Refuse(call, &answer);
  }
  // Fails if the caller has been killed meanwhile.
  (void)ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

// A lower limit for cores is not set, but said to be: 1 is the only one that keeps the host's
// handler of crashes from being started, and programs with secrets insist on 0.
void RefusedCalls::Refuse(const seccomp_notif& call, seccomp_notif_resp* answer) {
  if (ChangesCoreLimit(call.data) && !AsksForMore(call)) return;
  Count(call);
  answer->error = -EPERM;
}

void RefusedCalls::Bound(const seccomp_notif& call, seccomp_notif_resp* answer) {
  answer->error = -memory_.Judge(call.data);
  if (answer->error == 0) {
    answer->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  } else {
    Count(call);
  }
}

void RefusedCalls::Count(const seccomp_notif& call, const std::string& destination) {
  const auto number = static_cast<uint32_t>(call.data.nr);
  const auto arguments = DecidingArguments(call.data);
  const auto is_call = [&](const cell::RefusedCall& known) {
    return known.number == number && known.arguments == arguments &&
           known.destination == destination;
  };
  // A process that goes on and on is not looked up each time.
  auto known = std::find_if(calls_.begin(), calls_.end(), [&](const cell::RefusedCall& c) {
    return is_call(c) && c.pid == call.pid;
  });
  if (known == calls_.end()) {
    std::string comm = CommOf(call);
    known = std::find_if(calls_.begin(), calls_.end(),
                         [&](const cell::RefusedCall& c) { return is_call(c) && c.comm == comm; });
    if (known == calls_.end() && calls_.size() < cell::kMaxRefusedCalls) {
      calls_.push_back({number, arguments, 0, call.pid, std::move(comm), destination});
      known = calls_.end() - 1;
    }
  }
  if (known == calls_.end()) {
    ++more_;
  } else {
    ++known->count;
  }
}

// Before the connection is there to be accepted. Without room it has no identity, and is refused.
void RefusedCalls::Identify(const seccomp_notif& call, const std::string& destination) const {
  cell::Identity identity = IdentityOf(call);
  identity.destination = destination;
  const UniqueFd file = ways_->files() ? OpenOf(call, "exe") : UniqueFd();
  const UniqueFd memory = file ? OpenOf(call, "pagemap") : UniqueFd();
  if (ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_ID_VALID, &call.id) != 0) return;
  std::vector<int> fds;
  if (memory) fds = {file.get(), memory.get()};
  (void)SendMessage(ways_->identities(), cell::Encode(identity), fds, MSG_DONTWAIT);
}

// The kernel refuses what leads out of a cell without egress.
void RefusedCalls::LetConnect(const seccomp_notif& call, seccomp_notif_resp* answer) {
  answer->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  const Destination to = DestinationOf(call);
  if (ways_ != nullptr && ways_->identities() >= 0) {
    const bool ours = !to.text.empty() || to.own_port == cell::kProxyPort;
    return call.data.nr == SYS_connect && ours ? Identify(call, to.text) : void();
  }
  if (to.own_port == cell::kResolverPort && names_ != nullptr && !asked_after_)
    asked_after_ = names_->last();
  if (!to.text.empty()) Count(call, to.text);
}

void RefusedCalls::CountConnections() {
  if (calls_.size() < cell::kMaxRefusedCalls) {
    calls_.push_back({.number = SYS_listen, .count = 1});
  } else {
    ++more_;
  }
}

// The caller waits, so it is there to be looked at, unless it is killed in this moment: then its
// number could already be another's.
std::string RefusedCalls::CommOf(const seccomp_notif& call) const {
  const UniqueFd file = OpenOf(call, "comm");
  char text[cell::kMaxComm + 1];
  const ssize_t n = file ? read(file.get(), text, sizeof(text)) : -1;
  if (n <= 0 || ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_ID_VALID, &call.id) != 0) return "";
  const auto length = std::min(static_cast<size_t>(n), size_t{cell::kMaxComm});
  std::string comm(text, length);
  return comm.substr(0, comm.rfind('\n'));
}

void RefusedCalls::MoveTo(cell::ExecExited* report) {
  report->refused = std::exchange(calls_, {});
  report->refused_more = std::exchange(more_, 0);
  if (!asked_after_) return;
  for (std::string& name : names_->After(*asked_after_)) {
    report->refused.push_back({.count = 1, .destination = std::move(name)});
  }
  asked_after_.reset();
}

}  // namespace odyssey::cell_init
