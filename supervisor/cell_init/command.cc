#include "supervisor/cell_init/command.h"

#include <string>

#include "supervisor/cell_init/execute.h"
#include "supervisor/cell_init/worker_process.h"
#include "supervisor/cell_tools/run_tree.h"
#include "supervisor/wire/cell_wire.h"

namespace odyssey::cell_init {
namespace {

// The directories of a run, made by the process that becomes its command, under its confinement and
// before it is known: then they only need their name.
class RunMaker final {
 public:
  explicit RunMaker(uint32_t spare_run) : spare_(cell::SpareRunName(spare_run)) {
    // What cannot be made now is tried again, and said, when it is needed.
    (void)tree_.Make(spare_);
  }

  // Names the command's run in its environment, if there is one: a full disk does not keep a
  // command from running, which may be the one that makes room.
  void EnterInto(cell::ExecSpec* spec) const {
    if (spec->run == 0) return;
    const std::string name = cell::RunName(spec->run);
    const bool is_there = tree_.Rename(spare_, name).ok() || tree_.Make(name).ok();
    if (!is_there) return;
    spec->env.push_back(std::string(cell::kRunVariable) + "=" + cell::kRunsPath + "/" + name);
  }

 private:
  const cell_tools::RunTree tree_{cell::kRunsPath};
  const std::string spare_;
};

}  // namespace

void WaitAndExecute(const Confinement& confinement, uint32_t spare_run, int exec_socket) {
  UnblockSignals();
  const Status status = confinement.EnterLandlock();
  if (!status.ok()) Fail(exec_socket, status);
  confinement.DenyWriteExec();

  const RunMaker run(spare_run);
  NextCommand command = AwaitCommand(exec_socket);
  run.EnterInto(&command.spec);
  Execute(&command, exec_socket);
}

}  // namespace odyssey::cell_init
