#ifndef ODYSSEY_SUPERVISOR_ROOT_CELLS_H_
#define ODYSSEY_SUPERVISOR_ROOT_CELLS_H_

// The live cells of root: their uids, processes and control groups, from launch until nothing of
// them is left. Runs as root; single-threaded.

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "policy/plan/plan.h"
#include "supervisor/root/cgroup.h"
#include "supervisor/root/launch.h"
#include "supervisor/root/staging.h"

namespace odyssey::root {

// Cells at a time; also the size of the uid range. 1024 × (about five processes) stays far below
// the kernel's default pid_max of 32768.
inline constexpr uint32_t kMaxCells = 1024;

class CellTable final {
 public:
  CellTable(CgroupTree* cgroups, StagingPaths paths, uid_t first_uid);

  struct Started {
    uid_t uid = 0;
    UniqueFd socket, freezer;  // the caller's end of the cell's socket; cgroup.freeze or none
  };
  // The plan must have been checked.
  Result<Started> Start(const plan::Plan& plan);

  // Begins to end a cell; it is gone when Advance says so. False if there is no such cell.
  bool End(const std::string& cell_id, bool purge);
  // Every cell, and the launcher made ready.
  void EndAll();

  // Makes a launcher ready for the next cell, if there is none. A failure shows when it is needed.
  void PrepareNext();

  // To be called for every child reaped; ignores pids that are not of a cell.
  void ChildExited(pid_t pid, int wait_status);

  // Moves dying cells on and returns those of which nothing is left now.
  std::vector<wire::Gone> Advance();

  bool empty() const { return cells_.empty(); }
  // True if Advance should be called again soon.
  bool dying() const;
  bool Has(const std::string& cell_id) const { return cells_.count(cell_id) != 0; }
  wire::CellUsage Usage(const std::string& cell_id) const;

 private:
  struct Cell {
    pid_t pid = -1;      // bubblewrap; -1 once reaped
    pid_t removal = -1;  // the child that removes the tree
    uint32_t slot = 0;   // see UidOf
    uid_t uid = 0;       // of its commands
    UniqueFd messages;
    std::string tree;
    Status reason = Unavailable("");
    bool ending = false;
    bool purge = false;
  };

  struct Spare {
    uint32_t slot = 0;
    Launcher launcher;
  };

  uid_t UidOf(uint32_t slot) const { return paths_.rootless ? first_uid_ : first_uid_ + slot; }
  Result<uint32_t> FreeSlot() const;
  Result<Spare> MakeSpare();
  // Gives the slot back; the control group must be empty, or about to be.
  void FreeSlotOf(uint32_t slot);
  void EndSpare();
  bool Finished(Cell* cell);

  CgroupTree* const cgroups_;
  StagingPaths paths_;
  const uid_t first_uid_;
  std::map<std::string, Cell> cells_;
  std::optional<Spare> spare_;
  bool spare_died_ = false;  // then none is made ahead of need: it could die again, and again
  std::vector<bool> slots_;  // in use; slot 0 is never
};

}  // namespace odyssey::root

#endif  // ODYSSEY_SUPERVISOR_ROOT_CELLS_H_
