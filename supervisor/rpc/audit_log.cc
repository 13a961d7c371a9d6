#include "supervisor/rpc/audit_log.h"

#include <stdio.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace odyssey::supervisor {
namespace {

// What `suppressed` says the records that found no room were about.
constexpr char kNoRoom[] = "no room";

}  // namespace

audit::Time AuditLog::SystemNow() {
  return std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
}

AuditLog::AuditLog(audit::LogStore store, Now now)
    : now_(std::move(now)), store_(std::move(store)) {
  for (audit::Record& finding : store_.TakeFindings()) Push(std::move(finding));
  thread_ = std::thread([this]() noexcept { Run(); });
}

AuditLog::~AuditLog() {
  {
    const Lock lock(mutex_);
    PushCounts(limit_.TakeAll());
    stop_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

Status AuditLog::Admit() {
  Lock lock(mutex_);
  if (!failure_.ok()) RetryLocked(lock);
  Status status = StateLocked();
  if (!status.ok()) ++refused_;
  return status;
}

Status AuditLog::State() {
  const Lock lock(mutex_);
  return StateLocked();
}

uint64_t AuditLog::added() {
  const Lock lock(mutex_);
  return added_;
}

// There may be room again: an earlier failure refuses no new request.
void AuditLog::RetryLocked(Lock& lock) {
  retry_ = true;
  const uint64_t round = rounds_begun_ + 1;
  wake_.notify_one();
  done_.wait_for(lock, kRetryWait, [&] { return failure_.ok() || rounds_ended_ >= round; });
}

Status AuditLog::StateLocked() const {
  if (failure_.ok() && queue_.size() < kAdmitRecords) return OkStatus();
  const std::string why = failure_.ok()
                              ? std::to_string(queue_.size()) + " records wait to be written"
                              : failure_.message();
  return ResourceExhausted("audit log: " + why + "; nothing is done that cannot be recorded");
}

void AuditLog::Add(audit::Record record) {
  const Lock lock(mutex_);
  Push(std::move(record));
}

void AuditLog::AddLimited(audit::Record record, const std::string& about) {
  const Lock lock(mutex_);
  if (limit_.Admit({record.type(), about}, now_())) {
    Push(std::move(record));
  } else {
    wake_.notify_one();  // to tell the count when its second has ended
  }
}

void AuditLog::AddSuppressed(const std::string& type, const std::string& about, uint64_t count) {
  const Lock lock(mutex_);
  limit_.Count({type, about}, count, now_());
  wake_.notify_one();
}

void AuditLog::Push(audit::Record record) {
  if (queue_.size() >= kMaxRecords) {
    limit_.Count({record.type(), kNoRoom}, 1, now_());
    return;
  }
  queue_.push_back({std::move(record), now_()});
  ++added_;
  wake_.notify_one();
}

void AuditLog::PushCounts(const std::vector<audit::RateLimit::Suppressed>& counts) {
  for (const auto& [subject, count] : counts) {
    if (queue_.size() >= kMaxRecords) {
      limit_.Count(subject, count, now_());
      continue;
    }
    Push(audit::Record("suppressed")
             .Text("of", subject.type)
             .Text("about", subject.about)
             .Number("count", static_cast<int64_t>(count)));
  }
}

Status AuditLog::Flush() {
  Lock lock(mutex_);
  PushCounts(limit_.TakeAll());
  flush_ = true;
  const uint64_t wanted = added_;
  const uint64_t round = rounds_begun_ + 1;  // the next one, which knows all this
  wake_.notify_one();
  done_.wait(lock, [&] { return failure_.ok() ? head_ >= wanted : rounds_ended_ >= round; });
  return failure_;
}

// ── The thread ──────────────────────────────────────────────────────────────────────────────────

void AuditLog::Run() {
  Lock lock(mutex_);
  for (bool last = false; !last;) {
    if (!stop_) Wait(lock);
    ++rounds_begun_;
    retry_ = false;
    PushCounts(limit_.TakeEnded(now_()));
    const bool stopping = stop_;
    SetFailure(Write(lock));
    last = stopping && (!failure_.ok() || (queue_.empty() && !head_is_behind()));
    if (queue_.empty() && !head_is_behind()) flush_ = false;
    ++rounds_ended_;
    done_.notify_all();
  }
  if (queue_.empty()) return;
  fprintf(stderr, "<2>odyssey-supervisor-rpc: audit log: %zu records are lost: %s\n", queue_.size(),
          failure_.message().c_str());
}

// Until there is something to write, or to write again after a failure, or a count to tell.
void AuditLog::Wait(Lock& lock) {
  const auto wanted = [this] { return stop_ || flush_ || (!queue_.empty() && failure_.ok()); };
  if (!failure_.ok()) {
    wake_.wait_for(lock, kRetryInterval, [this] { return stop_ || flush_ || retry_; });
  } else if (head_is_behind()) {
    wake_.wait_until(lock, head_due_, wanted);
  } else if (limit_.pending()) {
    wake_.wait_for(lock, audit::RateLimit::kInterval, wanted);
  } else {
    wake_.wait(lock, [&] { return wanted() || limit_.pending(); });
  }
}

// A batch, and the head if it is due. After a failure it goes on where that happened.
Status AuditLog::Write(Lock& lock) {
  const bool was_level = !head_is_behind();
  if (!queue_.empty()) ODY_RETURN_IF_ERROR(WriteBatch(lock));
  if (!head_is_behind()) return OkStatus();
  if (was_level) head_due_ = Steady::now() + kHeadInterval;
  const bool hurry = flush_ || stop_ || !failure_.ok();
  if (Steady::now() < head_due_ && !(hurry && queue_.empty())) return OkStatus();
  const uint64_t written = written_;
  lock.unlock();
  const Status status = store_.SaveHead();
  lock.lock();
  if (status.ok()) {
    head_ = written;
    head_due_ = Steady::now() + kHeadInterval;
  }
  return status;
}

Status AuditLog::WriteBatch(Lock& lock) {
  const auto size = static_cast<ptrdiff_t>(std::min(queue_.size(), kMaxBatch));
  std::vector<audit::TimedRecord> batch(std::make_move_iterator(queue_.begin()),
                                        std::make_move_iterator(queue_.begin() + size));
  queue_.erase(queue_.begin(), queue_.begin() + size);
  lock.unlock();
  const Status status = store_.Append(batch);
  lock.lock();
  if (status.ok()) {
    written_ += static_cast<uint64_t>(size);
  } else {
    queue_.insert(queue_.begin(), std::make_move_iterator(batch.begin()),
                  std::make_move_iterator(batch.end()));
  }
  return status;
}

// Told once on stderr, and in the log as soon as it can be.
void AuditLog::SetFailure(const Status& status) {
  if (status.ok() && !failure_.ok()) {
    audit::Record resumed("resumed");
    resumed.Text("error", failure_.message());
    resumed.Number("refused", static_cast<int64_t>(std::exchange(refused_, 0)));
    failure_ = OkStatus();
    Push(std::move(resumed));
  } else if (!status.ok() && failure_.ok()) {
    fprintf(stderr, "<2>odyssey-supervisor-rpc: audit log: %s; requests are refused\n",
            status.message().c_str());
  }
  failure_ = status;
}

}  // namespace odyssey::supervisor
