#ifndef ODYSSEY_SUPERVISOR_RPC_CELL_VIEW_H_
#define ODYSSEY_SUPERVISOR_RPC_CELL_VIEW_H_

// A cell as clients see it. A value.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "odyssey/supervisor/v1/supervisor.pb.h"
#include "policy/model/request.h"
#include "supervisor/rpc/cell_key.h"
#include "supervisor/wire/root_wire.h"

namespace odyssey::supervisor {

// What a cell's phase is, since when, why, and by whom.
struct Standing {
  v1::CellPhase phase = v1::CELL_PHASE_UNSPECIFIED;
  std::string since, reason;
  std::optional<uint32_t> by_uid;  // of ChangeCell's caller; absent: no call
};

struct CellView {
  std::string id;
  CellKey key;
  uint32_t revision = 0;
  std::string policy_digest;
  uint32_t host_uid = 0;
  uint32_t running_execs = 0;
  wire::CellUsage usage;
  std::string created_at;
  std::string workspace_path;
  policy::Mode mode = policy::Mode::kWorkspaceWrite;
  uint32_t owner_uid = 0;
  bool reviewable = false;
  bool host_network = false;
  std::vector<std::string> explanation;
  Standing standing;
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_CELL_VIEW_H_
