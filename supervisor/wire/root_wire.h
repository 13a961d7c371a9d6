#ifndef ODYSSEY_SUPERVISOR_WIRE_ROOT_WIRE_H_
#define ODYSSEY_SUPERVISOR_WIRE_ROOT_WIRE_H_

// What odyssey-supervisor (root) and odyssey-supervisor-rpc say to each other, one SOCK_SEQPACKET
// message each. The legal requests are the table below: anything else, a message that does not
// decode, or one with descriptors makes root end that rpc process and every cell it holds.
//
//   rpc → root   Ready · Launch · Kill · Stats
//   root → rpc   Hello · Launched + cell socket, cgroup.freeze · Gone · StatsReply

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace odyssey::wire {

// Of odyssey-host-runner (host_wire.h), made by the keeper, which passes it to the runner as
// kHostFd.
inline std::string HostSocket(const std::string& run) { return run + "/host.sock"; }
inline constexpr int kHostFd = 3;

enum class RootMessage : uint8_t {
  kHello = 1,
  kReady,
  kLaunch,
  kLaunched,
  kKill,
  kGone,
  kStats,
  kStatsReply,
};

// What this host offers, once, before anything else.
struct Hello {
  std::string cgroup;     // "v2" or "v1": where memory, pids and cpu limits are enforced; or "none"
  bool rootless = false;  // cells have the uid that everything here has
  uint32_t uid_base = 0;
  uint32_t max_cells = 0;
  std::vector<std::string> own_directories;  // see plan_check.h
  std::string bundle_store;
  std::string cells_directory;
};

struct Launch {
  uint64_t request = 0;
  std::string plan;  // encoded, policy/plan/plan.h
};

// Answers Launch. If it is OK the message carries the cell's socket and, where root has it, a
// descriptor that writes cgroup.freeze of the cell's group, and stops working when that is gone;
// how the launch itself ends comes as cell-init's Hello on it, or as Gone.
struct Launched {
  uint64_t request = 0;
  Status status;  // detail().item: which of the plan's entries failed
  uint32_t uid = 0;
};

struct Kill {
  std::string cell_id;
  bool purge = false;  // also remove the cell's tree on disk
};

// No process, mount or cgroup of the cell is left.
struct Gone {
  std::string cell_id;
  // What the launcher or bubblewrap said last, if anything; detail().item as in Launched. Never
  // kOk. kAborted, without a message: its memory limit took pid 1.
  Status reason = Unavailable("");
};

struct Stats {
  uint64_t request = 0;
  std::string cell_id;
};

// What the kernel counts of a cell.
struct CellUsage {
  uint64_t memory_bytes = 0;
  uint64_t cpu_usec = 0;
  uint32_t processes = 0;
  uint64_t oom_kills = 0;
  uint64_t pids_refused = 0;  // processes and threads that the limit did not let start
};

struct StatsReply {
  uint64_t request = 0;
  bool found = false;
  CellUsage usage;
};

Result<RootMessage> TypeOf(std::string_view bytes);

std::string Encode(const Hello& m);
std::string Encode(const Launch& m);
std::string Encode(const Launched& m);
std::string Encode(const Kill& m);
std::string Encode(const Gone& m);
std::string Encode(const Stats& m);
std::string Encode(const StatsReply& m);
std::string EncodeReady();

Status Decode(std::string_view bytes, Hello* m);
Status Decode(std::string_view bytes, Launch* m);
Status Decode(std::string_view bytes, Launched* m);
Status Decode(std::string_view bytes, Kill* m);
Status Decode(std::string_view bytes, Gone* m);
Status Decode(std::string_view bytes, Stats* m);
Status Decode(std::string_view bytes, StatsReply* m);

}  // namespace odyssey::wire

#endif  // ODYSSEY_SUPERVISOR_WIRE_ROOT_WIRE_H_
