#ifndef ODYSSEY_AGENTD_SESSION_TURN_JSON_H_
#define ODYSSEY_AGENTD_SESSION_TURN_JSON_H_

// A turn ↔ JSON, as files keep it.

#include <nlohmann/json_fwd.hpp>

#include "agentd/session/session_record.h"
#include "common/base/status.h"
#include "policy/model/budget.h"

namespace odyssey::session {

nlohmann::json BudgetToJson(const policy::Budget& budget);
// Throws nlohmann's exceptions.
policy::Budget BudgetFromJson(const nlohmann::json& json);

nlohmann::json TurnToJson(const TurnRecord& turn);
// DATA_LOSS naming what is wrong.
Result<TurnRecord> TurnFromJson(const nlohmann::json& json);

}  // namespace odyssey::session

#endif  // ODYSSEY_AGENTD_SESSION_TURN_JSON_H_
