#ifndef ODYSSEY_POLICY_CONVERT_EGRESS_PROTO_H_
#define ODYSSEY_POLICY_CONVERT_EGRESS_PROTO_H_

#include <string>

#include "common/base/status.h"
#include "odyssey/policy/v1/egress.pb.h"
#include "policy/egress/network_policy.h"

namespace odyssey::policy {

v1::EgressPolicy ToProto(const egress::NetworkPolicy& policy);

// INVALID_ARGUMENT names the field, below `path`: a value that a file could not have either, such
// as a host or a pattern that is none.
Status FromProto(const v1::EgressPolicy& message, egress::NetworkPolicy* out,
                 const std::string& path = "sandbox.egress");

}  // namespace odyssey::policy

#endif  // ODYSSEY_POLICY_CONVERT_EGRESS_PROTO_H_
