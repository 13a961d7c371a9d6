#include "ctl/compile_here.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/refusal.h"
#include "ctl/host_facts.h"
#include "ctl/own_places.h"
#include "policy/ceiling/check.h"
#include "policy/ceiling/ownership.h"
#include "policy/compile/danger.h"
#include "policy/compile/executables.h"
#include "policy/compile/launch_failure.h"
#include "policy/executables/finder.h"
#include "policy/executables/linked_files.h"

namespace odyssey::ctl {
namespace {

using Places = std::map<std::string, compile::PlaceKind>;

bool IsDanger(const policy::SandboxRequest& request) {
  return request.mode == policy::Mode::kDangerFullAccess;
}

// A host that has what every cell needs, and of which nothing else is known.
compile::HostFacts AnyHost() {
  compile::HostFacts facts;
  facts.system = {{"/usr", ""}};
  facts.landlock = {landlock::Probe::kInForce, UINT32_MAX};
  facts.check.bundle_store = kAnyBundleStore;
  return facts;
}

// The directories and files of the host that the request is about, each with its field.
std::vector<std::pair<std::string, std::string>> PlacesOf(const policy::SandboxRequest& request) {
  std::vector<std::pair<std::string, std::string>> places;
  if (!request.workspace.empty()) places.emplace_back("workspace", request.workspace);
  for (size_t i = 0; i < request.mounts.size(); ++i) {
    places.emplace_back("mounts[" + std::to_string(i) + "].source", request.mounts[i].source);
  }
  return places;
}

dialect::Problem ToProblem(const dialect::Policy& policy, const std::string& whole,
                           const Status& status) {
  return policy.origins.ToProblem(status).value_or(
      dialect::Problem{.file = whole, .message = status.message()});
}

bool IsMissing(const Places& places, const std::string& path) {
  const auto found = places.find(path);
  return found != places.end() && found->second == compile::PlaceKind::kMissing;
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

Result<compile::Compiled> CompileHere(policy::SandboxRequest request, const CeilingView& ceiling,
                                      const Locations& locations) {
  const ceiling::Owner& owner = ceiling.asker.owner;
  ceiling::FillLimits(ceiling.ceiling, request.ephemeral, &request.limits);
  compile::HostFacts facts = GatherHostFacts(locations.state);
  if (IsDanger(request)) {
    if (owner.uid == 0) {
      return Refused(Code::kPermissionDenied, "mode", "danger_full_access",
                     "Host uid 0 never runs a command, whatever the flags: name the user, with "
                     "--owner of exec or --user of policy explain");
    }
    return compile::CompileDanger(request, {owner.uid, owner.name, owner.home}, facts.check);
  }
  const auto linked = executables::FindLinkedFiles();
  facts.system.insert(facts.system.end(), linked.begin(), linked.end());
  facts.places = LookAtPlaces(request);
  for (const auto& [field, path] : PlacesOf(request)) {
    if (IsMissing(facts.places, path)) facts.places.erase(path);
  }
  executables::Finder finder;
  ODY_ASSIGN_OR_RETURN(const compile::FoundExecutables found,
                       finder.Find(compile::SystemExecutables(request)));
  ODY_ASSIGN_OR_RETURN(compile::Compiled compiled, compile::Compile(request, facts, found));
  const auto outright = ceiling::GrantedOutright(ceiling.ceiling, request, ceiling.asker);
  if (!outright.ok()) return compiled;
  ceiling::SetOwners(ceiling.asker, *outright, &compiled.plan);
  ODY_RETURN_IF_ERROR(
      compile::NameField(request, compiled.plan, owner.uid, CheckOwnPlaces(compiled.plan)));
  return compiled;
}

Status CheckAnywhere(policy::SandboxRequest request) {
  if (IsDanger(request)) {
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

dialect::Problems DoubtfulPlaces(const dialect::Policy& policy, const std::string& whole) {
  dialect::Problems doubts;
  if (IsDanger(policy.request)) return doubts;
  const Places places = LookAtPlaces(policy.request);
  for (const auto& [field, path] : PlacesOf(policy.request)) {
    const auto& made = policy.create;
    if (std::find(made.begin(), made.end(), path) != made.end()) continue;
    if (!policy.bundle_copy.empty() && plan::IsWithin(path, policy.bundle_copy)) continue;
    const auto doubt = [&, where = field, what = path](const char* why) {
      doubts.push_back(ToProblem(policy, whole, Refused(Code::kNotFound, where, what, why)));
    };
    if (places.count(path) == 0) {
      doubt("this user cannot look at it");
    } else if (IsMissing(places, path)) {
      doubt("does not exist on this host: no cell is made here until it does");
    }
  }
  return doubts;
}

dialect::Problems MissingPrograms(const dialect::Policy& policy, const std::string& whole) {
  dialect::Problems missing;
  executables::Finder finder;
  for (const std::string& name : compile::SystemExecutables(policy.request)) {
    const Status found = finder.Find({name}).status();
    if (!found.ok()) missing.push_back(ToProblem(policy, whole, found));
  }
  return missing;
}

}  // namespace odyssey::ctl
