#include "ctl/policy/any_host.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/base/refusal.h"
#include "policy/compile/danger.h"
#include "policy/compile/executables.h"
#include "policy/executables/finder.h"

namespace odyssey::ctl {
namespace {

// A host that has what every cell needs, and of which nothing else is known.
compile::HostFacts AnyHost() {
  compile::HostFacts facts;
  facts.system = {{"/usr", ""}};
  facts.landlock = {landlock::Probe::kInForce, UINT32_MAX};
  facts.check.bundle_store = kAnyBundleStore;
  return facts;
}

// An error of the entry executables[i] is one of executables[places[i]].
Status WithPlaces(const Status& status, const std::vector<size_t>& places) {
  for (size_t i = 0; i < places.size(); ++i) {
    if (status.detail().field != "executables[" + std::to_string(i) + "]") continue;
    const std::string field = "executables[" + std::to_string(places[i]) + "]";
    return AboutField(field, WithMessage(field + ": " + std::string(WhyRefused(status)), status));
  }
  return status;
}

}  // namespace

Status CheckAnywhere(policy::SandboxRequest request) {
  if (policy::IsDanger(request)) {
    return compile::CompileDanger(request, {1, "user", "/home/user"}, {}).status();
  }
  // Which programs there are, and what they load, a host says; not how many may be named.
  const bool too_many = request.executables.size() > compile::kMaxExecutables;
  const std::vector<std::string> programs = compile::SystemExecutables(request);
  const std::vector<std::string> all = std::exchange(request.executables, {});
  std::vector<size_t> kept;
  for (size_t i = 0; i < all.size(); ++i) {
    const bool program = std::find(programs.begin(), programs.end(), all[i]) != programs.end();
    if (program && !too_many) continue;
    kept.push_back(i);
    request.executables.push_back(all[i]);
  }
  return WithPlaces(compile::Compile(request, AnyHost()).status(), kept);
}

dialect::Problems MissingPrograms(const dialect::Policy& policy, const std::string& whole) {
  dialect::Problems missing;
  executables::Finder finder;
  for (const std::string& name : compile::SystemExecutables(policy.request)) {
    const Status found = finder.Find({name}).status();
    if (found.ok()) continue;
    const dialect::Problem of_file = {.file = whole, .message = found.message()};
    missing.push_back(policy.origins.ToProblem(found).value_or(of_file));
  }
  return missing;
}

}  // namespace odyssey::ctl
