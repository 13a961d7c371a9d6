#include "ctl/audit/log_tail.h"

#include <errno.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <deque>
#include <utility>
#include <vector>

namespace odyssey::ctl {

Result<LogTail> LogTail::Open(const std::string& directory, Watching watching) {
  ODY_ASSIGN_OR_RETURN(UniqueFd opened, audit::OpenLogDirectory(directory));
  if (watching == Watching::kNone) return LogTail(std::move(opened), UniqueFd());
  UniqueFd watch(inotify_init1(IN_CLOEXEC));
  if (!watch || inotify_add_watch(watch.get(), directory.c_str(), IN_MODIFY | IN_CREATE) < 0) {
    return ErrnoStatus(errno, "watch " + directory);
  }
  return LogTail(std::move(opened), std::move(watch));
}

Result<std::optional<std::string>> LogTail::Next() {
  for (;;) {
    if (reader_) {
      ODY_ASSIGN_OR_RETURN(std::optional<std::string> line, reader_->Next());
      if (line) return line;
    }
    ODY_ASSIGN_OR_RETURN(const bool more, NextFile());
    if (!more) return std::optional<std::string>();
  }
}

// A file is done when there is another after it: nothing is appended to it any more.
Result<bool> LogTail::NextFile() {
  ODY_ASSIGN_OR_RETURN(const std::vector<audit::LogFile> files,
                       audit::ListLogFiles(directory_.get()));
  for (const audit::LogFile& file : files) {
    if (file.first_seq <= file_) continue;
    // What came between the last look at the old file and now.
    if (reader_ && !std::exchange(looked_again_, true)) return true;
    Result<audit::LineReader> next = audit::LineReader::Open(directory_.get(), file.name);
    // Removed by rotation since it was listed; the newest never is.
    if (!next.ok() && next.status().code() == Code::kNotFound && file != files.back()) continue;
    ODY_ASSIGN_OR_RETURN(reader_, std::move(next));
    file_ = file.first_seq;
    looked_again_ = false;
    return true;
  }
  return false;
}

Status LogTail::Wait() const {
  std::vector<char> events(16 * 1024);
  if (read(watch_.get(), events.data(), events.size()) < 0 && errno != EINTR) {
    return ErrnoStatus(errno, "wait for the log");
  }
  return OkStatus();
}

Status TailLog(LogTail* log, const TailRequest& request) {
  std::deque<std::string> last;
  for (;;) {
    ODY_ASSIGN_OR_RETURN(std::optional<std::string> line, log->Next());
    if (!line) break;
    if (!request.wanted(*line)) continue;
    last.push_back(*std::move(line));
    if (last.size() > request.count) last.pop_front();
  }
  for (const std::string& line : last) request.print(line);
  while (request.follow) {
    ODY_ASSIGN_OR_RETURN(const std::optional<std::string> line, log->Next());
    if (!line) {
      ODY_RETURN_IF_ERROR(log->Wait());
    } else if (request.wanted(*line)) {
      request.print(*line);
    }
  }
  return OkStatus();
}

std::string LogDirectoryOf(const Invocation& call, const std::string& named) {
  return named.empty() ? call.locations.state + "/supervisor/audit" : named;
}

std::vector<OptionSpec> TailOptions() {
  return {{.name = "follow", .letter = 'f', .help = "and then those that come"},
          {.name = "lines",
           .letter = 'n',
           .kind = ValueKind::kNumber,
           .value_name = "N",
           .help = "how many of the last records (default 20)",
           .max = kMaxTailLines}};
}

void ReadTailOptions(const ParsedOptions& options, TailRequest* request) {
  request->follow = options.Has("follow");
  if (options.Has("lines")) request->count = options.Number("lines");
}

}  // namespace odyssey::ctl
