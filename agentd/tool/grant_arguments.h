#ifndef ODYSSEY_AGENTD_TOOL_GRANT_ARGUMENTS_H_
#define ODYSSEY_AGENTD_TOOL_GRANT_ARGUMENTS_H_

// The arguments `grants` and `reason`: what a call asks for beyond its session's cell. Pure.

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

#include "agentd/tool/arguments.h"
#include "common/base/status.h"
#include "odyssey/agent/v1/event.pb.h"

namespace odyssey::tools {

inline constexpr size_t kMaxGrants = 16;
inline constexpr size_t kMaxGrantBytes = 4096;  // of a path or a program
inline constexpr size_t kMaxGrantReasonBytes = 1000;

struct GrantRequest {
  agent::v1::Grants grants;
  std::string reason;
};

// Of arguments that have passed the tool's row. INVALID_ARGUMENT names the element, its value and
// what is allowed. Limits are those of the table of policy keys, but for disk_bytes: a cell's disk
// keeps its size.
Result<GrantRequest> ParseGrants(const Arguments& given);

// Whether an element of `grants` can ask for it.
bool IsGrantable(const agent::v1::Grant& grant);

// The element of `grants` that says it.
nlohmann::json GrantArgument(const agent::v1::Grant& grant);

// "mount_write /srv/data", "memory_bytes 1073741824": for messages.
std::string GrantText(const agent::v1::Grant& grant);

// Where a granted mount of that path is in the cell: its place in a bundle's own mounts.
std::string GrantedPlace(const agent::v1::Grant& grant);

}  // namespace odyssey::tools

#endif  // ODYSSEY_AGENTD_TOOL_GRANT_ARGUMENTS_H_
