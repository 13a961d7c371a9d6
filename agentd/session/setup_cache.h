#ifndef ODYSSEY_AGENTD_SESSION_SETUP_CACHE_H_
#define ODYSSEY_AGENTD_SESSION_SETUP_CACHE_H_

// What turns of sessions run with, kept from one turn to the next, so that a turn reads its bundle
// and makes its request anew only when something of these has changed. Thread-safe.
//
// A setup follows from the session's record, from its bundle, whose copy is fixed by the digest in
// the record, and from the operator's ceiling, of which agentd uses one thing: which variables the
// bundle may have. That is read for each turn (ADR 0021); the rest of the ceiling is the
// supervisor's to hold against the request, which it does each time that a cell is prepared.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "agentd/session/runtime.h"
#include "agentd/session/session_record.h"
#include "agentd/session/turn_setup.h"
#include "common/base/status.h"

namespace odyssey::session {

class SetupCache final {
 public:
  // SetUpTurn of the record, or what it returned for the last turn. Failures are not kept. `trace`
  // may be null.
  Result<std::shared_ptr<const TurnSetup>> SetUp(const SessionRecord& record,
                                                 const Runtime& runtime,
                                                 TurnTrace* trace = nullptr);
  // Of a session that was deleted.
  void Forget(const std::string& session_id);

  // How often something was set up.
  uint64_t setups() const;

 private:
  // All of the record that a setup follows from.
  struct Inputs {
    bundle::BundlePin bundle;
    std::string agent_id;
    std::string cwd;
    uint32_t owner_uid = 0;
    bool allow_danger = false;
    bool review = false;
    std::map<std::string, std::string> env;
    friend bool operator==(const Inputs&, const Inputs&) = default;
  };
  struct Entry {
    Inputs inputs;
    std::shared_ptr<const TurnSetup> setup;
  };

  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;  // guarded by mutex_, by session
  uint64_t setups_ = 0;                   // likewise
};

}  // namespace odyssey::session

#endif  // ODYSSEY_AGENTD_SESSION_SETUP_CACHE_H_
