#ifndef ODYSSEY_SUPERVISOR_HOST_RUNNER_HOST_CELL_H_
#define ODYSSEY_SUPERVISOR_HOST_RUNNER_HOST_CELL_H_

// A cell on the host: a control group with the limits, and in it one for each process started here,
// by which that process and everything that came of it is killed. Speaks with rpc as cell-init
// does. Runs as root; single-threaded.

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>

#include "common/base/status.h"
#include "common/os/cgroup_layout.h"
#include "common/os/unique_fd.h"
#include "supervisor/host_runner/grants.h"
#include "supervisor/host_runner/owner_process.h"
#include "supervisor/root/cgroup.h"
#include "supervisor/wire/host_wire.h"

namespace odyssey::host_runner {

// Where the supervisor's control groups are. FAILED_PRECONDITION without a v2 tree: its cgroup.kill
// alone ends what left its process group and session.
Result<CgroupLayout> FindHostLayout();

class HostCell final {
 public:
  struct Slot {
    pid_t pid = -1;    // of the command or what waits for it; -1 once reaped
    UniqueFd control;  // rpc has the other end; the file worker has none
    bool tools = false;
  };

  // `group` names the cell's control groups.
  HostCell(const CgroupLayout& layout, const std::string& group, HostUser user,
           std::string workspace);
  // Makes the groups; rpc's end of the cell's socket. Leaves nothing on failure.
  Result<UniqueFd> Open(const root::CellLimits& limits);

  uid_t uid() const { return user_.uid; }
  // A request on the cell's socket, or what rpc says about a slot. An error is a broken protocol.
  // If the user is not `allowed` any more, the request ends the cell.
  Status ReadSocket(const Status& allowed);
  Status ReadControl(Slot* slot, uint64_t number);

  // If the process is one of this cell's: says how it ended, and ends what it left behind.
  bool ChildExited(pid_t pid, int wait_status, const rusage& usage);
  // `why` is for people.
  void End(Status why = OkStatus());
  const Status& end_reason() const { return end_reason_; }
  // Moves on what is dying. True when nothing is left of the cell.
  bool Advance();
  // True if Advance should be called again soon.
  bool dying() const;

  wire::CellUsage Usage() const { return whole_.Usage("."); }
  int socket() const { return socket_.get(); }
  std::map<uint64_t, Slot>& slots() { return slots_; }

 private:
  Status GiveSlot();
  Status GiveTools();
  Result<uint64_t> StartProcess(int socket, OwnerBody body);
  void Kill(const Slot& slot, uint64_t number);

  const HostUser user_;
  const std::string workspace_;
  const std::string group_;
  const std::string parts_directory_;
  const std::string kill_file_;
  root::CgroupTree whole_;  // a tree of its own, whose top has the limits
  root::CgroupTree parts_;  // its v2 side, where each process has a group
  uint32_t max_slots_ = 0;
  UniqueFd socket_;
  std::map<uint64_t, Slot> slots_;
  uint64_t next_slot_ = 1;
  bool ending_ = false;
  int looks_ = 0;  // since it is ending
  Status end_reason_;
};

}  // namespace odyssey::host_runner

#endif  // ODYSSEY_SUPERVISOR_HOST_RUNNER_HOST_CELL_H_
