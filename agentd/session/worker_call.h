#ifndef ODYSSEY_AGENTD_SESSION_WORKER_CALL_H_
#define ODYSSEY_AGENTD_SESSION_WORKER_CALL_H_

// Delegation, the tool worker_call: another agent of the bundle does the work in a session of its
// own, whose turn the caller's turn waits for without a worker thread. The worker's policy is the
// intersection with its caller's, its tool calls pass the rules of both, and its budget is within
// what is left of the caller's.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "agentd/base/clock.h"
#include "agentd/session/session_record.h"
#include "agentd/tool/tool.h"
#include "agentd/tool/tool_result.h"
#include "common/base/status.h"
#include "policy/dialect/bundle.h"

namespace odyssey::session {

// Sessions below the one that a client made.
inline constexpr size_t kMaxWorkerDepth = 5;

// The turn that calls a worker.
struct Caller {
  std::string session_id;
  std::string turn_id;
  std::string cell_id;
  policy::Budget left;            // of the caller's own budget
  uint64_t deadline_left_ms = 0;  // of its turn; 0: no deadline
};

struct WorkerEnd {
  TurnStatus status = TurnStatus::kFailed;
  std::string output;  // the answer, or why there is none
  policy::Budget used;
};

// What starts workers: Sessions.
class Workers {
 public:
  virtual ~Workers() = default;
  // Returns the id of the worker's session, whose turn is queued. `on_end` is called once, by
  // another thread. An error is a result for the model: PERMISSION_DENIED, INVALID_ARGUMENT.
  virtual Result<std::string> StartWorker(const Caller& caller, const tools::WorkerCall& call,
                                          std::function<void(const WorkerEnd&)> on_end) = 0;
  // Asks the worker's turn to end as cancelled; `on_end` follows. Any thread.
  virtual void StopWorker(const std::string& session_id) = 0;
};

// Whether the agent may hand work to that worker, from a session this deep. Pure.
Status CheckWorkerCall(const SessionRecord& caller, const dialect::AgentSpec& agent,
                       const dialect::Bundle& bundle, const std::string& worker);

// The record of the worker's session: of its caller's owner, bundle, directory and environment.
SessionRecord WorkerRecord(const SessionRecord& caller, const std::string& turn_id,
                           const dialect::AgentSpec& worker, const policy::Budget& budget);

// What is left until that Unix time, at least 1; 0 if that is 0: no deadline.
uint64_t DeadlineLeftMs(int64_t deadline_at_ms, const agent::Clock& clock);

// What the calling model reads.
tools::ToolResult WorkerResult(const std::string& session_id, const WorkerEnd& end);

// "\n\nAttached files:\n…", or "" for none.
std::string AttachmentNote(const std::vector<std::string>& paths);

}  // namespace odyssey::session

#endif  // ODYSSEY_AGENTD_SESSION_WORKER_CALL_H_
