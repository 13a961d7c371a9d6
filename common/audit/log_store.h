#ifndef ODYSSEY_COMMON_AUDIT_LOG_STORE_H_
#define ODYSSEY_COMMON_AUDIT_LOG_STORE_H_

// The writing end of a log: one writer at a time, its files append-only. Not thread-safe; blocks.
//
// What a crash leaves is told by the log itself: bytes that are no record stay where they are, and
// the next record, `torn`, vouches for them; `missing` says that the log is shorter than its head.
// Nothing is mended in silence, and no file is removed before a durable record, `rotated`, says
// where the log begins without it.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "common/audit/log_directory.h"
#include "common/audit/record.h"
#include "common/base/status.h"
#include "common/os/unique_fd.h"

namespace odyssey::audit {

inline constexpr uint64_t kDefaultFileBytes = uint64_t{64} << 20;
inline constexpr uint64_t kMinKeepBytes = uint64_t{64} << 10;
inline constexpr std::chrono::seconds kMaxKeepAge = std::chrono::hours(100 * 366 * 24);

// How large and how old a file grows, and how much of the log stays. 0: no bound.
struct Retention {
  uint64_t file_bytes = kDefaultFileBytes;
  uint64_t keep_bytes = 0;
  std::chrono::seconds file_age{0};  // from its first record
  std::chrono::seconds keep_age{0};  // at most kMaxKeepAge
};
// Of a log of about `keep_bytes`: at least three whole files of it stay. Of records as old as
// `keep_age`: they go with the file that they are in, which has a day's records at most.
Retention KeepAbout(uint64_t keep_bytes, std::chrono::seconds keep_age);

struct TimedRecord {
  Record record;
  Time time;
};

class LogStore final {
 public:
  // Waits until no other store has the directory: `directory` is an open file description of its
  // own, and its lock (flock) is held until it is closed. A file that has reached `file_bytes` or
  // `file_age` is followed by a new one; then the oldest files are removed while all have more than
  // `keep_bytes`, or the one after the oldest begins with a record that is older than `keep_age`.
  // DATA_LOSS if the end of the log cannot be parsed: the operator must move the log away.
  static Result<LogStore> Open(UniqueFd directory, Retention retention = {});

  // What Open found, to be appended before anything else.
  std::vector<Record> TakeFindings();

  // All or none: after a failure the next call goes on from the same record. An error names the
  // file.
  Status Append(const std::vector<TimedRecord>& records);

  // Makes what was appended durable, then says so in "head".
  Status SaveHead();

  const Position& last() const { return last_; }
  const Position& head() const { return head_; }

 private:
  struct Tail;
  // Files to remove, oldest first, and the last record in them.
  struct Excess {
    std::vector<LogFile> files;
    Position last;
  };

  LogStore(UniqueFd directory, Retention retention)
      : directory_(std::move(directory)), retention_(retention) {}

  Status Recover();
  Result<Tail> ReadTail(const LogFile& file);
  Status CompareWithHead(bool fresh);
  Status OpenForAppend(const std::string& name);
  Status WriteLines(const std::string& lines);
  bool IsFull(Time now) const;
  Result<Excess> FindExcess(Time now) const;
  void Remove(const Excess& excess);

  UniqueFd directory_;
  Retention retention_;
  bool look_for_excess_ = true;  // a file was begun, or the log opened
  UniqueFd file_;
  std::string file_name_;
  std::string begun_;          // when its first record was made, as FormatTime; "": it has none
  uint64_t size_ = 0;          // of the file, without what a failed write left
  bool cut_ = false;           // a failed write left something
  bool line_is_open_ = false;  // the file does not end with a newline
  Position last_, head_;
  std::vector<Record> findings_;
};

}  // namespace odyssey::audit

#endif  // ODYSSEY_COMMON_AUDIT_LOG_STORE_H_
