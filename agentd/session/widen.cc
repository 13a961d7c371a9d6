#include "agentd/session/widen.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "agentd/tool/grant_arguments.h"
#include "policy/egress/reach.h"
#include "policy/lattice/lattice.h"
#include "policy/model/policy_keys.h"

namespace odyssey::session {
namespace {

namespace sup = ::odyssey::supervisor::v1;
using agent::v1::Grant;
using agent::v1::Grants;
using policy::Access;
using policy::SandboxRequest;

// One place has one mount: the one that gives more stays.
void AddMount(const Grant& grant, Access access, SandboxRequest* request) {
  const policy::Mount added = {
      .source = grant.value(), .target = tools::GrantedPlace(grant), .access = access};
  for (policy::Mount& mount : request->mounts) {
    if (mount.target != added.target) continue;
    if (mount.access < access) mount = added;
    return;
  }
  request->mounts.push_back(added);
}

void AddExecutable(const std::string& name, SandboxRequest* request) {
  std::vector<std::string>& named = request->executables;
  if (std::find(named.begin(), named.end(), name) == named.end()) named.push_back(name);
}

// A rule of its own, for every program of the call or session that it is granted to.
void AddEndpoint(const std::string& place, SandboxRequest* request) {
  if (request->network == policy::Network::kFull) return;
  const Result<egress::Destination> to = egress::ParseReachable(place);
  if (!to.ok()) return;
  request->network = policy::Network::kEgress;
  request->egress.rules.push_back(egress::RuleFor("grants." + place, to->host, to->port));
}

void RaiseLimit(const Grant& grant, policy::Limits* limits) {
  uint64_t value = 0;
  const std::string& text = grant.value();
  (void)std::from_chars(text.data(), text.data() + text.size(), value);
  for (const policy::LimitKey& key : policy::kLimitKeys) {
    if (key.name != grant.limit()) continue;
    const uint64_t present = key.get(*limits);
    if (present != 0 && policy::Narrower(key, present, value) == present) key.set(limits, value);
  }
}

void Add(const Grant& grant, SandboxRequest* request) {
  switch (grant.key()) {
    case sup::GRANT_KEY_MOUNT_READ:
      return AddMount(grant, Access::kReadOnly, request);
    case sup::GRANT_KEY_MOUNT_WRITE:
      return AddMount(grant, Access::kReadWrite, request);
    case sup::GRANT_KEY_EXECUTABLE:
      return AddExecutable(grant.value(), request);
    case sup::GRANT_KEY_NETWORK_ENDPOINT:
      return AddEndpoint(grant.value(), request);
    case sup::GRANT_KEY_LIMIT:
      return RaiseLimit(grant, &request->limits);
    default:
      return;
  }
}

std::string PresentLimit(const std::string& name, const policy::Limits& limits) {
  for (const policy::LimitKey& key : policy::kLimitKeys) {
    if (key.name == name) return std::to_string(key.get(limits));
  }
  return "";
}

}  // namespace

SandboxRequest Widen(SandboxRequest request, const Grants& grants) {
  for (const Grant& grant : grants.grants()) Add(grant, &request);
  return request;
}

Result<Grants> Beyond(const SandboxRequest& request, const Grants& grants) {
  Grants out;
  for (const Grant& grant : grants.grants()) {
    SandboxRequest wider = request;
    Add(grant, &wider);
    const Status within = lattice::IsWithin(wider, request);
    if (within.ok()) continue;
    if (within.code() != Code::kPermissionDenied) return within;
    Grant& beyond = *out.add_grants() = grant;
    if (grant.key() == sup::GRANT_KEY_LIMIT) {
      beyond.set_present(PresentLimit(grant.limit(), request.limits));
    }
  }
  return out;
}

}  // namespace odyssey::session
