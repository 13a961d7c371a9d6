#ifndef ODYSSEY_AGENTD_SESSION_JOB_RECORDS_H_
#define ODYSSEY_AGENTD_SESSION_JOB_RECORDS_H_

// Which background jobs a session's record says are running.

#include <functional>
#include <string>

#include "agentd/job/jobs.h"
#include "agentd/session/runtime.h"
#include "agentd/session/session_store.h"
#include "common/base/status.h"

namespace odyssey::session {

class StoredJobs final : public job::JobRecords {
 public:
  // `store` is borrowed. `on_ended`: a job of the session has ended.
  StoredJobs(SessionStore* store, std::function<void(const std::string& session_id)> on_ended)
      : store_(store), on_ended_(std::move(on_ended)) {}

  Result<uint64_t> Begun(const std::string& session_id) override;
  Status OnBegun(const std::string& session_id, const job::BegunJob& job) override;
  void OnEnded(const std::string& session_id, const std::string& job_id) override;

 private:
  SessionStore* const store_;
  const std::function<void(const std::string& session_id)> on_ended_;
};

// After a start: the jobs that ran when agentd ended have ended with it. Puts the ends that are
// missing into the journal.
Status EndLostJobs(const SessionRecord& record, const Runtime& runtime);

}  // namespace odyssey::session

#endif  // ODYSSEY_AGENTD_SESSION_JOB_RECORDS_H_
