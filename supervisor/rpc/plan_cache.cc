#include "supervisor/rpc/plan_cache.h"

#include <algorithm>
#include <utility>

#include "policy/answer/answer.h"

namespace odyssey::supervisor {
namespace {

constexpr size_t kMaxPlans = 64;

}  // namespace

Result<compile::Compiled> PlanCache::Compile(const policy::SandboxRequest& request,
                                             const ceiling::Owner& owner,
                                             const compile::HostFacts& facts,
                                             const compile::FoundImage& image) {
  ODY_ASSIGN_OR_RETURN(compile::FoundExecutables found, answer::FindFor(request, &finder_));
  {
    const std::lock_guard lock(mutex_);
    const auto same = std::find_if(plans_.begin(), plans_.end(), [&](const Plan& plan) {
      return plan.request == request && plan.owner == owner && plan.found == found &&
             plan.image == image && plan.system == facts.system;
    });
    if (same != plans_.end()) {
      plans_.splice(plans_.begin(), plans_, same);
      return same->compiled;
    }
    ++compiles_;
  }
  ODY_ASSIGN_OR_RETURN(compile::Compiled compiled,
                       answer::CompileFor(request, owner, facts, found, image));
  const std::lock_guard lock(mutex_);
  plans_.push_front({request, owner, std::move(found), image, facts.system, compiled});
  if (plans_.size() > kMaxPlans) plans_.pop_back();
  return compiled;
}

uint64_t PlanCache::compiles() const {
  const std::lock_guard lock(mutex_);
  return compiles_;
}

}  // namespace odyssey::supervisor
