#ifndef ODYSSEY_POLICY_MODEL_MODE_NAME_H_
#define ODYSSEY_POLICY_MODEL_MODE_NAME_H_

#include "policy/model/request.h"

namespace odyssey::policy {

// As files, events and metrics write it.
constexpr const char* ModeName(Mode mode) {
  return mode == Mode::kReadOnly         ? "read_only"
         : mode == Mode::kWorkspaceWrite ? "workspace_write"
                                         : "danger_full_access";
}

}  // namespace odyssey::policy

#endif  // ODYSSEY_POLICY_MODEL_MODE_NAME_H_
