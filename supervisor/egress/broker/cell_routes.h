#ifndef ODYSSEY_SUPERVISOR_EGRESS_BROKER_CELL_ROUTES_H_
#define ODYSSEY_SUPERVISOR_EGRESS_BROKER_CELL_ROUTES_H_

// One cell's routes of inference.local, and what it used of them so far, whichever worker it was.

#include <string>

#include "supervisor/egress/broker/inference_routes.h"
#include "supervisor/wire/egress_wire.h"

namespace odyssey::egress {

class CellRoutes final {
 public:
  explicit CellRoutes(const InferenceFiles* files) : files_(files) {}

  // Reads the files again. A cell whose policy wants no routes, or with files that are refused, has
  // none; the latter is logged. The message for a worker; "": it has none and had none.
  std::string Read(const egress_wire::SetPolicy& policy);

  void Count(const egress_wire::Record& record);

  // null: the cell has no such route. Until the next Read.
  const egress_wire::Route* Find(const std::string& name) const;

 private:
  const InferenceFiles* const files_;
  egress_wire::SetRoutes set_;
};

}  // namespace odyssey::egress

#endif  // ODYSSEY_SUPERVISOR_EGRESS_BROKER_CELL_ROUTES_H_
