// cell put|get.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ctl/base/command.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/sanitize.h"
#include "ctl/cell/cell_name.h"
#include "ctl/client/client.h"
#include "ctl/file/file_calls.h"
#include "ctl/file/file_report.h"
#include "odyssey/supervisor/v1/supervisor.stub.h"

namespace odyssey::ctl {
namespace {

using supervisor::v1::SupervisorStub;

constexpr rpc::CallOptions kAsLongAsItTakes;

int Put(const Invocation& call) {
  const Console& console = *call.console;
  const std::vector<std::string>& words = call.options.words();
  const Result<FilesToPut> chosen = ChooseFiles({words.begin() + 1, words.end()});
  if (!chosen.ok()) return console.Fail({"put files", chosen.status().message(), ""});
  WarnSkipped(console, *chosen);

  const Result<Client> client = Client::Connect(Daemon::kSupervisor, call.locations);
  if (!client.ok()) return console.Fail(ExplainConnect("put files", client.status()));
  const SupervisorStub stub(client->channel());
  Status local;
  supervisor::v1::InjectFilesResponse response;
  std::string cell;
  Status status = FindCell(stub, words[0], &cell);
  if (status.ok()) {
    status = PutFiles(stub, kAsLongAsItTakes, {cell, call.options.Text("run"), chosen->files},
                      &local, &response);
  }
  if (!local.ok()) return console.Fail({"put files", local.message(), ""});
  if (!status.ok()) return console.Fail(client->Explain("put files", status));
  if (console.json) {
    console.PrintJson({{"run_id", response.run_id()},
                       {"files", response.files()},
                       {"bytes", response.bytes()},
                       {"skipped", chosen->skipped}});
  } else {
    console.PrintLine(Sanitize(response.run_id(), Lines::kOne));
  }
  return kExitOk;
}

int Get(const Invocation& call) {
  const Console& console = *call.console;
  Result<Destination> destination = Destination::Open(call.options.Word(2));
  if (!destination.ok()) return console.Fail({"get files", destination.status().message(), ""});
  const Result<Client> client = Client::Connect(Daemon::kSupervisor, call.locations);
  if (!client.ok()) return console.Fail(ExplainConnect("get files", client.status()));
  const SupervisorStub stub(client->channel());

  supervisor::v1::CollectFilesRequest request;
  request.set_run_id(call.options.Word(1));
  std::vector<GotFile> files;
  Status status = FindCell(stub, call.options.Word(0), request.mutable_cell_id());
  if (status.ok()) status = GetFiles(stub, kAsLongAsItTakes, request, &*destination, &files);
  if (console.json) console.PrintJson(GotFilesJson(request.run_id(), files));
  const bool all = ReportGotFiles(console, files);
  if (!status.ok()) {
    destination->Discard();
    return console.Fail(client->Explain("get files", status));
  }
  return all ? kExitOk : kExitFailed;
}

}  // namespace

std::vector<Command> TransferCommands() {
  return {
      {.name = "cell put",
       .summary = "copy files into the inbox of a run; prints the run",
       .positionals = {{.name = "CELL"}, {.name = "FILE", .kind = ValueKind::kFile, .rest = true}},
       .options = {{.name = "run",
                    .kind = ValueKind::kText,
                    .value_name = "RUN",
                    .help = "into this one (default: a new one)"}},
       .notes = "A relative path is kept: sub/f is inbox/sub/f; a file whose path is absolute or "
                "has .. in "
                "it is named by\nits last component. What is missing, a symlink or a directory is "
                "skipped with a warning.\nThe command that names the run finds the files in "
                "$ODYSSEY_RUN/inbox.",
       .run = Put},
      {.name = "cell get",
       .summary = "copy the files of a run's outbox into a directory here",
       .positionals = {{.name = "CELL"},
                       {.name = "RUN"},
                       {.name = "DIR", .kind = ValueKind::kDirectory}},
       .notes =
           "Regular files only. Nothing here is overwritten: a file that is there already is an "
           "error, and the others\ncome all the same.",
       .run = Get},
  };
}

}  // namespace odyssey::ctl
