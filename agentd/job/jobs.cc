#include "agentd/job/jobs.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/base/refusal.h"

namespace odyssey::job {

Jobs::~Jobs() { Stop(); }

// Caller holds mutex_.
Status Jobs::CheckRoom(const std::string& session_id) const {
  if (stopped_) return Unavailable("the daemon is stopping");
  size_t own = 0, all = 0;
  std::string names;
  for (const auto& [session, entries] : sessions_) {
    for (const Entry& entry : entries) {
      if (!entry.job->running()) continue;
      ++all;
      if (session != session_id) continue;
      ++own;
      names += (names.empty() ? "" : ", ") + entry.job->facts().id();
    }
  }
  if (own >= kMaxRunning) {
    return ResourceExhausted("background: " + std::to_string(own) + " jobs run in this session (" +
                             names + "); at most " + std::to_string(kMaxRunning) +
                             " are allowed: stop one");
  }
  if (all >= kMaxRunningInAll) {
    return ResourceExhausted("background: " + std::to_string(all) +
                             " jobs run in all sessions; at most " +
                             std::to_string(kMaxRunningInAll) + " are allowed");
  }
  return OkStatus();
}

Result<JobPtr> Jobs::Start(JobCommand command, const std::stop_token& stop) {
  const std::string session_id = command.session_id;
  ODY_ASSIGN_OR_RETURN(const uint64_t begun, records_->Begun(session_id));
  const std::string id = "job_" + std::to_string(begun + 1);
  Job::Hooks hooks;
  hooks.begun = [this, session_id](const BegunJob& job) {
    return records_->OnBegun(session_id, job);
  };
  hooks.ended = [this, session_id, id] { records_->OnEnded(session_id, id); };
  const auto job = std::make_shared<Job>(std::move(command), id, clock_, std::move(hooks));
  {
    std::lock_guard lock(mutex_);
    ODY_RETURN_IF_ERROR(CheckRoom(session_id));
    sessions_[session_id].push_back(
        {job, std::thread([job, sandbox = sandbox_] { job->Run(sandbox); })});
  }
  const Status started = job->AwaitBegin(stop);
  if (!started.ok()) {
    KillAndJoin(Take(session_id, [&](const Job& one) { return &one == job.get(); }));
    return started;
  }
  // The oldest of too many that have ended.
  size_t ended = 0;
  for (const JobPtr& one : List(session_id)) ended += one->running() ? 0 : 1;
  Join(Take(session_id,
            [&](const Job& one) { return !one.running() && ended > kMaxEnded && ended-- > 0; }));
  return job;
}

Result<JobPtr> Jobs::Find(const std::string& session_id, const std::string& job_id) const {
  std::string names;
  for (const JobPtr& job : List(session_id)) {
    const std::string id = job->facts().id();
    if (id == job_id) return job;
    names += (names.empty() ? "" : ", ") + id;
  }
  return Refused(Code::kNotFound, "job_id", job_id,
                 names.empty() ? "the session has no job; jobs are forgotten when its cell ends"
                               : "the session has no such job; it has " + names);
}

std::vector<JobPtr> Jobs::List(const std::string& session_id) const {
  std::lock_guard lock(mutex_);
  std::vector<JobPtr> out;
  const auto it = sessions_.find(session_id);
  if (it == sessions_.end()) return out;
  for (const Entry& entry : it->second) out.push_back(entry.job);
  return out;
}

std::string Jobs::Running(const std::string& session_id) const {
  std::string names;
  for (const JobPtr& job : List(session_id)) {
    if (job->running()) names += (names.empty() ? "" : ", ") + job->facts().id();
  }
  return names;
}

// Empty session_id: of every session.
std::vector<Jobs::Entry> Jobs::Take(const std::string& session_id,
                                    const std::function<bool(const Job&)>& which) {
  std::lock_guard lock(mutex_);
  std::vector<Entry> out;
  for (auto it = sessions_.begin(); it != sessions_.end();) {
    std::vector<Entry>& entries = it->second;
    if (session_id.empty() || it->first == session_id) {
      const auto rest = std::stable_partition(
          entries.begin(), entries.end(), [&](const Entry& entry) { return !which(*entry.job); });
      std::move(rest, entries.end(), std::back_inserter(out));
      entries.erase(rest, entries.end());
    }
    it = entries.empty() ? sessions_.erase(it) : std::next(it);
  }
  return out;
}

void Jobs::Join(std::vector<Entry> entries) {
  for (Entry& entry : entries) entry.thread.join();
}

// All at once.
void Jobs::KillAndJoin(std::vector<Entry> entries) {
  for (const Entry& entry : entries) entry.job->Kill();
  for (const Entry& entry : entries) entry.job->AwaitEnd();
  Join(std::move(entries));
}

void Jobs::EndSession(const std::string& session_id) {
  KillAndJoin(Take(session_id, [](const Job&) { return true; }));
}

void Jobs::ForgetEnded(const std::string& session_id) {
  Join(Take(session_id, [](const Job& job) { return !job.running(); }));
}

void Jobs::Stop() {
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  KillAndJoin(Take("", [](const Job&) { return true; }));
}

}  // namespace odyssey::job
