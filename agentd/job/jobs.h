#ifndef ODYSSEY_AGENTD_JOB_JOBS_H_
#define ODYSSEY_AGENTD_JOB_JOBS_H_

// The background jobs of all sessions, each with a thread of its own. Thread-safe. Ids that name
// nothing are NOT_FOUND.

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "agentd/base/clock.h"
#include "agentd/job/job.h"
#include "agentd/sandbox/sandbox.h"
#include "common/base/status.h"

namespace odyssey::job {

inline constexpr size_t kMaxRunning = 8;        // of a session
inline constexpr size_t kMaxRunningInAll = 64;  // of all sessions
inline constexpr size_t kMaxEnded = 16;         // kept of a session: the latest
// Of a job whose bundle bounds no command's time.
inline constexpr uint32_t kWallClockMs = 3'600'000;

using JobPtr = std::shared_ptr<Job>;

// What sessions remember of their jobs. Called from the jobs' threads and from Start's.
class JobRecords {
 public:
  virtual ~JobRecords() = default;
  // How many jobs of the session have begun, ever.
  virtual Result<uint64_t> Begun(const std::string& session_id) = 0;
  virtual Status OnBegun(const std::string& session_id, const BegunJob& job) = 0;
  virtual void OnEnded(const std::string& session_id, const std::string& job_id) = 0;
};

class Jobs;

// Where the jobs of a turn are started.
struct JobScope {
  Jobs* jobs = nullptr;
  std::string session_id;
  std::shared_ptr<event::Journal> journal;
  std::map<std::string, std::string> secrets;  // of the session
  uint32_t wall_clock_ms = 0;  // of a job, within the operator's bound; 0: the cell's
};

class Jobs final {
 public:
  // All borrowed.
  Jobs(sandbox::Sandbox* sandbox, const agent::Clock* clock, JobRecords* records)
      : sandbox_(sandbox), clock_(clock), records_(records) {}
  // Ends every job.
  ~Jobs();

  // Returns when its command has begun. RESOURCE_EXHAUSTED: as many run as may. One start of a
  // session at a time.
  Result<JobPtr> Start(JobCommand command, const std::stop_token& stop);
  Result<JobPtr> Find(const std::string& session_id, const std::string& job_id) const;
  // Oldest first.
  std::vector<JobPtr> List(const std::string& session_id) const;
  // Ids of those that run, for people; "" if none does.
  std::string Running(const std::string& session_id) const;

  // Kills the session's jobs and forgets them. Returns when no process of them is left.
  void EndSession(const std::string& session_id);
  // The session's cell has ended: forgets the jobs that have ended with it.
  void ForgetEnded(const std::string& session_id);
  // EndSession of all; nothing is started afterwards.
  void Stop();

 private:
  struct Entry {
    JobPtr job;
    std::thread thread;
  };

  Status CheckRoom(const std::string& session_id) const;
  std::vector<Entry> Take(const std::string& session_id,
                          const std::function<bool(const Job&)>& which);
  static void Join(std::vector<Entry> entries);
  static void KillAndJoin(std::vector<Entry> entries);

  sandbox::Sandbox* const sandbox_;
  const agent::Clock* const clock_;
  JobRecords* const records_;

  mutable std::mutex mutex_;
  // All below: guarded by mutex_.
  std::map<std::string, std::vector<Entry>> sessions_;
  bool stopped_ = false;
};

}  // namespace odyssey::job

#endif  // ODYSSEY_AGENTD_JOB_JOBS_H_
