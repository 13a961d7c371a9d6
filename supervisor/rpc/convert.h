#ifndef ODYSSEY_SUPERVISOR_RPC_CONVERT_H_
#define ODYSSEY_SUPERVISOR_RPC_CONVERT_H_

// Proto messages ↔ the broker's values. Below it and the service, rpc knows of the protocol only
// the names and numbers of outcomes.

#include "common/base/status.h"
#include "odyssey/supervisor/v1/supervisor.pb.h"
#include "supervisor/rpc/broker.h"

namespace odyssey::supervisor {

namespace pb = ::odyssey::supervisor::v1;

// INVALID_ARGUMENT names the field, the value and what is allowed.
Result<PrepareSpec> FromProto(const pb::PrepareCellRequest& request);
Status CheckStart(const pb::ExecStart& start);
// What may follow `start` on an Exec stream.
Status CheckFollowing(const pb::ExecRequest& request);

void ToProto(const Feature& feature, pb::Feature* out);
void ToProto(const CellView& view, const std::vector<Feature>& layers, pb::CellInfo* out);
// What the standing store keeps of a cell.
CellView FromProto(const pb::CellInfo& cell);
void ToProto(const explain::Denial& denial, const std::string& exec_id, pb::Denial* out);

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_CONVERT_H_
