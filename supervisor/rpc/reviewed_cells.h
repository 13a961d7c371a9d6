#ifndef ODYSSEY_SUPERVISOR_RPC_REVIEWED_CELLS_H_
#define ODYSSEY_SUPERVISOR_RPC_REVIEWED_CELLS_H_

// Which cells have directories whose writes wait for a commit, and how each was asked for: their
// changes outlive the cells, and this supervisor. Files of the rpc user's own directory, one for
// each cell; no value of the environment is in one, nor a device's number. Thread-safe.

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "odyssey/supervisor/v1/supervisor.pb.h"
#include "supervisor/rpc/cell_files.h"

namespace odyssey::supervisor {

class ReviewedCells final {
 public:
  // Makes `reviewed` in `directory`, which is borrowed for the call.
  static Result<ReviewedCells> Open(int directory);
  ReviewedCells(ReviewedCells&& other) noexcept : files_(std::move(other.files_)) {}

  // The newest request of a cell is what is remembered.
  Status Remember(const v1::PrepareCellRequest& request);
  // NOT_FOUND names the key.
  Result<v1::PrepareCellRequest> Find(const v1::CellKey& key);
  void Forget(const v1::CellKey& key);
  std::vector<v1::PrepareCellRequest> All();

 private:
  explicit ReviewedCells(CellFiles files) : files_(std::move(files)) {}

  Result<v1::PrepareCellRequest> Load(const std::string& name) const;

  CellFiles files_;
  std::mutex mutex_;
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_REVIEWED_CELLS_H_
