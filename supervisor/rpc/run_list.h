#ifndef ODYSSEY_SUPERVISOR_RPC_RUN_LIST_H_
#define ODYSSEY_SUPERVISOR_RPC_RUN_LIST_H_

// The runs of one cell: their numbers, their users, and when old ones are worth removing. A
// value; used on the loop's thread only.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace odyssey::supervisor {

class RunList final {
 public:
  // A new run, in use until Release. `now` is in nanoseconds since 1970: numbers grow with it, over
  // the lives of a cell.
  uint64_t Begin(uint64_t now);
  // One more use of a run that this cell has. INVALID_ARGUMENT or NOT_FOUND naming `field`.
  Result<uint64_t> Use(std::string_view field, const std::string& run_id);
  void Release(uint64_t run);

  // Runs that an earlier cell left in these directories.
  void AddFound(uint32_t count) { on_disk_ += count; }
  // True if there are enough to remove some: the caller does, and says Trimmed.
  bool StartTrim();
  // Names of runs that must stay however old they are.
  std::vector<std::string> InUse() const;
  // Only the newest are left, and those in use.
  void Trimmed(uint32_t left);

 private:
  std::map<uint64_t, int> uses_;  // by run, oldest first; 0: not in use
  uint64_t last_ = 0;
  uint64_t on_disk_ = 0;  // an upper bound
  bool trimming_ = false;
};

// INVALID_ARGUMENT naming `field` if `run_id` has not the form of one.
Result<uint64_t> ParseRunId(std::string_view field, const std::string& run_id);

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_RUN_LIST_H_
