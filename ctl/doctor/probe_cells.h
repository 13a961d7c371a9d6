#ifndef ODYSSEY_CTL_DOCTOR_PROBE_CELLS_H_
#define ODYSSEY_CTL_DOCTOR_PROBE_CELLS_H_

// The cells that `doctor --probe` tries: each mode, network and set of executables at least once.
// Pure.

#include <cstdint>
#include <string>
#include <vector>

#include "odyssey/supervisor/v1/supervisor.pb.h"
#include "policy/model/request.h"

namespace odyssey::ctl {

enum class ProbeTree {
  kMemory,  // all directories of its own in memory
  kDisk,    // … on disk
  kHost,    // the workspace is a directory of the host's, the rest in memory
};

struct ProbeCellKind {
  policy::Mode mode;
  policy::Network network;
  policy::ExecutablesMode executables;
  ProbeTree tree;

  // "workspace_write, network none, executables standard, workspace of the host"
  std::string Name() const;
};

std::vector<ProbeCellKind> ProbeCellKinds();

// Small enough that reaching them takes no time.
inline constexpr uint64_t kProbeMemoryBytes = uint64_t{256} << 20;
inline constexpr uint64_t kProbeTmpBytes = uint64_t{16} << 20;
inline constexpr uint32_t kProbePids = 96;
inline constexpr uint32_t kProbeOpenFiles = 256;

// The request of such a cell. `directory` is where the canaries are (probe_canaries.h); `component`
// names the cell. Without `bounds_memory` it has no limit of that, which would be refused.
supervisor::v1::PrepareCellRequest MakeProbeRequest(const ProbeCellKind& kind,
                                                    const std::string& directory,
                                                    const std::string& component,
                                                    bool bounds_memory);

// The words of odyssey-probe that say what cell it is in.
std::vector<std::string> ProbeCellWords(const ProbeCellKind& kind);

// Where odyssey-probe is in such a cell.
inline constexpr char kProbeProgram[] = "/probe/bin/odyssey-probe";

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_DOCTOR_PROBE_CELLS_H_
