#ifndef ODYSSEY_SUPERVISOR_RPC_OUTCOME_FIXTURE_H_
#define ODYSSEY_SUPERVISOR_RPC_OUTCOME_FIXTURE_H_

#include <functional>

#include "odyssey/supervisor/v1/supervisor.pb.h"

namespace odyssey::supervisor {

// An outcome as the client receives it; `fill` sets the other fields.
inline v1::ExecOutcome Sent(v1::OutcomeKind kind,
                            const std::function<void(v1::ExecOutcome&)>& fill = nullptr) {
  v1::ExecOutcome out;
  out.set_kind(kind);
  if (fill) fill(out);
  return out;
}

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_OUTCOME_FIXTURE_H_
