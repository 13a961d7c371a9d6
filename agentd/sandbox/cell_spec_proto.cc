#include "agentd/sandbox/cell_spec_proto.h"

#include "agentd/sandbox/cell_key_proto.h"
#include "policy/convert/sandbox_proto.h"

namespace odyssey::sandbox {

supervisor::v1::PrepareCellRequest ToProto(const CellSpec& spec) {
  supervisor::v1::PrepareCellRequest request;
  ToProto(spec.key, request.mutable_key());
  *request.mutable_sandbox() = policy::ToProto(spec.request);
  request.set_workspace(spec.request.workspace);
  request.set_ephemeral(spec.request.ephemeral);
  request.set_bundle_digest(spec.bundle_digest);
  request.set_owner_uid(spec.owner_uid);
  request.set_allow_danger(spec.allow_danger);
  request.set_spare_running(spec.spare_running);
  request.mutable_granted_by()->Assign(spec.granted_by.begin(), spec.granted_by.end());
  return request;
}

}  // namespace odyssey::sandbox
