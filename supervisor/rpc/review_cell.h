#ifndef ODYSSEY_SUPERVISOR_RPC_REVIEW_CELL_H_
#define ODYSSEY_SUPERVISOR_RPC_REVIEW_CELL_H_

// A review cell: started for one call, and ended with it. Its only process is odyssey-cell-review.

#include <functional>
#include <future>
#include <memory>
#include <string>

#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "policy/plan/plan.h"
#include "supervisor/rpc/event_loop.h"
#include "supervisor/rpc/root_client.h"
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
  // Waits until nothing of the cell is left.
  ~ReviewCell();

  // Blocking. `take` gets each item; what it refuses ends the call. The End's own status is not
  // looked at.
  using Take = std::function<Status(review::Item)>;
  Result<review::End> Ask(const review::Request& request, const Take& take);

  // Its cell_tree goes with it.
  void PurgeAtEnd() { purge_ = true; }

 private:
  ReviewCell(EventLoop* loop, RootClient* root, std::string id)
      : loop_(loop), root_(root), id_(std::move(id)) {}

  Status WhyGone();

  EventLoop* const loop_;
  RootClient* const root_;  // on the loop
  const std::string id_;
  bool purge_ = false;
  UniqueFd socket_;  // cell-review's fd 3
  UniqueFd stream_;
  std::future<wire::Gone> gone_;
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_REVIEW_CELL_H_
