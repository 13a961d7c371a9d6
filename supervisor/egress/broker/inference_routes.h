#ifndef ODYSSEY_SUPERVISOR_EGRESS_BROKER_INFERENCE_ROUTES_H_
#define ODYSSEY_SUPERVISOR_EGRESS_BROKER_INFERENCE_ROUTES_H_

// The routes of one user's cells, with their keys, as the operator's files have them now.

#include <sys/types.h>

#include <string>

#include "common/base/status.h"
#include "supervisor/wire/inference_wire.h"

namespace odyssey::egress {

struct InferenceFiles {
  std::string directory;    // of inference.yaml
  std::string credentials;  // systemd's directory of them; "": there is none

  // None without a file, or if no grant names the user. FAILED_PRECONDITION: a file could be
  // another user's work: inference.yaml is root's or this process's user's and writable by it
  // alone, a key_file is readable by it alone as well. INVALID_ARGUMENT, NOT_FOUND: what is wrong
  // in which file. No message has a key.
  Result<egress_wire::SetRoutes> RoutesOf(uid_t user) const;
};

}  // namespace odyssey::egress

#endif  // ODYSSEY_SUPERVISOR_EGRESS_BROKER_INFERENCE_ROUTES_H_
