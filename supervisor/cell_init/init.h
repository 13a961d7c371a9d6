#ifndef ODYSSEY_SUPERVISOR_CELL_INIT_INIT_H_
#define ODYSSEY_SUPERVISOR_CELL_INIT_INIT_H_

// cell-init's loop: makes slots and the tools worker when the supervisor asks, reaps what ends, and
// ends the cell when the supervisor's socket closes.

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "supervisor/cell_init/confinement.h"
#include "supervisor/cell_init/connection_watch.h"
#include "supervisor/cell_init/refused_names.h"
#include "supervisor/cell_init/slot.h"
#include "supervisor/cell_init/ways.h"

namespace odyssey::cell_init {

class CellInit final {
 public:
  // `socket` is the supervisor's, borrowed.
  explicit CellInit(int socket) : socket_(socket) {}

  // Says Hello and serves until the socket closes. As pid 1: returning ends every process.
  Status Run();

 private:
  Status Handle(std::string_view bytes);
  Status Configure(std::string_view bytes);
  void EndFloods();
  Status GiveSlot();
  uint32_t FreeSpareRun() const;
  Status GiveTools();
  Status OpenEgress(std::string_view bytes);
  Status Reap();
  Status ReleaseSlotMounts(std::string_view bytes);

  const int socket_;
  std::optional<Confinement> confinement_;
  ConnectionWatch connections_;
  UniqueFd resolver_;  // of a cell without a network
  Ways ways_;          // of a cell with egress
  RefusedNames names_;
  std::map<pid_t, SlotPlace> slots_;
  std::map<uint64_t, UniqueFd> mounts_;  // Slot::mounts by number, of those that are gone too
  uint64_t next_slot_ = 1;
};

}  // namespace odyssey::cell_init

#endif  // ODYSSEY_SUPERVISOR_CELL_INIT_INIT_H_
