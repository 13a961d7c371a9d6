#include "ctl/cell/cell_name.h"

#include "ctl/base/sanitize.h"
#include "ctl/client/client.h"

namespace odyssey::ctl {
namespace {

using supervisor::v1::CellKey;

bool IsSame(const CellKey& one, const CellKey& other) {
  return one.session_id() == other.session_id() && one.agent_id() == other.agent_id() &&
         one.kind() == other.kind() && one.component() == other.component();
}

}  // namespace

std::string KeyText(const CellKey& key) {
  const std::string session = key.session_id().empty() ? "-" : key.session_id();
  return Sanitize(session + "/" + key.agent_id() + "/" + key.kind() + "/" + key.component(),
                  Lines::kOne);
}

std::string NameOf(const supervisor::v1::CellInfo& cell) {
  const std::string& name = cell.key().component();
  return Sanitize(IsSame(cell.key(), KeyOfCommand(name)) ? name : cell.cell_id(), Lines::kOne);
}

CellKey KeyOfCommand(const std::string& name) {
  CellKey key;
  key.set_agent_id("ctl");
  key.set_kind("command");
  key.set_component(name);
  return key;
}

Status FindCell(const supervisor::v1::SupervisorStub& stub, const std::string& word,
                std::string* id) {
  supervisor::v1::ListCellsRequest request;
  request.set_all(true);
  supervisor::v1::ListCellsResponse response;
  const Status status = stub.ListCells({kQuickCallMs}, request, &response);
  if (!status.ok()) return status;
  *id = word;
  std::string named;
  for (const supervisor::v1::CellInfo& cell : response.cells()) {
    if (cell.cell_id() == word) return OkStatus();
    const bool ended = cell.standing().phase() == supervisor::v1::CELL_PHASE_ENDED;
    if (!ended && IsSame(cell.key(), KeyOfCommand(word))) {
      named += (named.empty() ? "" : ", ") + cell.cell_id();
      *id = cell.cell_id();
    }
  }
  if (named.find(',') == named.npos) return OkStatus();
  return InvalidArgument("several cells are called \"" + word + "\": " + named +
                         "; give one of these");
}

}  // namespace odyssey::ctl
