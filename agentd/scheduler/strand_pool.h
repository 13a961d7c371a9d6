#ifndef ODYSSEY_AGENTD_SCHEDULER_STRAND_POOL_H_
#define ODYSSEY_AGENTD_SCHEDULER_STRAND_POOL_H_

// A pool of workers that serves strands: jobs of one strand run one after the other, in the order
// in which they were posted; jobs of different strands run in parallel. Thread-safe.

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "common/base/status.h"

namespace odyssey::scheduler {

// What a job says when it returns its worker.
enum class Progress {
  kDone,
  kParked,  // run me again after Resume; until then the strand waits
};

// A job that was accepted before a restart is not refused after it.
enum class Admission { kBounded, kAccepted };

class Job {
 public:
  virtual ~Job() = default;
  // Runs on a worker; never on two at once.
  virtual Progress Run() = 0;
};

class StrandPool final {
 public:
  // `queue_bound`: most jobs that wait in one strand behind the current one; `queue_total`: most
  // jobs of all strands that have not begun. All at least 1.
  StrandPool(size_t workers, size_t queue_bound, size_t queue_total = 10'000);
  // Stops.
  ~StrandPool();

  StrandPool(const StrandPool&) = delete;
  StrandPool& operator=(const StrandPool&) = delete;

  // RESOURCE_EXHAUSTED: the strand's queue is full, or all together. UNAVAILABLE: stopped.
  Status Post(const std::string& strand, std::shared_ptr<Job> job,
              Admission admission = Admission::kBounded);

  // Runs the job on the caller's thread, if the strand has none; what is posted meanwhile waits for
  // it. False: it has one, or the pool is stopped. The job must not park.
  bool RunIfFree(const std::string& strand, const std::shared_ptr<Job>& job);

  // Runs the job again if it is parked, or as soon as it parks. Of any other job: no effect.
  void Resume(const std::string& strand, const Job* job);

  // Takes a job that has not begun out of the queue. False: it has begun, or is done.
  bool Withdraw(const std::string& strand, const Job* job);

  // Takes every job of the strand that has not begun out of the queue, all at once: none begins
  // since the one before it was taken.
  std::vector<std::shared_ptr<Job>> WithdrawAll(const std::string& strand);

  // Returns when no job runs any more. Jobs that are parked or wait are dropped.
  void Stop();

 private:
  enum class State { kRunnable, kRunning, kParked };
  struct Strand {
    std::deque<std::shared_ptr<Job>> waiting;
    std::shared_ptr<Job> current;
    State state = State::kRunnable;
    bool begun = false;  // the current job
    bool resumed_early = false;
  };

  void Serve();
  void MakeRunnable(const std::string& name, Strand& strand);
  void Finish(const std::string& name, Progress progress);
  Status Admit(const std::string& name) const;
  void Advance(const std::string& name, Strand& strand);

  const size_t queue_bound_;
  const size_t queue_total_;
  std::mutex mutex_;
  std::condition_variable work_;
  // All below: guarded by mutex_. A strand is in the map while it has a current job.
  bool stopped_ = false;
  size_t not_begun_ = 0;  // jobs of all strands
  std::map<std::string, Strand> strands_;
  std::deque<std::string> runnable_;
  std::vector<std::jthread> workers_;
};

}  // namespace odyssey::scheduler

#endif  // ODYSSEY_AGENTD_SCHEDULER_STRAND_POOL_H_
