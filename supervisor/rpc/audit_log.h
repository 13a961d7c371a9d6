#ifndef ODYSSEY_SUPERVISOR_RPC_AUDIT_LOG_H_
#define ODYSSEY_SUPERVISOR_RPC_AUDIT_LOG_H_

// The audit log of this supervisor, written by a thread of its own: no request waits for the disk.
// What cannot be recorded must not happen, so a log that cannot be written, or that is too far
// behind, refuses work (Admit) until it can. Thread-safe.

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "common/audit/log_store.h"
#include "common/audit/rate_limit.h"
#include "common/base/status.h"

namespace odyssey::supervisor {

class AuditLog final {
 public:
  // Records on their way to the disk: with more, nothing new is admitted; the rest of the room is
  // for the ends of what was.
  static constexpr size_t kAdmitRecords = 4096;
  static constexpr size_t kMaxRecords = 4 * kAdmitRecords;
  // How long what "head" says may be behind.
  static constexpr auto kHeadInterval = std::chrono::milliseconds(200);
  static constexpr auto kRetryInterval = std::chrono::milliseconds(200);
  static constexpr auto kRetryWait = std::chrono::milliseconds(100);
  static constexpr size_t kMaxBatch = 256;

  using Now = std::function<audit::Time()>;

  // Begins with what the store found when it was opened.
  explicit AuditLog(audit::LogStore store, Now now = SystemNow);
  // Writes what is left, if it can be written.
  ~AuditLog();
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  // RESOURCE_EXHAUSTED while the log cannot be written: ask before doing what is to be recorded.
  // After a failure it waits for another attempt, at most kRetryWait.
  Status Admit();

  // The same, read-only.
  Status State();

  // Records that it was given, the counts in place of others included.
  uint64_t added();

  // Never blocks. What finds no room is counted, and the count is recorded.
  void Add(audit::Record record);
  // For records that may come in storms: beyond the first few of a second they are counted, by what
  // they are about.
  void AddLimited(audit::Record record, const std::string& about);

  // What its source counted instead, in the same way.
  void AddSuppressed(const std::string& type, const std::string& about, uint64_t count);

  // Waits until everything added so far is on disk and "head" says so, or until writing it has
  // failed; OK or why. Counts that wait for their second to end are recorded too.
  Status Flush();

  static audit::Time SystemNow();

 private:
  using Lock = std::unique_lock<std::mutex>;
  using Steady = std::chrono::steady_clock;

  Status StateLocked() const;
  void RetryLocked(Lock& lock);
  void Push(audit::Record record);
  void PushCounts(const std::vector<audit::RateLimit::Suppressed>& counts);
  void Run();
  void Wait(Lock& lock);
  Status Write(Lock& lock);
  Status WriteBatch(Lock& lock);
  void SetFailure(const Status& status);
  bool head_is_behind() const { return head_ < written_; }

  const Now now_;
  audit::LogStore store_;  // of the thread alone, once it runs

  std::mutex mutex_;
  std::condition_variable wake_;  // the thread
  std::condition_variable done_;  // Flush
  std::deque<audit::TimedRecord> queue_;
  audit::RateLimit limit_;
  Status failure_;        // of the last write
  uint64_t refused_ = 0;  // by Admit, since then
  // Records, counted: given to Push, in the file, named by "head".
  uint64_t added_ = 0, written_ = 0, head_ = 0;
  Steady::time_point head_due_;
  uint64_t rounds_begun_ = 0, rounds_ended_ = 0;  // of the thread
  bool flush_ = false;
  bool retry_ = false;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_AUDIT_LOG_H_
