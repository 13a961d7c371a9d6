// backup, restore.
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "common/os/unique_fd.h"
#include "ctl/backup/backup.h"
#include "ctl/base/command.h"
#include "ctl/base/exit_code.h"

namespace odyssey::ctl {
namespace {

constexpr char kStream[] = "-";

int NeedsRoot(const Console& console, const std::string& what) {
  return console.Fail({what, "this needs root: the files are the daemons' users'",
                       "Run it as root, for example: sudo odyssey-ctl " + what + " FILE"});
}

void Report(const Console& console, const char* done, const std::string& file,
            const BackupSummary& summary) {
  if (console.json && file != kStream) {
    console.PrintJson({{"file", file},
                       {"sessions", summary.sessions},
                       {"files", summary.files},
                       {"bytes", summary.bytes},
                       {"secrets", summary.secrets}});
    return;
  }
  console.Warn(std::string(done) + " " + std::to_string(summary.sessions) + " sessions, " +
               std::to_string(summary.files) + " files, " + std::to_string(summary.bytes) +
               " bytes, " + (summary.secrets ? "with" : "without") + " providers' secrets");
}

// A new file that appears under its name when it is whole.
int BackupCommand(const Invocation& call) {
  const Console& console = *call.console;
  if (geteuid() != 0) return NeedsRoot(console, "backup");
  const std::string file = call.options.Word(0);
  const StateLayout layout = LayoutOf(call.locations.state);
  const bool secrets = call.options.Has("with-secrets");
  const auto fail = [&](const std::string& why) {
    return console.Fail({"backup", why, "Nothing was written under that name."});
  };
  if (file == kStream) {
    if (isatty(STDOUT_FILENO) != 0) return fail("stdout is a terminal");
    const Result<BackupSummary> summary = WriteBackup(layout, secrets, STDOUT_FILENO);
    if (!summary.ok()) return fail(summary.status().message());
    Report(console, "backed up", file, *summary);
    return kExitOk;
  }
  const std::string partial = file + ".partial";
  unlink(partial.c_str());
  const UniqueFd fd(
      open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return fail(ErrnoStatus(errno, "create " + partial).message());
  const Result<BackupSummary> summary = WriteBackup(layout, secrets, fd.get());
  Status status = summary.ok() ? OkStatus() : summary.status();
  if (status.ok() && fsync(fd.get()) != 0) status = ErrnoStatus(errno, "sync " + partial);
  // link(2) replaces nothing.
  if (status.ok() && link(partial.c_str(), file.c_str()) != 0) {
    status = ErrnoStatus(errno, "name " + file);
  }
  unlink(partial.c_str());
  if (!status.ok()) return fail(status.message());
  Report(console, "backed up", file, *summary);
  return kExitOk;
}

int RestoreCommand(const Invocation& call) {
  const Console& console = *call.console;
  if (geteuid() != 0) return NeedsRoot(console, "restore");
  const std::string file = call.options.Word(0);
  const UniqueFd fd(file == kStream ? dup(STDIN_FILENO)
                                    : open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  const auto fail = [&](const std::string& why) {
    return console.Fail({"restore", why, "Nothing was restored."});
  };
  if (!fd) return fail(ErrnoStatus(errno, "open " + file).message());
  const Result<BackupSummary> summary = RestoreBackup(LayoutOf(call.locations.state), fd.get());
  if (!summary.ok()) return fail(summary.status().message());
  Report(console, "restored", file == kStream ? "stdin" : file, *summary);
  return kExitOk;
}

}  // namespace

std::vector<Command> BackupCommands() {
  const PositionalSpec file = {.name = "FILE", .kind = ValueKind::kFile};
  return {
      {.name = "backup",
       .summary = "write sessions, bundles, approvals and the ceiling into a new tar archive",
       .positionals = {file},
       .options = {{.name = "with-secrets", .help = "and users' providers, with their secrets"}},
       .notes = "FILE - is stdout. The daemons may run: each session is copied as it was at one "
                "moment. Not in it: directories\nof cells, the audit log, and the units' "
                "/etc/odyssey. Needs root.",
       .run = BackupCommand},
      {.name = "restore",
       .summary = "put a backup into an empty state directory, after verifying it",
       .positionals = {file},
       .notes = "FILE - is stdin. No daemon may run on the state. Refuses what is damaged, and an "
                "archive with links,\ndevices or paths that lead elsewhere. Needs root.",
       .run = RestoreCommand},
  };
}

}  // namespace odyssey::ctl
