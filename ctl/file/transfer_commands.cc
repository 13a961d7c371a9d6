// cell put|get.

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "ctl/base/command.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/sanitize.h"
#include "ctl/cell/cell_name.h"
#include "ctl/client/client.h"
#include "ctl/file/copy_status.h"
#include "ctl/file/file_calls.h"
#include "ctl/file/file_report.h"
#include "odyssey/supervisor/v1/supervisor.stub.h"

namespace odyssey::ctl {
namespace {

using supervisor::v1::SupervisorStub;

constexpr rpc::CallOptions kAsLongAsItTakes;
constexpr size_t kOneCall = 256;  // files, each with a descriptor; the supervisor takes 1024
constexpr char kStream[] = "-";

// `cell` is the id. Adds to `*sent` what each call put.
Status PutAll(const SupervisorStub& stub, PutRequest request, const ListedFiles& listed,
              const Console& console, Status* local, supervisor::v1::InjectFilesResponse* sent) {
  for (size_t begin = 0; begin < listed.files.size(); begin += kOneCall) {
    const size_t end = std::min(begin + kOneCall, listed.files.size());
    const FilesToPut files = OpenListed(&listed.files[begin], &listed.files[end - 1] + 1);
    WarnSkipped(console, files);
    request.files = files.files;
    supervisor::v1::InjectFilesResponse response;
    const Status status = PutFiles(stub, kAsLongAsItTakes, request, local, &response);
    if (!status.ok() || !local->ok()) return status;
    sent->set_files(sent->files() + response.files());
    sent->set_bytes(sent->bytes() + response.bytes());
  }
  return OkStatus();
}

// stdin becomes the file at `path`.
Status PutStream(const SupervisorStub& stub, PutRequest request, const std::string& path,
                 Status* local, supervisor::v1::InjectFilesResponse* sent) {
  const size_t slash = path.rfind('/');
  const FileToPut file{"stdin", nullptr, path.substr(slash + 1)};
  request.directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  request.files = {&file, 1};
  return PutFiles(stub, kAsLongAsItTakes, request, local, sent);
}

// Into a place of the cell, by several calls.
int PutAt(const Invocation& call) {
  const Console& console = *call.console;
  const std::string to = call.options.Text("to");
  const std::vector<std::string>& words = call.options.words();
  const bool stream = words.size() == 2 && words[1] == kStream;
  Result<ListedFiles> listed = ListedFiles{};
  if (!stream) listed = ListFiles({words.begin() + 1, words.end()});
  if (!listed.ok()) return console.Fail({"put files", listed.status().message(), ""});
  for (const std::string& text : listed->skipped) WarnSkipped(console, {{}, {text}});

  const Result<Client> client = Client::Connect(Daemon::kSupervisor, call.locations);
  if (!client.ok()) return console.Fail(ExplainConnect("put files", client.status()));
  const SupervisorStub stub(client->channel());
  Status local;
  supervisor::v1::InjectFilesResponse sent;
  PutRequest request{.directory = to, .replace = call.options.Has("replace")};
  Status status = FindCell(stub, words[0], &request.cell_id);
  {
    StatusLine status_line(console);
    request.progress = ShowCopies(&status_line);
    if (status.ok()) {
      status = stream ? PutStream(stub, request, to, &local, &sent)
                      : PutAll(stub, request, *listed, console, &local, &sent);
    }
  }
  if (!local.ok()) return console.Fail({"put files", local.message(), ""});
  if (!status.ok()) return console.Fail(client->Explain("put files", status));
  if (console.json) {
    console.PrintJson(
        {{"files", sent.files()}, {"bytes", sent.bytes()}, {"skipped", listed->skipped}});
  }
  return kExitOk;
}

int Put(const Invocation& call) {
  if (call.options.Has("to")) return PutAt(call);
  const Console& console = *call.console;
  const std::vector<std::string>& words = call.options.words();
  if (call.options.Has("replace")) return console.Fail({"put files", "--replace needs --to", ""});
  const Result<FilesToPut> chosen = ChooseFiles({words.begin() + 1, words.end()});
  if (!chosen.ok()) return console.Fail({"put files", chosen.status().message(), ""});
  WarnSkipped(console, *chosen);

  const Result<Client> client = Client::Connect(Daemon::kSupervisor, call.locations);
  if (!client.ok()) return console.Fail(ExplainConnect("put files", client.status()));
  const SupervisorStub stub(client->channel());
  Status local;
  supervisor::v1::InjectFilesResponse response;
  PutRequest request{.run_id = call.options.Text("run"), .files = chosen->files};
  Status status = FindCell(stub, words[0], &request.cell_id);
  if (status.ok()) status = PutFiles(stub, kAsLongAsItTakes, request, &local, &response);
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

// "run_" and 16 hex digits.
bool IsRun(const std::string& word) {
  return word.size() == 20 && word.rfind("run_", 0) == 0 &&
         word.find_first_not_of("0123456789abcdef", 4) == std::string::npos;
}

int Get(const Invocation& call) {
  const Console& console = *call.console;
  const std::string& source = call.options.Word(1);
  const bool stream = call.options.Word(2) == kStream;
  if (stream && IsRun(source)) return console.Fail({"get files", "- is for one file", ""});
  Result<Destination> destination = NotFound("");
  if (!stream) destination = Destination::Open(call.options.Word(2));
  if (!stream && !destination.ok()) {
    return console.Fail({"get files", destination.status().message(), ""});
  }
  const Result<Client> client = Client::Connect(Daemon::kSupervisor, call.locations);
  if (!client.ok()) return console.Fail(ExplainConnect("get files", client.status()));
  const SupervisorStub stub(client->channel());

  supervisor::v1::CollectFilesRequest request;
  IsRun(source) ? request.set_run_id(source) : request.set_path(source);
  std::vector<GotFile> files;
  Status status = FindCell(stub, call.options.Word(0), request.mutable_cell_id());
  if (status.ok() && stream) status = GetFile(stub, kAsLongAsItTakes, request, STDOUT_FILENO);
  if (status.ok() && !stream) {
    StatusLine status_line(console);
    status =
        GetFiles(stub, kAsLongAsItTakes, request, &*destination, &files, ShowCopies(&status_line));
  }
  if (stream) return status.ok() ? kExitOk : console.Fail(client->Explain("get file", status));
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
       .summary = "copy files into a cell: into the inbox of a run, which is printed, or --to a "
                  "directory",
       .positionals = {{.name = "CELL"}, {.name = "FILE", .kind = ValueKind::kFile, .rest = true}},
       .options = {{.name = "run",
                    .kind = ValueKind::kText,
                    .value_name = "RUN",
                    .help = "into this one (default: a new one)"},
                   {.name = "to",
                    .kind = ValueKind::kText,
                    .value_name = "PATH",
                    .help = "into this directory of the cell, from the workspace if it is "
                            "relative; of - the file"},
                   {.name = "replace", .help = "with --to: files that are there"}},
       .notes = "Into an inbox a relative path is kept: sub/f is inbox/sub/f; a file whose path is "
                "absolute or has .. in\nit is named by its last component. The command that names "
                "the run finds the files in $ODYSSEY_RUN/inbox.\nWith --to a FILE is named by its "
                "last component; of a directory all that is below it is copied, and DIR/. is\n"
                "what is in DIR; - is stdin. What is missing or a symlink is skipped with a "
                "warning, and without --to a\ndirectory is too.",
       .run = Put},
      {.name = "cell get",
       .summary =
           "copy the files of a run's outbox, or of a place in a cell, into a directory here",
       .positionals = {{.name = "CELL"},
                       {.name = "RUN|PATH"},
                       {.name = "DIR", .kind = ValueKind::kDirectory}},
       .notes =
           "PATH is a file, or a directory whose files are copied, from the workspace if it is "
           "relative; with - as DIR the\nfile goes to stdout. Regular files only. Nothing here is "
           "overwritten: a file that is there already is an\nerror, and the others come all the "
           "same.",
       .run = Get},
  };
}

}  // namespace odyssey::ctl
