#ifndef ODYSSEY_SUPERVISOR_EGRESS_WORKER_CELL_INFERENCE_H_
#define ODYSSEY_SUPERVISOR_EGRESS_WORKER_CELL_INFERENCE_H_

#include <cstdint>
#include <memory>

#include "supervisor/egress/inference/spending.h"
#include "supervisor/wire/inference_wire.h"

namespace odyssey::egress {

// The cell's routes of inference.local, and what it used of them.
struct CellInference {
  // A request that keeps it is asked of these routes to its end.
  std::shared_ptr<const egress_wire::SetRoutes> set = std::make_shared<egress_wire::SetRoutes>();
  inference::Spending spending;
  uint32_t under_way = 0;  // requests
};

}  // namespace odyssey::egress

#endif  // ODYSSEY_SUPERVISOR_EGRESS_WORKER_CELL_INFERENCE_H_
