#ifndef ODYSSEY_CTL_GC_LEFTOVERS_H_
#define ODYSSEY_CTL_GC_LEFTOVERS_H_

// What nothing uses any more, and nothing else removes. Looks; changes nothing. Runs as root.

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "ctl/base/state_layout.h"

namespace odyssey::ctl {

struct Leftover {
  std::string kind;  // "session cell", "quarantined file", "restore"
  std::string path;
  uint64_t bytes = 0;  // on disk
};

// A directory of cells: cells/KIND/AGENT/SESSION/COMPONENT, each named as supervisor/rpc/cell_key.h
// does, with the first 12 digits of the sha256 of the part at its end.
struct LeftoverRequest {
  uint64_t older_than_s = 0;
  bool quarantined = false;
  std::set<std::string> used_sessions;  // of cells that live, or whose changes wait
};

// Directories of sessions' cells, whatever is used: ask what is used after this.
Result<std::vector<std::string>> ListCellDirectories(const StateLayout& layout);

// Those of `directories` that are left, and the others. An error is that of agentd's directory of
// sessions: without it no session is known.
Result<std::vector<Leftover>> FindLeftovers(const StateLayout& layout,
                                            const std::vector<std::string>& directories,
                                            const LeftoverRequest& request);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_GC_LEFTOVERS_H_
