#ifndef ODYSSEY_POLICY_MODEL_CHOICE_NAMES_H_
#define ODYSSEY_POLICY_MODEL_CHOICE_NAMES_H_

#include "policy/model/request.h"

namespace odyssey::policy {

// As files and messages write them.

constexpr const char* NetworkName(Network network) {
  return network == Network::kNone ? "none" : network == Network::kFull ? "full" : "egress";
}

constexpr const char* ExecutablesName(ExecutablesMode mode) {
  return mode == ExecutablesMode::kExplicit    ? "explicit"
         : mode == ExecutablesMode::kStandard  ? "standard"
         : mode == ExecutablesMode::kWorkspace ? "workspace"
                                               : "all";
}

}  // namespace odyssey::policy

#endif  // ODYSSEY_POLICY_MODEL_CHOICE_NAMES_H_
