#ifndef ODYSSEY_POLICY_CEILING_CHECK_H_
#define ODYSSEY_POLICY_CEILING_CHECK_H_

// A request against a ceiling. Every refusal is PERMISSION_DENIED and names the key as policy.proto
// spells it, the value, the rule that bounds it with its file and line, and what is allowed.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "policy/ceiling/ceiling.h"
#include "policy/model/request.h"
#include "policy/plan/plan_check.h"

namespace odyssey::ceiling {

// The rule by which something that was asked for is granted.
struct Ruling {
  std::string key;    // "mounts[1].source"
  std::string value;  // "/srv/data"
  Origin origin;
  // Of a path: only as far as it is the asker's own, or world-readable. Not where a grant
  // names both him, or a group of his, and the place, without `*` or `~`: then the operator has
  // said whose it may be. Never for root.
  bool own_only = false;
  friend bool operator==(const Ruling&, const Ruling&) = default;
};

// What a ceiling is held against, beside the request.
struct Asker {
  Owner owner;
  // Odyssey's own directories, which no file can grant; its store of bundles, which needs no grant.
  plan::CheckContext host;
};

// A ruling for each thing asked for that needs one, in the request's order; or the first refusal.
Result<std::vector<Ruling>> Judge(const Ceiling& ceiling, const policy::SandboxRequest& request,
                                  const Asker& asker);
Status Check(const Ceiling& ceiling, const policy::SandboxRequest& request, const Asker& asker);

// One variable; `key` is what the refusal calls it.
Result<Ruling> JudgeEnv(const Ceiling& ceiling, const std::string& key, const std::string& name,
                        const Owner& owner);

// `env` is a manifest's sandbox.env, target → source. The sources that `host` has, if all of them
// are granted; else the refusal names env.TARGET.
Result<std::set<std::string>> GrantedSources(const Ceiling& ceiling, const Owner& owner,
                                             const std::map<std::string, std::string>& env,
                                             const std::map<std::string, std::string>& host);

// `prefix` is put before each field's name: "limits.".
Status CheckLimits(const Ceiling& ceiling, const std::string& prefix, const policy::Limits& limits);

// Of a command that names no wall clock of its own: `wanted`, or the bound if that is less.
uint32_t WallClockWithin(const Ceiling& ceiling, uint32_t wanted);

// Fills what is unset where the ceiling says what that means, or bounds it. An ephemeral cell has
// no directories on disk for disk_bytes to bound.
void FillLimits(const Ceiling& ceiling, bool ephemeral, policy::Limits* limits);

}  // namespace odyssey::ceiling

#endif  // ODYSSEY_POLICY_CEILING_CHECK_H_
