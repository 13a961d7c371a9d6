// job list|stop.
#include <string>
#include <vector>

#include "common/message/message_json.h"
#include "ctl/base/command.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/sanitize.h"
#include "ctl/base/terminal.h"
#include "ctl/client/client.h"
#include "odyssey/agent/v1/session.stub.h"

namespace odyssey::ctl {
namespace {

std::string Safe(const std::string& text) { return Sanitize(text, Lines::kOne); }

std::string StateOf(const agent::v1::Job& job) {
  if (job.ended_at().empty()) return "running";
  if (job.outcome() == "exited") return "exited " + std::to_string(job.exit_code());
  return job.outcome();
}

int List(const Invocation& call) {
  const Console& console = *call.console;
  const Result<Client> client = Client::Connect(Daemon::kAgentd, call.locations);
  if (!client.ok()) return console.Fail(ExplainConnect("list jobs", client.status()));
  agent::v1::ListJobsRequest request;
  request.set_session_id(call.options.Word(0));
  agent::v1::ListJobsResponse response;
  const agent::v1::SessionServiceStub stub(client->channel());
  const Status status = stub.ListJobs({kQuickCallMs}, request, &response);
  if (!status.ok()) return console.Fail(client->Explain("list jobs", status));
  if (console.json) {
    console.PrintJson(message::ToJson(response));
    return kExitOk;
  }
  if (response.jobs().empty()) {
    console.PrintLine("no jobs");
    return kExitOk;
  }
  std::vector<std::vector<std::string>> rows;
  for (const agent::v1::Job& job : response.jobs()) {
    rows.push_back({Safe(job.id()), Safe(StateOf(job)), Safe(job.started_at()),
                    std::to_string(job.output_bytes()), Safe(job.command())});
  }
  console.Print(FormatTable({"ID", "STATE", "STARTED", "OUTPUT", "COMMAND"}, rows));
  return kExitOk;
}

int Stop(const Invocation& call) {
  const Console& console = *call.console;
  const Result<Client> client = Client::Connect(Daemon::kAgentd, call.locations);
  if (!client.ok()) return console.Fail(ExplainConnect("stop a job", client.status()));
  agent::v1::StopJobRequest request;
  request.set_session_id(call.options.Word(0));
  request.set_job_id(call.options.Word(1));
  agent::v1::StopJobResponse response;
  const agent::v1::SessionServiceStub stub(client->channel());
  const Status status = stub.StopJob({kCellCallMs}, request, &response);
  if (!status.ok()) return console.Fail(client->Explain("stop " + request.job_id(), status));
  console.json ? console.PrintJson(message::ToJson(response.job()))
               : console.PrintLine(Safe(response.job().id() + ": " + StateOf(response.job())));
  return kExitOk;
}

}  // namespace

std::vector<Command> JobCommands() {
  const PositionalSpec session = {.name = "SESSION"};
  return {
      {.name = "job list",
       .summary = "list the background jobs of a session",
       .positionals = {session},
       .notes = "Those that have ended are listed until the session's cell ends. What a job prints "
                "is in the events of\nthe session.",
       .run = List},
      {.name = "job stop",
       .summary = "stop a background job: SIGTERM, then SIGKILL for all of its processes",
       .positionals = {session, {.name = "JOB"}},
       .run = Stop},
  };
}

}  // namespace odyssey::ctl
