#ifndef ODYSSEY_SUPERVISOR_RPC_PLAN_CACHE_H_
#define ODYSSEY_SUPERVISOR_RPC_PLAN_CACHE_H_

// The latest compiled requests, so that a request that has not changed is not compiled again for
// each turn of a session. Thread-safe.
//
// The compiler is pure, and what it is given is what is compared: the request, the owner, the
// system's trees and the named programs, which are looked at each time; the other facts of the host
// are read once, when this process starts. What else may have changed since does not come from
// here:
//   - the operator's ceiling: it is read before (CeilingGate::Admit), and the limits that it fills
//     in are part of the request; plan::Entry::owner is set afterwards;
//   - the host's directories: no plan says what they are. Root opens them when it makes a cell, and
//   a
//     cell that lives has those that it opened; a client that sees others by the same names says so
//     (PrepareSpec::sources_digest), which is a new revision.

#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "policy/ceiling/ceiling.h"
#include "policy/compile/compile.h"
#include "policy/executables/finder.h"
#include "policy/model/request.h"

namespace odyssey::supervisor {

class PlanCache final {
 public:
  // `root`: where the host's programs are looked for.
  explicit PlanCache(const std::string& root = "") : finder_(root) {}

  // answer::CompileFor. Of `facts` only `system` may differ from call to call.
  Result<compile::Compiled> Compile(const policy::SandboxRequest& request,
                                    const ceiling::Owner& owner, const compile::HostFacts& facts,
                                    const compile::FoundImage& image = {});

  // How often something was compiled.
  uint64_t compiles() const;

 private:
  struct Plan {
    policy::SandboxRequest request;
    ceiling::Owner owner;
    compile::FoundExecutables found;
    compile::FoundImage image;
    std::vector<compile::SystemEntry> system;
    compile::Compiled compiled;
  };

  executables::Finder finder_;
  mutable std::mutex mutex_;
  std::list<Plan> plans_;  // guarded by mutex_; the latest used first
  uint64_t compiles_ = 0;  // likewise
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_PLAN_CACHE_H_
