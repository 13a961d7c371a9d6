#ifndef ODYSSEY_SUPERVISOR_CELL_REVIEW_JOURNAL_H_
#define ODYSSEY_SUPERVISOR_CELL_REVIEW_JOURNAL_H_

// Commits as the store keeps them: what each path was and became, and a copy of what it was. A
// commit is a directory `commits/<number>.<state>`, and each of its steps ends with a rename of
// that name:
//
//   prepared   every copy is there; the host was not touched
//   applying   the host's paths are old or new
//   done       all are new; it can be undone
//   undoing    the host's paths are new or old again
//
// A commit that is neither done nor absent was cut off: Recover takes it back.

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "supervisor/cell_review/scan.h"

namespace odyssey::cell_review {

// One path of a commit. `was` and `is` with kNone: there is nothing.
struct Operation {
  std::string path;
  State was, is;
  timespec was_modified{}, is_modified{};
  uint64_t copy = 0;  // where its copy begins in the file of small ones
  friend bool operator==(const Operation& a, const Operation& b) {
    return a.path == b.path && a.was == b.was && a.is == b.is;
  }
};

struct Record {
  uint64_t number = 0;
  int64_t time = 0;    // seconds since 1970
  uint64_t bytes = 0;  // of the copies
  std::vector<Operation> operations;
};

enum class Stage { kPrepared, kApplying, kDone, kUndoing };

struct Entry {
  uint64_t number = 0;
  Stage stage = Stage::kDone;
};

// Kept for undo: the newest commits, within both.
inline constexpr size_t kMaxKept = 32;
inline constexpr uint64_t kMaxKeptBytes = uint64_t{1} << 30;

// Copies of smaller files are one after another in one file: a file each would cost as much as the
// commit.
inline constexpr uint64_t kMaxPacked = uint64_t{1} << 20;

class Journal final {
 public:
  static Result<Journal> Open(Layer* store);

  // By number.
  const std::vector<Entry>& entries() const { return entries_; }
  Result<Record> Load(const Entry& entry);

  // Writes the record and copies what the host has; synced when it returns.
  Result<Entry> Prepare(Reviewed* reviewed, Record record);
  Status Move(Entry* entry, Stage stage);
  Status Remove(const Entry& entry);
  // Of commits that are done, the oldest beyond what is kept.
  Status Trim();

  // What the operation's path was.
  Result<Source> OpenCopy(const Entry& entry, const Operation& operation, size_t index);

 private:
  explicit Journal(Layer* store) : store_(store) {}

  Status CopyAll(Reviewed* reviewed, const std::string& place, Record* record);

  Layer* store_;
  std::vector<Entry> entries_;
  UniqueFd packed_;  // the small copies of commit `packed_of_`
  uint64_t packed_of_ = 0;
};

// The name of the file that becomes `operation` of commit `number`, beside its path.
std::string TemporaryName(uint64_t number, size_t operation);

}  // namespace odyssey::cell_review

#endif  // ODYSSEY_SUPERVISOR_CELL_REVIEW_JOURNAL_H_
