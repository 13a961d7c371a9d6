#ifndef ODYSSEY_SUPERVISOR_RPC_POLICY_CHECK_H_
#define ODYSSEY_SUPERVISOR_RPC_POLICY_CHECK_H_

// CheckPolicy: answers about cells that are not made, under the ceiling and the facts with which
// the broker makes them. Thread-safe.

#include "odyssey/supervisor/v1/supervisor.pb.h"
#include "policy/answer/answer.h"
#include "policy/compile/compile.h"
#include "policy/executables/finder.h"
#include "supervisor/rpc/ceiling_gate.h"

namespace odyssey::supervisor {

class PolicyCheck final {
 public:
  // `ceiling` is borrowed.
  PolicyCheck(CeilingGate* ceiling, compile::FindImage find_image)
      : ceiling_(ceiling), find_image_(std::move(find_image)) {}

  Status Answer(const v1::CheckPolicyRequest& request, const compile::HostFacts& facts,
                v1::CheckPolicyResponse* response);

 private:
  CeilingGate* const ceiling_;
  const compile::FindImage find_image_;
  executables::Finder finder_;
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_POLICY_CHECK_H_
