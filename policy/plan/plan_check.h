#ifndef ODYSSEY_POLICY_PLAN_PLAN_CHECK_H_
#define ODYSSEY_POLICY_PLAN_PLAN_CHECK_H_

// What root refuses whatever rpc compiled: the last wall, pure and small. It does not repeat the
// compiler's work; it states what no plan may contain.

#include <string>
#include <vector>

#include "common/base/status.h"
#include "policy/plan/plan.h"

namespace odyssey::plan {

struct CheckContext {
  // Odyssey's own directories on this host (state, sockets, configuration): never visible in a
  // cell, neither they, nor their ancestors, nor anything below them.
  std::vector<std::string> own_directories;
  // Below own_directories, but allowed read-only: the bundle store of agentd.
  std::string bundle_store;
  uint64_t max_memory_bytes = 0;  // 0 = no bound
  uint32_t max_pids = 0;          // 0 = no bound
};

// INVALID_ARGUMENT for a malformed plan, PERMISSION_DENIED for a forbidden one; names the entry.
Status CheckPlan(const Plan& plan, const CheckContext& context);

// True for "/a/b": absolute, no empty, "." or ".." component, no trailing slash, no control
// character.
bool IsNormalizedAbsolute(std::string_view path);

// True if `path` is `directory` or below it (by component).
bool IsWithin(std::string_view path, std::string_view directory);

// The host trees that may be shown unmapped, as what is below /usr, /opt and /etc may: the system's
// own programs.
const std::vector<std::string>& SystemTrees();

// True for the places where a host keeps its resolv.conf; shown unmapped, at /etc/resolv.conf,
// to cells with the host's network.
bool IsResolverFile(std::string_view path);

// Host paths that a mapped mount may not have as source: PERMISSION_DENIED naming the rule, or OK.
Status CheckHostSource(std::string_view source, Access access, const CheckContext& context);

}  // namespace odyssey::plan

#endif  // ODYSSEY_POLICY_PLAN_PLAN_CHECK_H_
