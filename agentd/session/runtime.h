#ifndef ODYSSEY_AGENTD_SESSION_RUNTIME_H_
#define ODYSSEY_AGENTD_SESSION_RUNTIME_H_

// What sessions work with: the registries and seams that all of them share. The daemon owns the
// objects; everything here is borrowed and outlives every session.

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

#include "agentd/approval/registry.h"
#include "agentd/base/clock.h"
#include "agentd/base/ids.h"
#include "agentd/bundle/bundle_store.h"
#include "agentd/event/journal_store.h"
#include "agentd/model/model_source.h"
#include "agentd/sandbox/sandbox.h"
#include "agentd/session/session_record.h"
#include "agentd/session/session_store.h"
#include "agentd/tool/tool_registry.h"

namespace odyssey::session {

class SetupCache;
class Workers;

struct Runtime {
  const agent::Clock* clock = nullptr;
  agent::IdSource* ids = nullptr;
  SessionStore* store = nullptr;
  event::JournalStore* journals = nullptr;
  bundle::BundleStore* bundles = nullptr;
  approval::Registry* approvals = nullptr;
  sandbox::Sandbox* sandbox = nullptr;
  model::ModelSource* models = nullptr;
  const tools::ToolRegistry* tools = nullptr;
  SetupCache* setups = nullptr;  // set by Sessions, whose own it is
  Workers* workers = nullptr;    // the same
  // The operator's ceiling (policy/dialect/ceiling_directory.h): which variables of the client
  // bundles may have. The supervisor enforces the rest of it.
  std::string policy_directory;
  std::chrono::seconds approval_timeout{0};  // 0: none
  // Called once for each approval that was answered, from the thread of its turn. For the log.
  std::function<void(const std::string& session_id, const agent::v1::PermissionRequested& request,
                     const approval::Answer& answer)>
      on_answer;
  // Called once for each turn that has ended, from the thread that ended it. For the log.
  std::function<void(const std::string& session_id, const TurnRecord& turn)> on_turn_end;
};

}  // namespace odyssey::session

#endif  // ODYSSEY_AGENTD_SESSION_RUNTIME_H_
