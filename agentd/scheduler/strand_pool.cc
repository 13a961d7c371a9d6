#include "agentd/scheduler/strand_pool.h"

#include <algorithm>
#include <utility>

namespace odyssey::scheduler {

StrandPool::StrandPool(size_t workers, size_t queue_bound)
    : queue_bound_(std::max<size_t>(queue_bound, 1)) {
  for (size_t i = 0; i < std::max<size_t>(workers, 1); ++i) {
    workers_.emplace_back([this] { Serve(); });
  }
}

StrandPool::~StrandPool() { Stop(); }

Status StrandPool::Post(const std::string& strand, std::shared_ptr<Job> job, Admission admission) {
  std::lock_guard lock(mutex_);
  if (stopped_) return Unavailable("the daemon is stopping");
  const auto [it, added] = strands_.try_emplace(strand);
  if (added) {
    it->second.current = std::move(job);
    MakeRunnable(strand, it->second);
    return OkStatus();
  }
  if (admission == Admission::kBounded && it->second.waiting.size() >= queue_bound_) {
    return ResourceExhausted("queue of session " + strand +
                             " is full: " + std::to_string(queue_bound_) + " turns wait already");
  }
  it->second.waiting.push_back(std::move(job));
  return OkStatus();
}

void StrandPool::Resume(const std::string& strand, const Job* job) {
  std::lock_guard lock(mutex_);
  const auto it = strands_.find(strand);
  if (it == strands_.end() || it->second.current.get() != job) return;
  if (it->second.state == State::kParked) {
    MakeRunnable(strand, it->second);
  } else if (it->second.state == State::kRunning) {
    it->second.resumed_early = true;
  }
}

bool StrandPool::Withdraw(const std::string& strand, const Job* job) {
  std::lock_guard lock(mutex_);
  const auto it = strands_.find(strand);
  if (it == strands_.end()) return false;
  auto& waiting = it->second.waiting;
  const auto found = std::find_if(waiting.begin(), waiting.end(),
                                  [job](const auto& other) { return other.get() == job; });
  if (found == waiting.end()) return false;
  waiting.erase(found);
  return true;
}

void StrandPool::Stop() {
  std::vector<std::jthread> workers;
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    workers.swap(workers_);
  }
  work_.notify_all();
  for (std::jthread& worker : workers) worker.join();
  std::map<std::string, Strand> dropped;
  std::lock_guard lock(mutex_);
  dropped.swap(strands_);
}

void StrandPool::MakeRunnable(const std::string& name, Strand& strand) {
  strand.state = State::kRunnable;
  strand.resumed_early = false;
  runnable_.push_back(name);
  work_.notify_one();
}

void StrandPool::Serve() {
  for (;;) {
    std::string name;
    std::shared_ptr<Job> job;
    {
      std::unique_lock lock(mutex_);
      work_.wait(lock, [this] { return stopped_ || !runnable_.empty(); });
      if (stopped_) return;
      name = std::move(runnable_.front());
      runnable_.pop_front();
      Strand& strand = strands_.at(name);
      strand.state = State::kRunning;
      job = strand.current;
    }
    const Progress progress = job->Run();
    Finish(name, progress);
  }
}

void StrandPool::Finish(const std::string& name, Progress progress) {
  std::shared_ptr<Job> done;  // destroyed without the lock
  std::lock_guard lock(mutex_);
  Strand& strand = strands_.at(name);
  if (progress == Progress::kParked) {
    strand.state = State::kParked;
    if (strand.resumed_early) MakeRunnable(name, strand);
    return;
  }
  done = std::move(strand.current);
  if (strand.waiting.empty()) {
    strands_.erase(name);
    return;
  }
  strand.current = std::move(strand.waiting.front());
  strand.waiting.pop_front();
  MakeRunnable(name, strand);
}

}  // namespace odyssey::scheduler
