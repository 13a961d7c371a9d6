// audit tail|verify.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/audit/log_directory.h"
#include "ctl/audit/audit_view.h"
#include "ctl/audit/log_tail.h"
#include "ctl/base/command.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/sanitize.h"

namespace odyssey::ctl {
namespace {

void PrintRecord(const Console& console, const std::string& line) {
  console.PrintLine(console.json ? Sanitize(line, Lines::kOne)
                                 : FormatAuditLine(line, console.color_out));
}

int TailCommand(const Invocation& call) {
  const Console& console = *call.console;
  TailRequest request{.wanted = [](const std::string&) { return true; },
                      .print = [&](const std::string& line) { PrintRecord(console, line); }};
  ReadTailOptions(call.options, &request);
  Result<LogTail> log =
      LogTail::Open(LogDirectoryOf(call, call.options.Word(0)), WatchingFor(request));
  const Status status = log.ok() ? TailLog(&*log, request) : log.status();
  return status.ok() ? kExitOk : console.Fail({"read the audit log", status.message(), kLogNext});
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
  const Result<UniqueFd> directory =
      audit::OpenLogDirectory(LogDirectoryOf(call, call.options.Word(0)));
  if (!directory.ok()) {
    return console.Fail({"verify the audit log", directory.status().message(), kLogNext});
  }
  const Result<audit::Chain> chain = audit::Verify(directory->get(), after);
  if (!chain.ok()) {
    return console.Fail({"verify the audit log", chain.status().message(), kLogNext});
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
       .options = TailOptions(),
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
