#ifndef ODYSSEY_SUPERVISOR_RPC_STANDING_STORE_H_
#define ODYSSEY_SUPERVISOR_RPC_STANDING_STORE_H_

// Which cells are stopped or quarantined, beyond the life of this supervisor. Files of the rpc
// user's own directory, one for each cell: its CellInfo as it was. Thread-safe, except Open.

#include <utility>
#include <vector>

#include "common/base/status.h"
#include "odyssey/supervisor/v1/supervisor.pb.h"
#include "supervisor/rpc/cell_files.h"

namespace odyssey::supervisor {

class StandingStore final {
 public:
  // Makes `standings` in `directory`, which is borrowed for the call.
  static Result<StandingStore> Open(int directory);

  // On disk when it returns OK. One call at a time for a key.
  Status Save(const v1::CellInfo& cell) const;
  Status Erase(const v1::CellKey& key) const;
  // DATA_LOSS names a file that cannot be read: what it kept from running must not run.
  Result<std::vector<v1::CellInfo>> All() const;

 private:
  explicit StandingStore(CellFiles files) : files_(std::move(files)) {}

  CellFiles files_;
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_STANDING_STORE_H_
