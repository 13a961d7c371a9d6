#ifndef ODYSSEY_AGENTD_BASE_CHANGE_COUNTS_H_
#define ODYSSEY_AGENTD_BASE_CHANGE_COUNTS_H_

#include <cstdint>

namespace odyssey::agent {

// How many changes wait for a commit (odyssey.supervisor.v1.ChangeCounts).
struct ChangeCounts {
  uint32_t added = 0, modified = 0, deleted = 0, renamed = 0, other = 0;
  uint32_t marked = 0, conflicts = 0;  // of those
  friend bool operator==(const ChangeCounts&, const ChangeCounts&) = default;
};

inline bool IsEmpty(const ChangeCounts& counts) {
  return counts.added + counts.modified + counts.deleted + counts.renamed + counts.other == 0;
}

}  // namespace odyssey::agent

#endif  // ODYSSEY_AGENTD_BASE_CHANGE_COUNTS_H_
