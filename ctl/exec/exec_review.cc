#include "ctl/exec/exec_review.h"

#include "ctl/cell/cell_name.h"
#include "ctl/changes/change_question.h"
#include "ctl/client/client.h"
#include "odyssey/supervisor/v1/supervisor.stub.h"

namespace odyssey::ctl {
namespace {

void EndCell(const Console& console, const Client& client, const std::string& cell_id, bool purge) {
  supervisor::v1::RemoveCellRequest request;
  request.set_cell_id(cell_id);
  request.set_purge(purge);
  supervisor::v1::RemoveCellResponse response;
  const supervisor::v1::SupervisorStub stub(client.channel());
  const Status status = stub.RemoveCell({kCellCallMs}, request, &response);
  if (!status.ok() && status.code() != Code::kNotFound) {
    console.Fail(client.Explain("remove cell " + cell_id, status));
  }
}

}  // namespace

std::string ReviewNotice(const std::string& name) {
  return "odyssey-ctl: changes are kept:\n" + KeptText(name);
}

void ReviewAfterExec(const Console& console, const Locations& locations, const ReviewedExec& exec) {
  const Result<Client> client = Client::Connect(Daemon::kSupervisor, locations);
  if (!client.ok()) {
    console.Fail(ExplainConnect("review changes", client.status()));
    return;
  }
  QuestionEnd end = QuestionEnd::kKept;
  if (!console.json) {
    end = DecideChanges(console, ChangesClient(*client, KeyOfCommand(exec.name), exec.name));
  }
  // A commit can be undone as long as the cell's directories are there.
  const bool purge = end == QuestionEnd::kNothing || end == QuestionEnd::kDiscarded;
  if (exec.generated) EndCell(console, *client, exec.cell_id, purge);
}

}  // namespace odyssey::ctl
