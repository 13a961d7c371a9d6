#include "ctl/doctor/probe_supervisor.h"

#include <unistd.h>

#include <utility>

#include "ctl/base/program_path.h"
#include "ctl/base/state_layout.h"

namespace odyssey::ctl {
namespace {

// The shell opens the file: what starts daemons here closes everything that it has open itself.
constexpr char kOpenAndExecute[] = "exec 9<\"$1\"; shift; exec \"$@\"";

}  // namespace

ProbeSupervisor::ProbeSupervisor(std::string directory, DaemonSpec spec)
    : directory_(std::move(directory)),
      monitor_({std::move(spec)}, /*signal_fd=*/-1,
               [this](const std::string& line) { log_ += line + "\n"; }) {}

Result<std::unique_ptr<ProbeSupervisor>> ProbeSupervisor::Start(const std::string& directory,
                                                                const std::string& variable,
                                                                const std::string& open_file) {
  ODY_ASSIGN_OR_RETURN(const std::string program, FindProgram("odyssey-supervisor"));
  const Identity rpc = ChooseIdentities().rpc;
  const bool rootless = geteuid() != 0;
  DaemonSpec spec = {
      .name = "odyssey-supervisor",
      .argv = {"/bin/sh", "-c", kOpenAndExecute, "sh", open_file, program, "--state",
               directory + "/state", "--run", directory + "/run",
               rootless ? "--rootless" : "--rpc-user", std::to_string(rpc.uid)},
      .env = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", variable},
      .uid = rootless ? rpc.uid : 0,
      .gid = rootless ? rpc.gid : 0,
      .own_user_namespace = rootless};
  std::unique_ptr<ProbeSupervisor> supervisor(new ProbeSupervisor(directory, std::move(spec)));
  ODY_RETURN_IF_ERROR(supervisor->monitor_.StartAll());
  return supervisor;
}

ProbeSupervisor::~ProbeSupervisor() { monitor_.StopAll(); }

}  // namespace odyssey::ctl
