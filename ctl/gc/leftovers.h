#ifndef ODYSSEY_CTL_GC_LEFTOVERS_H_
#define ODYSSEY_CTL_GC_LEFTOVERS_H_

// What nothing uses any more, and nothing else removes. Looks; changes nothing. Runs as root.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "ctl/base/state_layout.h"
#include "odyssey/supervisor/v1/supervisor.pb.h"

namespace odyssey::ctl {

struct Leftover {
  std::string kind;  // "session cell", "command cell", "quarantined file", "restore", "gc"
  std::string path;
  uint64_t bytes = 0;  // on disk
  std::string aside;   // where it is since it was renamed; "": at `path`
};

// The parts of the key of a cell, by digest: the first 12 digits of the sha256 of each, which stand
// at the end of the name of its directory in cells/KIND/AGENT/SESSION/COMPONENT, as
// supervisor/rpc/cell_key.h says. An empty session is "shared".
struct CellDigests {
  std::string kind, agent, session, component;
  friend auto operator<=>(const CellDigests&, const CellDigests&) = default;
};
CellDigests DigestsOf(const supervisor::v1::CellKey& key);
CellDigests DigestsIn(const std::string& directory);

struct LeftoverRequest {
  uint64_t older_than_s = 0;
  bool quarantined = false;
  bool command_cells = false;          // those of `exec --cell` too
  std::optional<uint64_t> keep_bytes;  // of these only so many that the rest takes no more
  std::set<CellDigests> used;          // cells that have a phase, or whose changes wait
};

// Directories of all cells, whatever is used: ask what is used after this.
Result<std::vector<std::string>> ListCellDirectories(const StateLayout& layout);

// Where what is removed waits for its end. On the file system of the directories of cells.
std::string GoneDirectory(const StateLayout& layout);

// Those of `directories` that are left, and the others. An error is that of agentd's directory of
// sessions: without it no session is known.
Result<std::vector<Leftover>> FindLeftovers(const StateLayout& layout,
                                            const std::vector<std::string>& directories,
                                            const LeftoverRequest& request);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_GC_LEFTOVERS_H_
