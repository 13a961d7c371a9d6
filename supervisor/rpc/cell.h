#ifndef ODYSSEY_SUPERVISOR_RPC_CELL_H_
#define ODYSSEY_SUPERVISOR_RPC_CELL_H_

// A cell as rpc knows it. Owned by the broker and guarded by its mutex, but for the parts that say
// otherwise.

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "policy/compile/compile.h"
#include "supervisor/rpc/ceiling_gate.h"
#include "supervisor/rpc/exec_session.h"
#include "supervisor/rpc/job_queue.h"
#include "supervisor/rpc/root_client.h"
#include "supervisor/rpc/run_list.h"

namespace odyssey::supervisor {

struct CellKey {
  std::string session_id, agent_id, kind, component;
  friend auto operator<=>(const CellKey&, const CellKey&) = default;
};

// INVALID_ARGUMENT naming the field.
Status CheckCellKey(const CellKey& key);

// "<kind>/<agent>/<session or "shared">/<component>": the cell's tree below the cells directory.
// Each part is made of [A-Za-z0-9_-] and 12 hex digits of its sha256, so that no two keys meet.
std::string CellTreeOf(const CellKey& key);

enum class CellState { kLaunching, kReady, kEnding, kGone };

struct ReadySlot {
  uint64_t number = 0;
  UniqueFd exec, control;
};

struct RunningExec {
  std::shared_ptr<ExecSession> session;
  uint64_t group = 0;  // of the event loop
};

struct Cell {
  std::string id;
  CellKey key;
  uint64_t group = 0;  // of the event loop
  // Who made it and ends it: root, or the host runner on a connection for this cell alone.
  std::shared_ptr<RootClient> provider;
  uint64_t provider_group = 0;  // of that connection
  uint32_t revision = 1;
  std::string identity;            // everything whose change makes a new revision
  Admission admission;             // by the operator's ceiling, last time
  policy::SandboxRequest request;  // that it was compiled from, without values of the environment
  compile::Compiled compiled;      // constant, and read without the mutex, once it is ready
  std::map<std::string, std::string> env;  // the request's: name → value
  bool ephemeral = false;
  bool single_use = false;
  Clock::time_point unused_deadline = Clock::time_point::max();  // of a single-use cell
  std::string workspace_path;
  std::string created_at;

  CellState state = CellState::kLaunching;
  Status failure;  // why it never became ready, or ended
  uint32_t host_uid = 0;
  UniqueFd socket;  // cell-init's

  std::deque<ReadySlot> ready;
  uint32_t slots_wanted = 0;  // asked for, not yet here
  std::deque<std::shared_ptr<ExecSession>> waiting;
  std::map<uint64_t, RunningExec> running;  // by slot
  std::vector<uint64_t> gone;               // slots that cell-init was not told to forget yet
  Clock::time_point busy_until = Clock::time_point::min();

  std::atomic<uint64_t> oom_seen = 0, pids_seen = 0;  // as of the last time somebody asked
  RunList runs;
  JobQueue jobs;  // what blocks on the file worker; guards itself

  // The file worker: asked for at the first file operation; one operation at a time.
  std::mutex tools_mutex;  // guards the conversation, not the fields
  bool tools_wanted = false;
  Status tools_failure;  // why the last one that was wanted did not start
  std::shared_ptr<UniqueFd> tools;
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_CELL_H_
