#ifndef ODYSSEY_SUPERVISOR_RPC_REVIEW_CELL_H_
#define ODYSSEY_SUPERVISOR_RPC_REVIEW_CELL_H_

// A review cell. Its only process is odyssey-cell-review.

#include <functional>
#include <memory>
#include <utility>

#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "policy/plan/plan.h"
#include "supervisor/rpc/call_cell.h"
#include "supervisor/wire/review_wire.h"

namespace odyssey::supervisor {

class ReviewCell final {
 public:
  // Blocking; not for the loop's thread. `loop` and `root` are borrowed and outlive the cell.
  // `plan` is without a cell_id.
  static Result<std::unique_ptr<ReviewCell>> Start(EventLoop* loop, RootClient* root,
                                                   plan::Plan plan, const review::Setup& setup);
  ReviewCell(const ReviewCell&) = delete;
  ReviewCell& operator=(const ReviewCell&) = delete;
  // Waits until nothing of the cell is left. It ends by itself when its stream does.
  ~ReviewCell() { stream_.reset(); }

  // Blocking. `take` gets each item; what it refuses ends the call. The End's own status is not
  // looked at.
  using Take = std::function<Status(review::Item)>;
  Result<review::End> Ask(const review::Request& request, const Take& take);

  // Its cell_tree goes with it.
  void PurgeAtEnd() { cell_->PurgeAtEnd(); }

 private:
  ReviewCell(std::unique_ptr<CallCell> cell, UniqueFd stream)
      : cell_(std::move(cell)), stream_(std::move(stream)) {}

  const std::unique_ptr<CallCell> cell_;
  UniqueFd stream_;
};

// Why it was not done, whether the cell is gone or says so in its End.
Status StatusOf(const Result<review::End>& end);

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_REVIEW_CELL_H_
