// audit tail|verify.
#include <errno.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/audit/log_directory.h"
#include "ctl/audit/audit_view.h"
#include "ctl/base/command.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/sanitize.h"

namespace odyssey::ctl {
namespace {

constexpr uint64_t kDefaultLines = 20;
constexpr uint64_t kMaxLines = 100'000;
constexpr char kNext[] =
    "The log is root's and the supervisor's: run as root, with the --state of its supervisor, or "
    "name its directory.";

std::string DirectoryOf(const Invocation& call) {
  const std::string named = call.options.Word(0);
  return named.empty() ? call.locations.state + "/supervisor/audit" : named;
}

void PrintRecord(const Console& console, const std::string& line) {
  console.PrintLine(console.json ? Sanitize(line, Lines::kOne)
                                 : FormatAuditLine(line, console.color_out));
}

// Reads a log from some record on, over the ends of its files.
class LogTail final {
 public:
  explicit LogTail(int directory) : directory_(directory) {}

  // The next line; nullopt if there is none for now.
  Result<std::optional<std::string>> Next() {
    for (;;) {
      if (reader_) {
        ODY_ASSIGN_OR_RETURN(std::optional<std::string> line, reader_->Next());
        if (line) return line;
      }
      ODY_ASSIGN_OR_RETURN(const bool more, NextFile());
      if (!more) return std::optional<std::string>();
    }
  }

 private:
  // A file is done when there is another after it: nothing is appended to it any more.
  Result<bool> NextFile() {
    ODY_ASSIGN_OR_RETURN(const std::vector<audit::LogFile> files, audit::ListLogFiles(directory_));
    for (const audit::LogFile& file : files) {
      if (file.first_seq <= file_) continue;
      // What came between the last look at the old file and now.
      if (reader_ && !std::exchange(looked_again_, true)) return true;
      ODY_ASSIGN_OR_RETURN(reader_, audit::LineReader::Open(directory_, file.name));
      file_ = file.first_seq;
      looked_again_ = false;
      return true;
    }
    return false;
  }

  const int directory_;
  std::optional<audit::LineReader> reader_;
  uint64_t file_ = 0;  // by its first record
  bool looked_again_ = false;
};

Status PrintLast(const Console& console, LogTail* tail, uint64_t count) {
  std::deque<std::string> last;
  for (;;) {
    ODY_ASSIGN_OR_RETURN(std::optional<std::string> line, tail->Next());
    if (!line) break;
    last.push_back(*std::move(line));
    if (last.size() > count) last.pop_front();
  }
  for (const std::string& line : last) PrintRecord(console, line);
  return OkStatus();
}

// Ends with a signal.
Status Follow(const Console& console, LogTail* tail, int watch) {
  std::vector<char> events(16 * 1024);
  for (;;) {
    ODY_ASSIGN_OR_RETURN(const std::optional<std::string> line, tail->Next());
    if (line) {
      PrintRecord(console, *line);
    } else if (read(watch, events.data(), events.size()) < 0 && errno != EINTR) {
      return ErrnoStatus(errno, "wait for the log");
    }
  }
}

Status Tail(const Invocation& call) {
  const std::string path = DirectoryOf(call);
  const bool follow = call.options.Has("follow");
  ODY_ASSIGN_OR_RETURN(const UniqueFd directory, audit::OpenLogDirectory(path));
  // Watched from before the first look, so that nothing comes in between.
  const UniqueFd watch(inotify_init1(IN_CLOEXEC));
  if (follow && inotify_add_watch(watch.get(), path.c_str(), IN_MODIFY | IN_CREATE) < 0) {
    return ErrnoStatus(errno, "watch " + path);
  }
  LogTail tail(directory.get());
  const uint64_t lines = call.options.Has("lines") ? call.options.Number("lines") : kDefaultLines;
  ODY_RETURN_IF_ERROR(PrintLast(*call.console, &tail, lines));
  return follow ? Follow(*call.console, &tail, watch.get()) : OkStatus();
}

int TailCommand(const Invocation& call) {
  const Status status = Tail(call);
  if (status.ok()) return kExitOk;
  return call.console->Fail({"read the audit log", status.message(), kNext});
}

int VerifyCommand(const Invocation& call) {
  const Console& console = *call.console;
  audit::Position after;
  if (call.options.Has("after")) {
    Result<audit::Position> known = audit::ParsePosition(call.options.Text("after"));
    if (!known.ok()) {
      console.Fail({"audit verify", "--after " + known.status().message(), ""});
      return kExitUsage;
    }
    after = *std::move(known);
  }
  const Result<UniqueFd> directory = audit::OpenLogDirectory(DirectoryOf(call));
  if (!directory.ok()) {
    return console.Fail({"verify the audit log", directory.status().message(), kNext});
  }
  const Result<audit::Chain> chain = audit::Verify(directory->get(), std::move(after));
  if (!chain.ok()) {
    return console.Fail({"verify the audit log", chain.status().message(), kNext});
  }
  if (console.json) {
    console.PrintJson(VerdictJson(*chain));
  } else {
    console.Print(FormatVerdict(*chain));
  }
  return chain->problem_count() == 0 ? kExitOk : kExitFailed;
}

}  // namespace

std::vector<Command> AuditCommands() {
  const PositionalSpec directory = {
      .name = "DIR", .kind = ValueKind::kDirectory, .required = false};
  return {
      {.name = "audit tail",
       .summary = "print the last records of the audit log",
       .positionals = {directory},
       .options = {{.name = "follow", .letter = 'f', .help = "and then those that come"},
                   {.name = "lines",
                    .letter = 'n',
                    .kind = ValueKind::kNumber,
                    .value_name = "N",
                    .help = "how many of the last records (default 20)",
                    .max = kMaxLines}},
       .notes = "DIR is the log's directory (default: supervisor/audit in the state directory).",
       .run = TailCommand},
      {.name = "audit verify",
       .summary = "verify the audit log's hash chain",
       .positionals = {directory},
       .options = {{.name = "after",
                    .kind = ValueKind::kText,
                    .value_name = "SEQ:HASH",
                    .help = "a record that is known to have been in the log: earlier ones may be "
                            "gone, and the log must go on from it"}},
       .notes = "Exits 0 if it is, 1 if not: a line for each problem. The last line is SEQ:HASH of "
                "the last\nrecord: kept elsewhere, it proves later that this log was not written "
                "anew.",
       .run = VerifyCommand},
  };
}

}  // namespace odyssey::ctl
