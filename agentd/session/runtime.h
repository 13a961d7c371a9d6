#ifndef ODYSSEY_AGENTD_SESSION_RUNTIME_H_
#define ODYSSEY_AGENTD_SESSION_RUNTIME_H_

// What sessions work with: the registries and seams that all of them share. The daemon owns the
// objects; everything here is borrowed and outlives every session.

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "agentd/approval/registry.h"
#include "agentd/base/clock.h"
#include "agentd/base/ids.h"
#include "agentd/bundle/bundle_store.h"
#include "agentd/event/journal_store.h"
#include "agentd/job/jobs.h"
#include "agentd/model/model_source.h"
#include "agentd/sandbox/sandbox.h"
#include "agentd/session/session_record.h"
#include "agentd/session/session_store.h"
#include "agentd/token/token_store.h"
#include "agentd/tool/tool_registry.h"

namespace odyssey::dialect {
class CeilingFiles;
}

namespace odyssey::mcp_client {
class Servers;
}

namespace odyssey::session {

class CellQuota;
class SessionGrants;
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
  SetupCache* setups = nullptr;            // set by Sessions, whose own it is
  Workers* workers = nullptr;              // the same
  CellQuota* cells = nullptr;              // the same
  job::Jobs* jobs = nullptr;               // the same
  SessionGrants* grants = nullptr;         // the same
  mcp_client::Servers* servers = nullptr;  // the same
  // The operator's ceiling: which variables of the client bundles may have, quotas, the limits in
  // force. The supervisor enforces the rest of it.
  std::string policy_directory;
  dialect::CeilingFiles* ceiling = nullptr;  // of policy_directory; set by Sessions
  std::chrono::seconds approval_timeout{0};  // the operator's; 0: none
  // How long a turn waits for a supervisor that does not serve, as while it is restarted.
  std::chrono::milliseconds supervisor_patience{30'000};
  std::optional<uint32_t> admin_group;  // the gid whose members see every session
  token::TokenStore* tokens = nullptr;  // of `http_uid`
  std::optional<uint32_t> http_uid;     // whose connections pass tokens on
  // Whether the operator lets a uid connect. From any thread.
  std::function<bool(uint32_t uid)> may_connect;
  // Called once for each approval that was answered, from the thread of its turn, with whether the
  // supervisor has recorded it. For the log.
  std::function<void(const std::string& session_id, const agent::v1::PermissionRequested& request,
                     const approval::Answer& answer, const Status& recorded)>
      on_answer;
  // Called for each method that a member of the admin group calls about another's session; "*":
  // about all. From the call's thread. For the log.
  std::function<void(std::string_view act, const std::string& session_id, uint32_t uid)> on_admin;
  // Called once for each turn that has ended, from the thread that ended it. For the log.
  std::function<void(const std::string& session_id, const TurnRecord& turn)> on_turn_end;
};

}  // namespace odyssey::session

#endif  // ODYSSEY_AGENTD_SESSION_RUNTIME_H_
