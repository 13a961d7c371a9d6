#ifndef ODYSSEY_POLICY_CONVERT_SANDBOX_PROTO_H_
#define ODYSSEY_POLICY_CONVERT_SANDBOX_PROTO_H_

// The internal model of a request and the message that carries it: one mapping for every client and
// for the supervisor.

#include <odyssey/policy/v1/policy.pb.h>

#include "common/base/status.h"
#include "policy/model/request.h"

namespace odyssey::policy {

// Without `workspace`, its identity and `ephemeral`, which PrepareCellRequest carries.
v1::Sandbox ToProto(const SandboxRequest& request);
v1::Limits ToProto(const Limits& limits);
v1::FileIdentity ToProto(const FileIdentity& identity);
FileIdentity FromProto(const v1::FileIdentity& identity);

// INVALID_ARGUMENT naming the field, the value and what is allowed. `out` keeps what the message
// does not carry.
Status FromProto(const v1::Sandbox& sandbox, SandboxRequest* out);

}  // namespace odyssey::policy

#endif  // ODYSSEY_POLICY_CONVERT_SANDBOX_PROTO_H_
