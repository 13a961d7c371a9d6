#ifndef ODYSSEY_CTL_AUDIT_LOG_TAIL_H_
#define ODYSSEY_CTL_AUDIT_LOG_TAIL_H_

// Reads the audit log from its beginning on, over the ends of its files, and waits for more.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "common/audit/log_directory.h"
#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "ctl/base/command.h"

namespace odyssey::ctl {

enum class Watching { kNone, kWatch };

class LogTail final {
 public:
  // With kWatch, watches the directory from now on, for Wait: nothing comes unseen in between.
  static Result<LogTail> Open(const std::string& directory, Watching watching);

  // The next line; nullopt if there is none for now.
  Result<std::optional<std::string>> Next();
  // Until something is written, or a signal came. Of one that watches.
  Status Wait() const;

 private:
  LogTail(UniqueFd directory, UniqueFd watch)
      : directory_(std::move(directory)), watch_(std::move(watch)) {}
  Result<bool> NextFile();

  UniqueFd directory_, watch_;
  std::optional<audit::LineReader> reader_;
  uint64_t file_ = 0;  // by its first record
  bool looked_again_ = false;
};

// Of the lines that are wanted the last `count`, and then, if `follow`, those that come, until a
// signal ends the program.
struct TailRequest {
  uint64_t count = 20;
  bool follow = false;
  std::function<bool(const std::string& line)> wanted;
  std::function<void(const std::string& line)> print;
};
// What the log of the request is opened with.
inline Watching WatchingFor(const TailRequest& request) {
  return request.follow ? Watching::kWatch : Watching::kNone;
}
Status TailLog(LogTail* log, const TailRequest& request);

// The directory of the audit log: `named`, or that of the state directory.
std::string LogDirectoryOf(const Invocation& call, const std::string& named);

inline constexpr uint64_t kMaxTailLines = 100'000;
// Why it may not be readable.
inline constexpr char kLogNext[] =
    "The log is root's and the supervisor's: run as root, with the --state of its supervisor, or "
    "name its directory.";

// --follow and --lines.
std::vector<OptionSpec> TailOptions();
void ReadTailOptions(const ParsedOptions& options, TailRequest* request);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_AUDIT_LOG_TAIL_H_
