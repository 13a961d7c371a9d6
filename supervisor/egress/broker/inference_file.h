#ifndef ODYSSEY_SUPERVISOR_EGRESS_BROKER_INFERENCE_FILE_H_
#define ODYSSEY_SUPERVISOR_EGRESS_BROKER_INFERENCE_FILE_H_

// inference.yaml: the operator's routes of inference.local, and whose cells have them. Pure.
// docs/policy/inference.md has every key.

#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "policy/ceiling/ceiling.h"
#include "supervisor/wire/inference_wire.h"

namespace odyssey::egress {

// A route, without its key: that is in a file, or is a credential of systemd's, or there is none.
struct RouteEntry {
  egress_wire::Route route;
  std::string key_file;
  std::string key_credential;
};

// Which routes the cells of some users have, in the order in which they are tried.
struct RouteGrant {
  std::vector<std::string> users;  // as in the ceiling
  std::vector<size_t> routes;      // of InferenceFile
  egress_wire::RouteBudget budget;
};

struct InferenceFile {
  std::vector<RouteEntry> routes;
  std::vector<RouteGrant> grants;
};

// INVALID_ARGUMENT with `file`, line and key.
Result<InferenceFile> ParseInferenceFile(const std::string& file, std::string_view yaml);

// The first that names the user; null: none does.
const RouteGrant* GrantOf(const InferenceFile& file, const ceiling::Owner& owner);

}  // namespace odyssey::egress

#endif  // ODYSSEY_SUPERVISOR_EGRESS_BROKER_INFERENCE_FILE_H_
