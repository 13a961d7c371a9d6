#include "ctl/file/seen_places.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "common/base/refusal.h"
#include "common/os/mount_calls.h"
#include "ctl/file/named_place.h"
#include "policy/explain/explain.h"
#include "policy/host/host_facts.h"
#include "policy/plan/plan_check.h"

namespace odyssey::ctl {
namespace {

using answer::Seen;
using compile::PlaceKind;

constexpr int kMaxLinks = 40;  // as the kernel

// The directories and files of the host that the request is about, each with its field.
std::vector<std::pair<std::string, std::string>> PlacesOf(const policy::SandboxRequest& request) {
  std::vector<std::pair<std::string, std::string>> places;
  if (!request.workspace.empty()) places.emplace_back("workspace", request.workspace);
  for (size_t i = 0; i < request.mounts.size(); ++i) {
    places.emplace_back("mounts[" + std::to_string(i) + "].source", request.mounts[i].source);
  }
  return places;
}

// nullopt: it cannot be looked at.
std::optional<PlaceKind> KindOf(const std::string& path) {
  const Walk walk = WalkPath(path);
  if (walk.place) {
    return walk.place->is_directory()    ? PlaceKind::kDirectory
           : S_ISREG(walk.place->mode()) ? PlaceKind::kFile
                                         : PlaceKind::kOther;
  }
  const bool missing = !walk.missing.empty() && walk.status.code() != Code::kPermissionDenied;
  return missing ? std::optional<PlaceKind>(PlaceKind::kMissing) : std::nullopt;
}

// Root alone can look as another user. False: nothing is known of it.
bool LookAs(const ceiling::Owner& owner, const std::string& path, Seen* seen) {
  const bool root = geteuid() == 0;
  const Result<UniqueFd> place = root ? OpenHostPathAs(owner.uid, path) : OpenHostPath(path);
  seen->closed = root && place.status().code() == Code::kPermissionDenied;
  struct stat info;
  if (!place.ok() || fstat(place->get(), &info) != 0) return seen->closed;
  seen->uid = info.st_uid;
  seen->mode = info.st_mode;
  return true;
}

}  // namespace

std::map<std::string, Seen> SeenPlaces(const policy::SandboxRequest& request,
                                       const ceiling::Owner& owner) {
  std::map<std::string, Seen> out;
  if (policy::IsDanger(request)) return out;
  const auto look = [&](const std::string& path, bool missing_counts) {
    const std::optional<PlaceKind> kind = KindOf(path);
    if (!kind || (*kind == PlaceKind::kMissing && !missing_counts)) return;
    Seen seen = {.kind = *kind};
    if (*kind == PlaceKind::kMissing || LookAs(owner, path, &seen)) out[path] = seen;
  };
  for (const auto& [field, path] : PlacesOf(request)) look(path, false);
  for (const std::string& path : request.executables) {
    if (path.rfind('/', 0) == 0) look(path, true);
  }
  return out;
}

std::map<std::string, std::string> LinksOnTheWay(const std::string& path) {
  std::map<std::string, std::string> out;
  std::string rest = path;
  for (int links = 0; links < kMaxLinks; ++links) {
    const std::string whole = rest;
    for (size_t slash = 1; slash <= whole.size(); ++slash) {
      slash = std::min(whole.find('/', slash), whole.size());
      const std::string at = whole.substr(0, slash);
      const std::optional<std::string> target = host::ReadLinkOfHost(at);
      if (!target) continue;
      if (!out.emplace(at, *target).second) return out;  // in a circle
      const std::string from = target->front() == '/' ? "" : at.substr(0, at.rfind('/'));
      rest = explain::Normalize(from + "/" + *target + whole.substr(slash));
      break;
    }
    if (rest == whole) break;
  }
  return out;
}

dialect::Problems DoubtfulPlaces(const dialect::Policy& policy, const std::string& whole) {
  dialect::Problems doubts;
  if (policy::IsDanger(policy.request)) return doubts;
  for (const auto& [field, path] : PlacesOf(policy.request)) {
    const auto& made = policy.create;
    if (std::find(made.begin(), made.end(), path) != made.end()) continue;
    if (!policy.bundle_copy.empty() && plan::IsWithin(path, policy.bundle_copy)) continue;
    const std::optional<PlaceKind> kind = KindOf(path);
    if (kind && *kind != PlaceKind::kMissing) continue;
    const Status doubt =
        Refused(Code::kNotFound, field, path,
                kind ? "does not exist on this host: no cell is made here until it does"
                     : "this user cannot look at it");
    const dialect::Problem of_file = {.file = whole, .message = doubt.message()};
    doubts.push_back(policy.origins.ToProblem(doubt).value_or(of_file));
  }
  return doubts;
}

dialect::Problems DoubtfulReach(const dialect::Policy& policy, const ceiling::Owner& owner,
                                const std::string& whole) {
  const bool known = geteuid() == 0 || geteuid() == owner.uid || owner.uid == 0;
  if (known || policy::IsDanger(policy.request) || PlacesOf(policy.request).empty()) return {};
  return {
      {.file = whole,
       .message = "whether uid " + std::to_string(owner.uid) +
                  " reaches the places of this policy is known to root and to that user alone"}};
}

}  // namespace odyssey::ctl
