#ifndef ODYSSEY_AGENTD_SESSION_CELL_QUOTA_H_
#define ODYSSEY_AGENTD_SESSION_CELL_QUOTA_H_

// Makes the cells of sessions within their owners' quotas and the supervisor's most: where there is
// no room, an idle cell is ended first, its files stay. Thread-safe.

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "agentd/sandbox/sandbox.h"
#include "agentd/session/runtime.h"
#include "common/base/status.h"

namespace odyssey::session {

class CellQuota final {
 public:
  // Ends the one of these cells whose session has been without work the longest. False: all have.
  using EndIdlest = std::function<bool(const std::vector<sandbox::Cell>& cells)>;
  explicit CellQuota(EndIdlest end_idlest) : end_idlest_(std::move(end_idlest)) {}

  // Sandbox::PrepareCell of a session's cell. RESOURCE_EXHAUSTED: the owner's quota of cells, and
  // all of its cells have work.
  Result<sandbox::Cell> Prepare(const sandbox::CellSpec& spec, const Runtime& runtime);

  // Live cells of the owner's sessions.
  static Result<uint64_t> Count(uint32_t owner, const Runtime& runtime);

 private:
  Status Reserve(const std::string& session_id, uint32_t owner, const Runtime& runtime);
  Result<sandbox::Cell> PrepareInRoom(const sandbox::CellSpec& spec, const Runtime& runtime);

  const EndIdlest end_idlest_;
  std::mutex mutex_;
  std::map<std::string, uint32_t> preparing_;  // guarded by mutex_: session → owner
};

}  // namespace odyssey::session

#endif  // ODYSSEY_AGENTD_SESSION_CELL_QUOTA_H_
