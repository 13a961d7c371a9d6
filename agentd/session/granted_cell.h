#ifndef ODYSSEY_AGENTD_SESSION_GRANTED_CELL_H_
#define ODYSSEY_AGENTD_SESSION_GRANTED_CELL_H_

// The cell that a turn's tools run in: the session's own, with what approvals have added to it. A
// change of that is a new revision of the cell (ADR 0053).

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "agentd/approval/registry.h"
#include "agentd/event/journal.h"
#include "agentd/session/runtime.h"
#include "agentd/session/session_grants.h"
#include "agentd/session/turn_setup.h"
#include "agentd/turn/turn_machine.h"
#include "common/base/status.h"

namespace odyssey::session {

// The setup with these additions to its cell. Reads the operator's ceiling, for the limits in
// force, if one of them is raised: else the request has its limits as they were, and one with other
// endpoints is for the same cell.
Result<TurnSetup> WithGrants(const TurnSetup& setup, const std::vector<SessionGrant>& granted,
                             const Runtime& runtime);

// The event of a grant's end.
event::Event GrantEnds(const std::string& turn_id, const std::string& request_id,
                       const std::string& reason, uint32_t by_uid);

// Used by the worker that runs the turn.
class GrantedCell final {
 public:
  struct Hooks {
    std::function<Status(event::Event)> record;               // in the journal
    std::function<void(const std::string& cell_id)> on_cell;  // the session's cell is this one
  };
  // `runtime` is borrowed.
  GrantedCell(std::string session_id, std::string turn_id, const Runtime* runtime, Hooks hooks);

  // Before everything below.
  void Use(std::shared_ptr<const TurnSetup> setup) { setup_ = std::move(setup); }

  // Those of `asked` that the session does not have; or why they cannot be granted, whatever a
  // person says: then none is asked.
  Result<agent::v1::Grants> Beyond(const agent::v1::Grants& asked) const;

  // Beyond, of one endpoint more for a cell that has egress: its processes may go on.
  Result<agent::v1::Grants> BeyondNetwork(const agent::v1::Grants& asked) const;
  // Whether an endpoint of the cell's policy names the destination, for whichever program.
  bool NamesDestination(const std::string& host, uint16_t port) const;

  // A person has allowed the request: adds its grants, and says so in `answered`. `once`: how far
  // those reach that are not for the session, GRANT_SCOPE_CALL or GRANT_SCOPE_TURN.
  void Add(const agent::v1::PermissionRequested& request, const approval::Answer& answer,
           agent::v1::GrantScope once, turn::Answered* answered);
  // A rule has: for the turn.
  void AddByRule(const agent::v1::Grants& grants);

  // Makes the cell, or keeps it: to be called before each call. Grants that have expired, and those
  // that the operator no longer allows, end here. An error while grants are being added is theirs:
  // the next Enter is without them.
  Status Enter();

  // The call has ended: what was granted for it alone ends, with the cell that had it. Any number
  // of times.
  void Leave();
  // It has ended by itself: Enter makes it anew.
  void Lost() { stale_ = true; }
  // The turn has ended: what was granted for it ends. Processes of the cell go on, and their
  // connections to what is no longer granted are reset. Any number of times.
  void LeaveTurn();

  const std::string& id() const { return id_; }
  // Of a command in it.
  uint32_t wall_clock_ms() const { return wall_clock_ms_; }

 private:
  std::vector<SessionGrant> Granted() const;
  Result<agent::v1::Grants> BeyondPresent(const agent::v1::Grants& asked) const;
  Status CheckAllowed(const TurnSetup& wider, const agent::v1::Grant& grant) const;
  Status CheckIdle() const;
  Status Prepare(const std::vector<SessionGrant>& granted);
  // The one of `granted` that the operator does not allow; null: none of them.
  const SessionGrant* FindRefused(const std::vector<SessionGrant>& granted) const;
  void End(const SessionGrant& grant, const std::string& reason);

  const std::string session_id_;
  const std::string turn_id_;
  const Runtime* const runtime_;
  const Hooks hooks_;
  std::shared_ptr<const TurnSetup> setup_;
  std::string id_;
  std::set<std::string> in_force_;  // ids of the grants that the cell was made with
  policy::SandboxRequest request_;  // likewise
  bool stale_ = true;               // it is to be prepared, whatever is granted
  uint32_t wall_clock_ms_ = 0;
  std::string of_call_;  // id of the grant for the call that is under way; empty: none
};

}  // namespace odyssey::session

#endif  // ODYSSEY_AGENTD_SESSION_GRANTED_CELL_H_
