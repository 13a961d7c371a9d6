#ifndef ODYSSEY_COMMON_AUDIT_LOG_DIRECTORY_H_
#define ODYSSEY_COMMON_AUDIT_LOG_DIRECTORY_H_

// Where a log lies: "audit-<number of the first record, 20 digits>.jsonl", one after the other, and
// "head". Reading only.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/audit/chain.h"
#include "common/audit/record.h"
#include "common/base/status.h"
#include "common/os/unique_fd.h"

namespace odyssey::audit {

inline constexpr char kHeadName[] = "head";

struct LogFile {
  std::string name;
  uint64_t first_seq = 0;
  friend auto operator<=>(const LogFile&, const LogFile&) = default;
};

std::string LogFileName(uint64_t first_seq);
// 0 if it is no name of a log file.
uint64_t FirstSeqOf(std::string_view name);

Result<UniqueFd> OpenLogDirectory(const std::string& path);
// In order.
Result<std::vector<LogFile>> ListLogFiles(int directory);
Result<Position> ReadHead(int directory);

// The lines of one file, as far as they are written.
class LineReader final {
 public:
  // Borrows `directory` for the call. Begins at byte `offset`, which begins a line.
  static Result<LineReader> Open(int directory, const std::string& name, uint64_t offset = 0);

  // The next line without its newline; nullopt at the end, for now: a file that grows can be asked
  // again. A line longer than kMaxLine is DATA_LOSS.
  Result<std::optional<std::string>> Next();
  // Bytes after the last newline: of a record that is being written, or that a crash cut off.
  size_t unfinished() const { return buffer_.size() - consumed_; }

 private:
  LineReader(UniqueFd fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}

  UniqueFd fd_;
  std::string name_;
  std::string buffer_;
  size_t consumed_ = 0;  // of buffer_
  size_t scanned_ = 0;   // of buffer_: no newline before
};

// Reads the whole log: a finished Chain. Fails only if it cannot be read.
Result<Chain> Verify(int directory, const Position& after);

}  // namespace odyssey::audit

#endif  // ODYSSEY_COMMON_AUDIT_LOG_DIRECTORY_H_
