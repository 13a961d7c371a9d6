// session export|import|compact.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/message/message_json.h"
#include "ctl/base/command.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/sanitize.h"
#include "ctl/base/units.h"
#include "ctl/bundle/bundle_output.h"
#include "ctl/client/client.h"
#include "ctl/session/session_calls.h"
#include "odyssey/agent/v1/session.stub.h"

namespace odyssey::ctl {
namespace {

using agent::v1::SessionServiceStub;

constexpr int kFileMs = 600'000;

std::string Safe(const std::string& text) { return Sanitize(text, Lines::kOne); }

// "0f8fad5b-….json" of "ses_0f8fad5b…": the name that the original Odyssey looks for.
std::string FileNameOf(const std::string& session_id) {
  std::string out = session_id.substr(session_id.find('_') + 1);
  for (const size_t dash : {size_t{8}, size_t{13}, size_t{18}, size_t{23}})
    out.insert(std::min(dash, out.size()), "-");
  return out + ".json";
}

int Export(const Invocation& call) {
  const Console& console = *call.console;
  const std::string id = call.options.Word(0);
  const std::string what = "export session " + id;
  const Result<Client> client = Client::Connect(Daemon::kAgentd, call.locations);
  if (!client.ok()) return console.Fail(ExplainConnect(what, client.status()));
  agent::v1::ExportSessionRequest request;
  request.set_session_id(id);
  std::string path;
  const auto write = [&]() -> Status {
    auto stream = SessionServiceStub(client->channel()).ExportSession({kFileMs}, request);
    agent::v1::ExportSessionResponse part;
    if (!stream.Read(&part)) return stream.Finish();
    const std::string output = call.options.Has("output") ? call.options.Text("output") : ".";
    ODY_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(output, FileNameOf(id)));
    do {
      ODY_RETURN_IF_ERROR(file.Write(part.data()));
    } while (stream.Read(&part));
    ODY_RETURN_IF_ERROR(stream.Finish());
    path = file.path();
    return file.Commit();
  };
  const Status status = write();
  if (!status.ok()) return console.Fail(client->Explain(what, status));
  console.json ? console.PrintJson({{"session_id", id}, {"path", path}})
               : console.PrintLine(Safe("exported " + path));
  return kExitOk;
}

int Import(const Invocation& call) {
  const Console& console = *call.console;
  const std::string file = call.options.Word(0);
  const Result<Client> client = Client::Connect(Daemon::kAgentd, call.locations);
  if (!client.ok()) return console.Fail(ExplainConnect("import " + file, client.status()));
  const std::optional<agent::v1::Session> session =
      ImportSession(console, *client, SessionServiceStub(client->channel()),
                    {file, call.options.Text("bundle"), call.options.Text("cwd")});
  if (!session) return kExitFailed;
  console.json ? console.PrintJson(message::ToJson(*session))
               : console.PrintLine(Safe(session->id()));
  return kExitOk;
}

int Compact(const Invocation& call) {
  const Console& console = *call.console;
  const std::string id = call.options.Word(0);
  const Result<Client> client = Client::Connect(Daemon::kAgentd, call.locations);
  if (!client.ok()) return console.Fail(ExplainConnect("compact session " + id, client.status()));
  agent::v1::CompactSessionRequest request;
  request.set_session_id(id);
  const bool given = call.options.Has("keep-turns");
  request.set_keep_turns(given ? static_cast<uint32_t>(call.options.Number("keep-turns")) : 1);
  agent::v1::CompactSessionResponse response;
  const Status status =
      SessionServiceStub(client->channel()).CompactSession({kFileMs}, request, &response);
  if (!status.ok()) return console.Fail(client->Explain("compact session " + id, status));
  console.json ? console.PrintJson(message::ToJson(response))
               : console.PrintLine("removed " + std::to_string(response.removed_events()) +
                                   " events, freed " + FormatSize(response.freed_bytes()));
  return kExitOk;
}

}  // namespace

std::vector<Command> SessionFileCommands() {
  const PositionalSpec id = {.name = "ID"};
  return {
      {.name = "session export",
       .summary = "write a session as a file of the original Odyssey",
       .positionals = {id},
       .options = {{.name = "output",
                    .kind = ValueKind::kFile,
                    .value_name = "PATH",
                    .help = "a file, or a directory for UUID.json (default: .)"}},
       .notes = "It has the turns that have ended, as the model sees them.",
       .run = Export},
      {.name = "session import",
       .summary = "make a session of such a file; prints its id",
       .positionals = {{.name = "FILE", .kind = ValueKind::kFile}},
       .options = {{.name = "bundle",
                    .kind = ValueKind::kDirectory,
                    .value_name = "BUNDLE",
                    .help =
                        "what the session is of (default: the installed bundle that FILE names)"},
                   {.name = "cwd",
                    .kind = ValueKind::kDirectory,
                    .value_name = "DIR",
                    .help = "what \".\" in the bundle's mounts means (default: here)"}},
       .notes = "BUNDLE is as for session create.",
       .run = Import},
      {.name = "session compact",
       .summary = "remove the events of older turns; their messages stay",
       .positionals = {id},
       .options = {{.name = "keep-turns",
                    .kind = ValueKind::kNumber,
                    .value_name = "N",
                    .help = "keep the events of the last N turns (default: 1)",
                    .max = UINT32_MAX}},
       .notes = "Refused while a turn or a command of the session is queued or runs.",
       .run = Compact},
  };
}

}  // namespace odyssey::ctl
