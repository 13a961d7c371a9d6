#ifndef ODYSSEY_AGENTD_SESSION_TURN_SETUP_H_
#define ODYSSEY_AGENTD_SESSION_TURN_SETUP_H_

// What one turn of a session runs with, worked out from its record and its bundle.

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agentd/provider/price_list.h"
#include "agentd/session/runtime.h"
#include "agentd/session/session_record.h"
#include "agentd/session/turn_trace.h"
#include "policy/dialect/bundle.h"
#include "policy/rules/tool_rules.h"

namespace odyssey::session {

struct TurnSetup {
  std::shared_ptr<const bundle::InstalledBundle> bundle;
  dialect::AgentSpec agent;
  rules::ToolRules rules;
  std::vector<rules::ToolRules> bounds;  // of the agents that called this one: each holds too
  std::string system_prompt;
  std::vector<std::string> offered;  // names of tools
  std::shared_ptr<model::ModelClient> model;
  std::optional<provider::Price> price;  // of the model
  sandbox::CellSpec cell;
  std::optional<policy::SandboxRequest> within;  // of a worker: its caller's, which bounds it
  dialect::Origins origins;                      // of the fields of the cell's request
  std::string sandbox_mode;    // "read_only", "workspace_write" or "danger_full_access"
  std::string shell;           // what runs the command lines of Bash
  std::string workspace;       // where commands start, as they see it
  uint32_t wall_clock_ms = 0;  // of a command, within the operator's bound
  uint64_t output_cap_bytes = 0;
};

// The variables that the bundle may have of the client's, by the names that the client has for
// them: the supervisor sees only those that commands get. Reads the operator's ceiling.
Result<std::set<std::string>> GrantedSources(const SessionRecord& record,
                                             const dialect::SandboxSpec& sandbox,
                                             const Runtime& runtime);

// The cell that the session's tools run in.
sandbox::CellKey ToolingCell(const SessionRecord& record);

// Checks everything that can be checked without the supervisor: creating a session fails on what
// would make each of its turns fail. `trace` may be null.
Result<TurnSetup> SetUpTurn(const SessionRecord& record, const Runtime& runtime,
                            TurnTrace* trace = nullptr);

// Of a background job and of a server's process, within the operator's bound; 0: the cell's.
uint32_t LongWallClockMs(const TurnSetup& setup);

// FAILED_PRECONDITION: the budget bounds the cost, and the model has no price.
Status CheckPriced(const SessionRecord& record, const TurnSetup& setup);

// Asks the supervisor whether the operator allows the session's cell, and says what is refused as
// PrepareSessionCell does. OK if the supervisor cannot be asked: the turn is told.
Status CheckSessionCell(const TurnSetup& setup, const Runtime& runtime);

// Makes the session's cell, or finds it; puts the bundle's files into a private workspace that is
// new; and records both. Returns the cell's id. What the supervisor refuses of the request is said
// with the file and line of the bundle that asks for it.
Result<std::string> PrepareSessionCell(const std::string& session_id, const TurnSetup& setup,
                                       const Runtime& runtime);

}  // namespace odyssey::session

#endif  // ODYSSEY_AGENTD_SESSION_TURN_SETUP_H_
