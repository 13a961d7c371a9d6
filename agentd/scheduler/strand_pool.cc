#include "agentd/scheduler/strand_pool.h"

#include <algorithm>
#include <utility>

namespace odyssey::scheduler {

StrandPool::StrandPool(size_t workers, size_t queue_bound, size_t queue_total)
    : queue_bound_(std::max<size_t>(queue_bound, 1)),
      queue_total_(std::max<size_t>(queue_total, 1)) {
  for (size_t i = 0; i < std::max<size_t>(workers, 1); ++i) {
    workers_.emplace_back([this] { Serve(); });
  }
}

StrandPool::~StrandPool() { Stop(); }

// Caller holds mutex_.
Status StrandPool::Admit(const std::string& name) const {
  if (not_begun_ >= queue_total_) {
    return ResourceExhausted("queue of all sessions is full: " + std::to_string(not_begun_) +
                             " turns wait already; odyssey-agentd --queue-total allows " +
                             std::to_string(queue_total_));
  }
  const auto it = strands_.find(name);
  if (it == strands_.end() || it->second.waiting.size() < queue_bound_) return OkStatus();
  return ResourceExhausted("queue of session " + name +
                           " is full: " + std::to_string(queue_bound_) + " turns wait already");
}

Status StrandPool::Post(const std::string& strand, std::shared_ptr<Job> job, Admission admission) {
  std::lock_guard lock(mutex_);
  if (stopped_) return Unavailable("the daemon is stopping");
  if (admission == Admission::kBounded) ODY_RETURN_IF_ERROR(Admit(strand));
  ++not_begun_;
  const auto [it, added] = strands_.try_emplace(strand);
  if (added) {
    it->second.current = std::move(job);
    MakeRunnable(strand, it->second);
    return OkStatus();
  }
  it->second.waiting.push_back(std::move(job));
  return OkStatus();
}

bool StrandPool::RunIfFree(const std::string& strand, const std::shared_ptr<Job>& job) {
  {
    std::lock_guard lock(mutex_);
    if (stopped_ || strands_.count(strand) != 0) return false;
    Strand& added = strands_[strand];
    added.current = job;
    added.state = State::kRunning;
    added.begun = true;
  }
  ODY_CHECK(job->Run() == Progress::kDone);
  Finish(strand, Progress::kDone);
  return true;
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
  std::shared_ptr<Job> current;  // destroyed without the lock
  std::lock_guard lock(mutex_);
  const auto it = strands_.find(strand);
  if (it == strands_.end()) return false;
  if (it->second.current.get() == job) {
    if (it->second.begun) return false;
    current = std::move(it->second.current);
    std::erase(runnable_, strand);
    --not_begun_;
    Advance(strand, it->second);
    return true;
  }
  auto& waiting = it->second.waiting;
  const auto found = std::find_if(waiting.begin(), waiting.end(),
                                  [job](const auto& other) { return other.get() == job; });
  if (found == waiting.end()) return false;
  waiting.erase(found);
  --not_begun_;
  return true;
}

std::vector<std::shared_ptr<Job>> StrandPool::WithdrawAll(const std::string& strand) {
  std::vector<std::shared_ptr<Job>> out;
  std::lock_guard lock(mutex_);
  const auto it = strands_.find(strand);
  if (it == strands_.end()) return out;
  if (!it->second.begun) out.push_back(std::move(it->second.current));
  out.insert(out.end(), it->second.waiting.begin(), it->second.waiting.end());
  not_begun_ -= out.size();
  it->second.waiting.clear();
  if (it->second.begun) return out;
  std::erase(runnable_, strand);
  strands_.erase(it);
  return out;
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
      if (!std::exchange(strand.begun, true)) --not_begun_;
      job = strand.current;
    }
    const Progress progress = job->Run();
    Finish(name, progress);
  }
}

void StrandPool::Finish(const std::string& name, Progress progress) {
  std::shared_ptr<Job> done;  // destroyed without the lock
  std::lock_guard lock(mutex_);
  const auto it = strands_.find(name);
  if (it == strands_.end()) return;  // stopped
  Strand& strand = it->second;
  if (progress == Progress::kParked) {
    strand.state = State::kParked;
    if (strand.resumed_early) MakeRunnable(name, strand);
    return;
  }
  done = std::move(strand.current);
  Advance(name, strand);
}

// The next job of the strand becomes its current one. Caller holds mutex_.
void StrandPool::Advance(const std::string& name, Strand& strand) {
  if (strand.waiting.empty()) {
    strands_.erase(name);
    return;
  }
  strand.begun = false;
  strand.current = std::move(strand.waiting.front());
  strand.waiting.pop_front();
  MakeRunnable(name, strand);
}

}  // namespace odyssey::scheduler
