// odyssey-egress-worker CERTIFICATES LIMIT…: serves the connections of one cell. Started by
// odyssey-egress with its socket to it as fd 3; reads what hostile programs and servers send.

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include "supervisor/egress/worker/confine.h"
#include "supervisor/egress/worker/worker.h"

namespace odyssey::egress {
namespace {

// More than this fails an allocation, and the connection that needs it.
void LimitMemory(const Limits& limits) {
  const rlim_t bytes = rlim_t{limits.worker_mib} << 20;
  const rlimit data{.rlim_cur = bytes, .rlim_max = bytes};
  setrlimit(RLIMIT_DATA, &data);
}

int Main(int argc, char** argv) {
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGPIPE, SIG_IGN);
  syscall(SYS_close_range, egress_wire::kWorkerFd + 1, ~0U, 0);
  fcntl(egress_wire::kWorkerFd, F_SETFD, FD_CLOEXEC);
  UniqueFd roots(argc > 1 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1);
  Limits limits;
  Status status;
  for (int i = 2; i < argc && status.ok(); ++i) status = SetLimit(argv[i], &limits);
  LimitMemory(limits);
  asio::io_context loop(1);
  Worker worker(&loop, UniqueFd(egress_wire::kWorkerFd), std::move(roots), limits);
  if (status.ok()) status = Confine();
  if (!status.ok()) {
    fprintf(stderr, "<3>odyssey-egress-worker: %s\n", status.message().c_str());
    return 1;
  }
  asio::co_spawn(loop, worker.Run(), asio::detached);
  loop.run();
  _exit(0);
}

}  // namespace
}  // namespace odyssey::egress

int main(int argc, char** argv) { return odyssey::egress::Main(argc, argv); }
