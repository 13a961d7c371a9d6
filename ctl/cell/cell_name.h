#ifndef ODYSSEY_CTL_CELL_CELL_NAME_H_
#define ODYSSEY_CTL_CELL_CELL_NAME_H_

#include <string>

#include "odyssey/supervisor/v1/supervisor.stub.h"

namespace odyssey::ctl {

// "ses_…/agent/tooling/tools"; an empty session as "-". Safe to print, as the next one.
std::string KeyText(const supervisor::v1::CellKey& key);

// What FindCell finds it by: the name of a cell that `exec` made, the id of another.
std::string NameOf(const supervisor::v1::CellInfo& cell);

// The key of a cell that `exec` makes, by its name.
supervisor::v1::CellKey KeyOfCommand(const std::string& name);

// `id` becomes that of the cell that `word` means: an id, or the name that `exec --cell` gave one.
// What is neither stays as it is, for the supervisor to refuse. INVALID_ARGUMENT if several cells
// have the name, as those of different owners may; else as ListCells.
Status FindCell(const supervisor::v1::SupervisorStub& stub, const std::string& word,
                std::string* id);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_CELL_CELL_NAME_H_
