// odyssey-host-runner: started by odyssey-supervisor's keeper, with the supervisor's own options,
// where the operator's grant file is. See docs/policy/danger.md.

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <iterator>

#include "common/os/stdio.h"
#include "common/os/uid_range.h"
#include "supervisor/host_runner/runner.h"
#include "supervisor/root/cells.h"
#include "supervisor/root/options.h"
#include "supervisor/wire/root_wire.h"

namespace odyssey::host_runner {
namespace {

// The keeper may have died before the signal was set: then another process is our parent.
Status DieWithTheKeeper(const root::Options& options) {
  if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0) return ErrnoStatus(errno, "set the death signal");
  char program[PATH_MAX];
  const std::string link = "/proc/" + std::to_string(getppid()) + "/exe";
  const ssize_t n = readlink(link.c_str(), program, sizeof(program));
  const std::string parent(program, n > 0 ? static_cast<size_t>(n) : 0);
  if (parent.rfind(options.program_directory + "/odyssey-supervisor", 0) == 0) return OkStatus();
  return FailedPrecondition("is started by odyssey-supervisor alone");
}

// All that is left of root: to become the granted users, to end them, and to make control groups,
// whose top directories are not writable by mode.
Status KeepFewCapabilities() {
  for (int capability = 0; CAP_IS_SUPPORTED(capability); ++capability) cap_drop_bound(capability);
  constexpr cap_value_t kKept[] = {CAP_SETUID, CAP_SETGID, CAP_KILL, CAP_DAC_OVERRIDE};
  const cap_t set = cap_init();
  cap_set_flag(set, CAP_PERMITTED, std::size(kKept), kKept, CAP_SET);
  cap_set_flag(set, CAP_EFFECTIVE, std::size(kKept), kKept, CAP_SET);
  const int done = cap_set_proc(set);
  cap_free(set);
  if (done != 0) return ErrnoStatus(errno, "drop capabilities");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return ErrnoStatus(errno, "set no_new_privs");
  return OkStatus();
}

OwnUids OwnUidsOf(const root::Options& options) {
  return {.rpc = options.rpc_uid,
          .clients = options.client_uids,
          .first_cell = options.uid_base,
          .last_cell = options.uid_base + kMaxUidRanges * (root::kMaxCells + 1)};
}

Status Serve(const root::Options& options) {
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  ODY_RETURN_IF_ERROR(DieWithTheKeeper(options));
  auto layout = FindHostLayout();
  UniqueFd listener(wire::kHostFd);  // CLOEXEC: no child inherits it
  if (fcntl(wire::kHostFd, F_SETFD, FD_CLOEXEC) != 0) return ErrnoStatus(errno, "find the socket");
  ODY_RETURN_IF_ERROR(KeepFewCapabilities());
  const Status status =
      Runner(options.danger_grants, OwnUidsOf(options), std::move(layout), std::move(listener))
          .Run();
  unlink(wire::HostSocket(options.run_directory).c_str());
  return status;
}

}  // namespace
}  // namespace odyssey::host_runner

[[gnu::section(".preinit_array"), gnu::used]] void (*const kFirst)() = odyssey::OpenMissingStdio;

int main(int argc, char** argv) {
  const auto options = odyssey::root::ParseOptions(argc, argv);
  const odyssey::Status status =
      options.ok() ? odyssey::host_runner::Serve(*options) : options.status();
  if (status.ok()) return 0;
  fprintf(stderr, "<3>odyssey-host-runner: %s\n", status.message().c_str());
  return 1;
}
