#include "supervisor/rpc/root_changes.h"

#include <memory>
#include <vector>

#include "policy/compile/layer_plan.h"
#include "policy/compile/review_plan.h"

namespace odyssey::supervisor {
namespace {

// Cell trees of review cells that have none of their own; no key's kind has a dot.
constexpr char kScratchPrefix[] = ".review/scratch-";

}  // namespace

Result<review::End> RootChanges::Ask(const CellKey& key, const review::Request& request,
                                     const ReviewCell::Take& take) {
  LayerHold hold;
  ODY_ASSIGN_OR_RETURN(const std::vector<std::string> layers, images_->LayersOf(key, &hold));
  const review::Setup setup = {
      .directories = 1, .image = true, .leave_out = compile::PlacesMadeByRoot()};
  ODY_ASSIGN_OR_RETURN(
      const std::unique_ptr<ReviewCell> cell,
      ReviewCell::Start(broker_->loop(), broker_->root(),
                        compile::RootReviewPlan(RandomId(kScratchPrefix), CellTreeOf(key), layers),
                        setup));
  cell->PurgeAtEnd();
  Result<review::End> end = cell->Ask(request, take);
  ODY_RETURN_IF_ERROR(StatusOf(end));
  return end;
}

std::string RootChanges::ImageOf(const CellKey& key) {
  const Result<ImageUse> use = images_->UseOf(key);
  return use.ok() ? use->digest : "";
}

}  // namespace odyssey::supervisor
