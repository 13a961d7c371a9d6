#include "agentd/session/job_records.h"

#include <algorithm>

#include "agentd/event/command_events.h"

namespace odyssey::session {

Result<uint64_t> StoredJobs::Begun(const std::string& session_id) {
  ODY_ASSIGN_OR_RETURN(const SessionPtr record, store_->GetWithoutTurns(session_id));
  return record->jobs_begun;
}

Status StoredJobs::OnBegun(const std::string& session_id, const job::BegunJob& job) {
  return store_->Update(session_id, [&](SessionRecord& record) {
    ++record.jobs_begun;
    record.running_jobs.push_back(job);
    return OkStatus();
  });
}

void StoredJobs::OnEnded(const std::string& session_id, const std::string& job_id) {
  const auto erase = [&](SessionRecord& record) {
    std::erase_if(record.running_jobs, [&](const job::BegunJob& job) { return job.id == job_id; });
    return OkStatus();
  };
  // It cannot be written now, perhaps: the next update does.
  if (!store_->Update(session_id, erase).ok()) {
    store_->UpdateInMemory(session_id, [&](SessionRecord& record) { (void)erase(record); });
  }
  on_ended_(session_id);
}

Status EndLostJobs(const SessionRecord& record, const Runtime& runtime) {
  if (record.running_jobs.empty()) return OkStatus();
  ODY_ASSIGN_OR_RETURN(const auto journal, runtime.journals->Get(record.id));
  for (const job::BegunJob& job : record.running_jobs) {
    event::Event end = event::CommandEnds({job.turn_id, job.exec_id}, -1, "cancelled");
    ODY_RETURN_IF_ERROR(journal->Append(std::move(end), event::Durability::kSynced).status());
  }
  return runtime.store->Update(record.id, [](SessionRecord& changed) {
    changed.running_jobs.clear();
    return OkStatus();
  });
}

}  // namespace odyssey::session
