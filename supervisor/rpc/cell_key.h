#ifndef ODYSSEY_SUPERVISOR_RPC_CELL_KEY_H_
#define ODYSSEY_SUPERVISOR_RPC_CELL_KEY_H_

#include <compare>
#include <string>

#include "common/base/status.h"

namespace odyssey::supervisor {

// Names a cell to clients, over its lives.
struct CellKey {
  std::string session_id, agent_id, kind, component;
  friend auto operator<=>(const CellKey&, const CellKey&) = default;
};

// INVALID_ARGUMENT naming the field.
Status CheckCellKey(const CellKey& key);

// "<kind>/<agent>/<session or "shared">/<component>": the cell's tree below the cells directory.
// Each part is made of [A-Za-z0-9_-] and 12 hex digits of its sha256, so that no two keys meet.
std::string CellTreeOf(const CellKey& key);

// `prefix` and 16 random hex digits.
std::string RandomId(const char* prefix);

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_CELL_KEY_H_
