#ifndef ODYSSEY_COMMON_AUDIT_CHAIN_H_
#define ODYSSEY_COMMON_AUDIT_CHAIN_H_

// Is a log whole: every record there, in its place, as it was written. Pure: lines in, problems
// out.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/audit/record.h"
#include "common/base/sha256.h"

namespace odyssey::audit {

// Records of the log about itself. `torn` vouches for the lines before it, which are no records:
// what a crash left of one. `missing`: the writer found the log shorter than it had left it.
inline constexpr char kTornType[] = "torn";
inline constexpr char kMissingType[] = "missing";
// `rotated`: the writer removes the records up to `last`, the oldest ones, as it was told to.
inline constexpr char kRotatedType[] = "rotated";
Record RotatedRecord(const Position& last);

struct Problem {
  std::string file;
  uint64_t line = 0;  // from 1; 0: of the log as a whole
  uint64_t seq = 0;   // 0: of no record
  std::string what;
  friend bool operator==(const Problem&, const Problem&) = default;
};

class Chain final {
 public:
  static constexpr size_t kMaxProblems = 100;  // kept; the rest is counted

  // `after`: a record that is known to have been in the log. It and those before it may be gone; if
  // it is there it must be that one, and what comes next must go on from it. Default: the whole log
  // is expected. `head`: what the file "head" says, read before the log, or why it cannot be read.
  Chain(Position after, Result<Position> head);

  // The lines that follow are of this file, whose name says the number of its first record.
  void BeginFile(std::string_view name, uint64_t first_seq);
  // One line, without its newline.
  void Add(std::string_view line);
  // Bytes after the last line of the file: of a record that is being written, or that a crash cut
  // off. No problem at the end of the log.
  void Unfinished(uint64_t bytes) { unfinished_ = bytes; }
  void Finish();

  const std::vector<Problem>& problems() const { return problems_; }
  uint64_t problem_count() const { return problem_count_; }
  uint64_t records() const { return records_; }
  uint64_t first_seq() const { return first_seq_; }
  const Position& last() const { return last_; }
  uint64_t unfinished() const { return unfinished_; }
  // Records that a crash left unfinished and that the log tells of.
  uint64_t torn() const { return torn_; }
  // The last record that the log says was removed by its writer; seq 0: none.
  const Position& rotated() const { return rotated_; }

 private:
  void Report(uint64_t line, uint64_t seq, std::string what);
  void Settle(const Line* line, std::string_view text);
  void CheckPlace(const Line& line);
  void CheckFirst(const Line& line);
  void TakeRotated(const Line& line, std::string_view text);
  void CheckRotated();
  void CheckKnown(const Line& line);

  const Position after_;
  const Result<Position> head_;
  std::string file_;
  uint64_t file_first_ = 0;  // 0: the file's first record has been seen
  uint64_t line_ = 0;        // in the file
  uint64_t records_ = 0;
  uint64_t first_seq_ = 0;
  Position last_;
  uint64_t unfinished_ = 0;
  uint64_t torn_ = 0;
  Position rotated_;
  // Of the first record, whose place is judged when the last `rotated` has been read.
  uint64_t first_line_ = 0;
  std::string first_file_, first_prev_;
  // Lines that are no records, until it is known whether the next record vouches for them.
  uint64_t garbage_lines_ = 0;
  Sha256 garbage_;
  std::vector<Problem> problems_;
  uint64_t problem_count_ = 0;
};

}  // namespace odyssey::audit

#endif  // ODYSSEY_COMMON_AUDIT_CHAIN_H_
