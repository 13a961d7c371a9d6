#ifndef ODYSSEY_SUPERVISOR_RPC_CELL_SPEC_H_
#define ODYSSEY_SUPERVISOR_RPC_CELL_SPEC_H_

// A cell as it is asked for, and as it was made. Values.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "policy/compile/compile.h"
#include "policy/model/request.h"
#include "supervisor/rpc/ceiling_gate.h"
#include "supervisor/rpc/cell_key.h"
#include "supervisor/rpc/host_state.h"

namespace odyssey::supervisor {

struct PrepareSpec {
  CellKey key;
  policy::SandboxRequest sandbox;
  std::string bundle_digest;
  std::string sources_digest;
  bool single_use = false;
  uint32_t owner_uid = 0;     // on whose behalf
  bool allow_danger = false;  // the person's own word
  bool spare_running = false;
  std::vector<std::string> granted_by;  // for the audit log
};

// A cell as it was admitted and compiled, off the loop.
struct CellOrder {
  PrepareSpec spec;  // `sandbox` as admitted
  Admission admission;
  compile::Compiled compiled;
  HostState host;  // then
};

// Everything whose change makes a new revision.
std::string IdentityOf(const CellOrder& order);

struct CellFacts {
  std::string id;
  CellKey key;  // empty: it was made ahead of need, and has not been claimed
  uint32_t revision = 1;
  uint32_t host_uid = 0;           // 0 until it is launched
  std::string identity;            // everything whose change makes a new revision
  Admission admission;             // by the operator's ceiling, last time
  policy::SandboxRequest request;  // that it was compiled from, without values of the environment
  compile::Compiled compiled;
  std::map<std::string, std::string> env;  // the request's: name → value
  bool ephemeral = false;
  bool single_use = false;
  bool made_ahead = false;
  std::string workspace_path;
  std::string created_at;

  bool claimed() const { return !key.component.empty(); }
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_CELL_SPEC_H_
