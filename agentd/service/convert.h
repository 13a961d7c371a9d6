#ifndef ODYSSEY_AGENTD_SERVICE_CONVERT_H_
#define ODYSSEY_AGENTD_SERVICE_CONVERT_H_

// Domain values ↔ protocol messages. Pure.

#include "agentd/approval/registry.h"
#include "agentd/session/session_grants.h"
#include "agentd/session/session_record.h"
#include "odyssey/agent/v1/approval.pb.h"
#include "odyssey/agent/v1/session.pb.h"
#include "policy/model/budget.h"

namespace odyssey::service {

namespace pb = ::odyssey::agent::v1;

// Without its history.
pb::Turn ToProto(const session::TurnRecord& turn);
pb::ChatMessage ToProto(const model::Message& message);

pb::Session ToProto(const session::SessionRecord& record, uint64_t last_sequence);

pb::SessionGrant ToProto(const session::SessionGrant& grant);

policy::Budget FromProto(const pb::Budget& budget);
// INVALID_ARGUMENT for an unspecified or unknown one.
Result<approval::Decision> FromProto(pb::Decision decision);

}  // namespace odyssey::service

#endif  // ODYSSEY_AGENTD_SERVICE_CONVERT_H_
