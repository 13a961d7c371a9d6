// odyssey-agentd: sessions, turns, tools, approvals, models.

#include <errno.h>
#include <sys/prctl.h>

#include <cstdio>
#include <string>
#include <vector>

#include "agentd/daemon/daemon.h"
#include "agentd/daemon/log.h"
#include "agentd/daemon/options.h"
#include "agentd/service/version.h"
#include "common/os/stdio.h"

[[gnu::section(".preinit_array"), gnu::used]] void (*const kFirst)() = odyssey::OpenMissingStdio;

int main(int argc, char** argv) noexcept {
  namespace daemon = odyssey::daemon;
  const auto options = daemon::ParseOptions(std::vector<std::string>(argv + 1, argv + argc));
  if (!options.ok()) {
    std::fprintf(stderr, "odyssey-agentd: %s\n", options.status().message().c_str());
    return 2;
  }
  if (options->help || options->version) {
    const std::string version = "odyssey-agentd " + std::string(odyssey::service::kVersion) + "\n";
    std::fputs(options->help ? daemon::Usage().c_str() : version.c_str(), stdout);
    return 0;
  }
  // Nothing that it could be made to execute gains a right by that. A unit of systemd's says the
  // same.
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    const odyssey::Status failed = odyssey::ErrnoStatus(errno, "set no_new_privs");
    daemon::Log(daemon::Priority::kError, failed.message());
    return 1;
  }
  const odyssey::Status served = daemon::Serve(*options);
  if (served.ok()) return 0;
  daemon::Log(daemon::Priority::kError, served.message());
  return 1;
}
