#ifndef ODYSSEY_AGENTD_SESSION_CALL_QUESTION_H_
#define ODYSSEY_AGENTD_SESSION_CALL_QUESTION_H_

// The request for approval that a turn waits with, its answer, and the record of that. One thread
// at a time.

#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <string>

#include "agentd/approval/registry.h"
#include "agentd/session/runtime.h"
#include "common/base/status.h"
#include "odyssey/agent/v1/event.pb.h"

namespace odyssey::session {

class CallQuestion final {
 public:
  // `runtime` is borrowed.
  CallQuestion(std::string session_id, const Runtime* runtime)
      : session_id_(std::move(session_id)), runtime_(runtime) {}

  // Opens the request. `wake` is called once it is answered, by the thread that answers. `timeout`
  // 0: none. False: the session has asked too often, and the request is not open.
  bool Open(agent::v1::PermissionRequested request, std::chrono::milliseconds timeout,
            std::function<void()> wake);
  bool is_open() const { return answer_.valid(); }
  // The answer, after which it is not open any more; nothing: there is none yet.
  std::optional<approval::Answer> Take();
  // Takes an open request back. Returns the answer if one was given all the same.
  std::optional<approval::Answer> Drop();

  // Puts the answer into the supervisor's audit log. What could not be recorded grants nothing for
  // the session either.
  Status Record(const approval::Answer& answer) const;

  // The latest.
  const agent::v1::PermissionRequested& request() const { return request_; }

 private:
  const std::string session_id_;
  const Runtime* const runtime_;
  agent::v1::PermissionRequested request_;
  std::future<approval::Answer> answer_;  // valid while the request is open
};

}  // namespace odyssey::session

#endif  // ODYSSEY_AGENTD_SESSION_CALL_QUESTION_H_
