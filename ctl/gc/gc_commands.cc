// gc.
#include <errno.h>
#include <unistd.h>

#include <filesystem>
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

// Of the cells that live and those whose changes wait, as the supervisor lists them.
Status AskWhatIsUsed(const Locations& locations, LeftoverRequest* request) {
  ODY_ASSIGN_OR_RETURN(const Client client, Client::Connect(Daemon::kSupervisor, locations));
  supervisor::v1::ListCellsResponse cells;
  ODY_RETURN_IF_ERROR(
      supervisor::v1::SupervisorStub(client.channel()).ListCells({kQuickCallMs}, {}, &cells));
  for (const auto& cell : cells.cells()) request->used_sessions.insert(cell.key().session_id());
  supervisor::v1::ListReviewedResponse reviewed;
  ODY_RETURN_IF_ERROR(
      supervisor::v1::ChangesStub(client.channel()).ListReviewed({kQuickCallMs}, {}, &reviewed));
  for (const auto& cell : reviewed.cells()) request->used_sessions.insert(cell.key().session_id());
  return OkStatus();
}

Status RemoveLeftover(const Leftover& leftover, const StateLayout& layout) {
  std::error_code error;
  fs::remove_all(leftover.path, error);
  if (error) return ErrnoStatus(error.value(), "remove " + leftover.path);
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
                             .quarantined = call.options.Has("quarantined")};
  if (call.options.Has("older-than")) {
    ODY_ASSIGN_OR_RETURN(request.older_than_s, ParseAgeS(call.options.Text("older-than")));
  }
  // In this order: what comes to be used after the listing is not in it.
  ODY_ASSIGN_OR_RETURN(const std::vector<std::string> directories, ListCellDirectories(layout));
  ODY_RETURN_IF_ERROR(AskWhatIsUsed(call.locations, &request));
  return FindLeftovers(layout, directories, request);
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
                   {.name = "quarantined",
                    .help = "files too that agentd has set aside since it could not read them"}},
       .notes = "Directories of cells of sessions that agentd does not have, and "
                "STATE/restore.new.\nNever: files of a session or of a cell that lives, changes "
                "that wait for a commit, cells of commands.\nNeeds root, and the supervisor.",
       .run = GcCommand},
  };
}

}  // namespace odyssey::ctl
