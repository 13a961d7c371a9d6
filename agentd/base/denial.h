#ifndef ODYSSEY_AGENTD_BASE_DENIAL_H_
#define ODYSSEY_AGENTD_BASE_DENIAL_H_

#include <cstdint>
#include <string>

namespace odyssey::agent {

// Something that confinement refused. The fields are those of odyssey.supervisor.v1.Denial.
struct Denial {
  std::string kind, resource, access, rule, grant, process, source, exec_id, session_id, verdict;
  uint64_t count = 1;
  friend bool operator==(const Denial&, const Denial&) = default;
};

}  // namespace odyssey::agent

#endif  // ODYSSEY_AGENTD_BASE_DENIAL_H_
