// gc.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ctl/base/command.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/sanitize.h"
#include "ctl/base/units.h"
#include "ctl/client/client.h"
#include "ctl/gc/leftovers.h"
#include "odyssey/supervisor/v1/changes.stub.h"
#include "odyssey/supervisor/v1/supervisor.stub.h"

namespace odyssey::ctl {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kDefaultAgeS = 24 * 3600;

// Cells that live, are stopped or quarantined, and those whose changes wait, as the supervisor
// lists them.
Result<std::set<CellDigests>> AskWhatIsUsed(const Locations& locations) {
  ODY_ASSIGN_OR_RETURN(const Client client, Client::Connect(Daemon::kSupervisor, locations));
  supervisor::v1::ListCellsRequest all;
  all.set_all(true);
  supervisor::v1::ListCellsResponse cells;
  ODY_RETURN_IF_ERROR(
      supervisor::v1::SupervisorStub(client.channel()).ListCells({kQuickCallMs}, all, &cells));
  std::set<CellDigests> used;
  for (const auto& cell : cells.cells()) {
    const bool ended = cell.standing().phase() == supervisor::v1::CELL_PHASE_ENDED;
    if (!ended) used.insert(DigestsOf(cell.key()));
  }
  supervisor::v1::ListReviewedResponse reviewed;
  ODY_RETURN_IF_ERROR(
      supervisor::v1::ChangesStub(client.channel()).ListReviewed({kQuickCallMs}, {}, &reviewed));
  for (const auto& cell : reviewed.cells()) used.insert(DigestsOf(cell.key()));
  return used;
}

Status Rename(const std::string& from, const std::string& to) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) {
    return OkStatus();
  }
  return ErrnoStatus(errno, "rename " + from + " to " + to);
}

// The directories of cells of commands, whose names may be used again at any time, are renamed
// first. The cell of one that was launched meanwhile is listed then, and has its directory back,
// unless it made another one.
Result<std::vector<Leftover>> SetAside(std::vector<Leftover> found, const Invocation& call,
                                       const StateLayout& layout) {
  const std::string gone = GoneDirectory(layout);
  std::vector<Leftover> out;
  for (Leftover& leftover : found) {
    if (leftover.kind != "command cell") {
      out.push_back(std::move(leftover));
      continue;
    }
    if (mkdir(gone.c_str(), 0700) != 0 && errno != EEXIST) {
      return ErrnoStatus(errno, "make " + gone);
    }
    leftover.aside = gone + "/" + std::to_string(getpid()) + "-" + std::to_string(out.size());
    ODY_RETURN_IF_ERROR(Rename(leftover.path, leftover.aside));
    out.push_back(std::move(leftover));
  }
  const Result<std::set<CellDigests>> used = AskWhatIsUsed(call.locations);
  std::erase_if(out, [&](const Leftover& leftover) {
    if (leftover.aside.empty()) return false;
    const bool needed = !used.ok() || used->count(DigestsIn(leftover.path)) != 0;
    return needed && Rename(leftover.aside, leftover.path).ok();
  });
  rmdir(gone.c_str());  // if nothing is there
  if (!used.ok()) return used.status();
  return out;
}

Status RemoveLeftover(const Leftover& leftover, const StateLayout& layout) {
  const std::string& path = leftover.aside.empty() ? leftover.path : leftover.aside;
  std::error_code error;
  fs::remove_all(path, error);
  if (error) return ErrnoStatus(error.value(), "remove " + path);
  rmdir(GoneDirectory(layout).c_str());  // if it was the last one there
  // Emptied parents, up to the directory of cells.
  const fs::path cells = layout.supervisor_dir + "/cells";
  for (fs::path parent = fs::path(leftover.path).parent_path();
       parent.string().rfind(cells.string() + "/", 0) == 0 && rmdir(parent.c_str()) == 0;) {
    parent = parent.parent_path();
  }
  return OkStatus();
}

Result<std::vector<Leftover>> Find(const Invocation& call, const StateLayout& layout) {
  LeftoverRequest request = {.older_than_s = kDefaultAgeS,
                             .quarantined = call.options.Has("quarantined"),
                             .command_cells = call.options.Has("command-cells")};
  if (call.options.Has("keep-bytes")) {
    if (!request.command_cells) return InvalidArgument("--keep-bytes: it is of --command-cells");
    ODY_ASSIGN_OR_RETURN(request.keep_bytes, ParseSize(call.options.Text("keep-bytes")));
  }
  if (call.options.Has("older-than")) {
    ODY_ASSIGN_OR_RETURN(request.older_than_s, ParseAgeS(call.options.Text("older-than")));
  }
  // In this order: what comes to be used after the listing is not in it.
  ODY_ASSIGN_OR_RETURN(const std::vector<std::string> directories, ListCellDirectories(layout));
  ODY_ASSIGN_OR_RETURN(request.used, AskWhatIsUsed(call.locations));
  ODY_ASSIGN_OR_RETURN(std::vector<Leftover> found, FindLeftovers(layout, directories, request));
  if (call.options.Has("dry-run")) return found;
  return SetAside(std::move(found), call, layout);
}

int GcCommand(const Invocation& call) {
  const Console& console = *call.console;
  if (geteuid() != 0) {
    return console.Fail({"gc", "this needs root: the files are the daemons' users'",
                         "Run it as root, for example: sudo odyssey-ctl gc --dry-run"});
  }
  const StateLayout layout = LayoutOf(call.locations.state);
  const bool dry = call.options.Has("dry-run");
  const Result<std::vector<Leftover>> found = Find(call, layout);
  if (!found.ok()) {
    return console.Fail({"gc", found.status().message(),
                         "Nothing was removed. odyssey-ctl doctor checks the daemons."});
  }
  uint64_t bytes = 0;
  int code = kExitOk;
  Json list = Json::array();
  for (const Leftover& leftover : *found) {
    const Status status = dry ? OkStatus() : RemoveLeftover(leftover, layout);
    if (!status.ok()) {
      code = console.Fail({"gc", status.message(), ""});
      continue;
    }
    bytes += leftover.bytes;
    list.push_back({{"kind", leftover.kind}, {"path", leftover.path}, {"bytes", leftover.bytes}});
    if (console.json) continue;
    console.PrintLine(std::string(dry ? "would remove " : "removed ") + leftover.kind + "  " +
                      Sanitize(leftover.path, Lines::kOne) + "  " + FormatSize(leftover.bytes));
  }
  if (console.json) {
    console.PrintJson({{"dry_run", dry}, {"removed", std::move(list)}, {"bytes", bytes}});
  } else {
    console.PrintLine(std::string(dry ? "would free " : "freed ") + FormatSize(bytes));
  }
  return code;
}

}  // namespace

std::vector<Command> GcCommands() {
  return {
      {.name = "gc",
       .summary = "remove what no session and no cell uses any more",
       .options = {{.name = "dry-run", .help = "print what would go, and remove nothing"},
                   {.name = "older-than",
                    .kind = ValueKind::kAge,
                    .value_name = "AGE",
                    .help = "only what has not changed for that long (default 24h)"},
                   {.name = "command-cells", .help = "directories of cells of exec --cell too"},
                   {.name = "keep-bytes",
                    .kind = ValueKind::kSize,
                    .value_name = "SIZE",
                    .help = "of these only the longest unchanged, until the rest takes no more"},
                   {.name = "quarantined",
                    .help = "files too that agentd has set aside since it could not read them"}},
       .notes = "Directories of cells of sessions that agentd does not have, and "
                "STATE/restore.new.\nNever: files of a session or of a cell that lives, is stopped "
                "or quarantined, changes that wait for a\ncommit. Needs root, and the supervisor.",
       .run = GcCommand},
  };
}

}  // namespace odyssey::ctl
