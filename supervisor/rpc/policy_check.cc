#include "supervisor/rpc/policy_check.h"

#include "policy/answer/answer_proto.h"
#include "policy/host/host_facts.h"

namespace odyssey::supervisor {

Status PolicyCheck::Answer(const v1::CheckPolicyRequest& request, const compile::HostFacts& facts,
                           v1::CheckPolicyResponse* response) {
  ODY_ASSIGN_OR_RETURN(const answer::Under under, ceiling_->UnderFor(request.cell().owner_uid()));
  answer::Answer out;
  if (request.has_cell()) {
    ODY_ASSIGN_OR_RETURN(const answer::Question question, answer::FromProto(request));
    out = answer::Decide(question, under, {facts, &finder_, host::ReadLinkOfHost, find_image_});
  } else {
    out.ceiling = answer::DescribeCeiling(under.directory, under.ceiling);
  }
  *response = answer::ToProto(out);
  return OkStatus();
}

}  // namespace odyssey::supervisor
