#include "ctl/changes/reviewed_cells.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/message/message_json.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/sanitize.h"
#include "ctl/cell/cell_name.h"
#include "ctl/changes/changes_client.h"
#include "ctl/client/client.h"
#include "ctl/view/change_view.h"
#include "odyssey/supervisor/v1/changes.stub.h"

namespace odyssey::ctl {
namespace {

using supervisor::v1::ReviewedCell;

// The supervisor knows all of them; most clients reach agentd alone.
Result<Client> ConnectToOne(const Locations& locations) {
  Result<Client> client = Client::Connect(Daemon::kSupervisor, locations);
  return client.ok() ? std::move(client) : Client::Connect(Daemon::kAgentd, locations);
}

std::string DirectoriesText(const ReviewedCell& cell) {
  std::string out;
  for (const std::string& directory : cell.directories()) {
    out += (out.empty() ? "" : " ") + directory;
  }
  return Sanitize(out, Lines::kOne);
}

// What one cell has, or why that cannot be told.
struct Counted {
  supervisor::v1::ChangeCounts counts;
  std::string why;  // empty: counted
};

Counted Count(const Client& client, const ReviewedCell& cell) {
  ChangeSet set;
  const ChangesClient changes(client, cell.key(), NameOf(cell.key()));
  const Status status = changes.List({}, &set);
  return {set.end.counts(), status.ok() ? "" : client.Explain("", status).why};
}

}  // namespace

std::string NameOf(const supervisor::v1::CellKey& key) {
  if (!key.session_id().empty()) return key.session_id();
  const supervisor::v1::CellKey named = KeyOfCommand(key.component());
  if (key.agent_id() == named.agent_id() && key.kind() == named.kind()) return key.component();
  return key.agent_id() + "/" + key.kind() + "/" + key.component();
}

int ListReviewedCells(const Console& console, const Locations& locations) {
  const Result<Client> client = ConnectToOne(locations);
  if (!client.ok()) return console.Fail(ExplainConnect("list changes", client.status()));
  supervisor::v1::ListReviewedResponse response;
  const Status status =
      supervisor::v1::ChangesStub(client->channel()).ListReviewed({kCellCallMs}, {}, &response);
  if (!status.ok()) return console.Fail(client->Explain("list changes", status));
  Json cells = Json::array();
  std::vector<std::vector<std::string>> rows;
  for (const ReviewedCell& cell : response.cells()) {
    const Counted counted = Count(*client, cell);
    Json one = message::ToJson(cell);
    one["name"] = NameOf(cell.key());
    if (counted.why.empty()) one["counts"] = message::ToJson(counted.counts);
    if (!counted.why.empty()) one["error"] = counted.why;
    cells.push_back(std::move(one));
    rows.push_back(
        {Sanitize(NameOf(cell.key()), Lines::kOne),
         counted.why.empty() ? CountsText(counted.counts) : Sanitize(counted.why, Lines::kOne),
         cell.live() ? "live" : "-", DirectoriesText(cell)});
  }
  if (console.json) {
    console.PrintJson({{"cells", std::move(cells)}});
  } else if (rows.empty()) {
    console.PrintLine("no cell has directories whose writes are reviewed");
  } else {
    console.Print(FormatTable({"CELL", "CHANGES", "STATE", "DIRECTORIES"}, rows));
  }
  return kExitOk;
}

}  // namespace odyssey::ctl
