#include "policy/compile/landlock.h"

#include <algorithm>
#include <string>

#include "common/base/refusal.h"
#include "policy/plan/landlock_rights.h"

namespace odyssey::compile {
namespace {

using landlock::Right;

constexpr uint32_t kFirstAbi = 1;

bool MayBeWritten(const std::string& path, const std::vector<cell::LandlockRule>& rules) {
  return std::any_of(rules.begin(), rules.end(), [&](const cell::LandlockRule& rule) {
    return (rule.rights & cell::kWrite) != 0 && plan::IsWithin(path, rule.path);
  });
}

// True if what the rules only let be read is kept so by nothing but them: else the mount is
// read-only, or its files are root's.
bool OnlyRulesKeepItFromBeingWritten(const Compiled& compiled) {
  const auto& entries = compiled.plan.entries;
  return std::any_of(entries.begin(), entries.end(), [&](const plan::Entry& entry) {
    return entry.access == plan::Access::kReadWrite &&
           !MayBeWritten(entry.target, compiled.confinement.rules);
  });
}

// A policy relies on a right if something that its rules say would be false without it, or could
// not be done. Elsewhere a right is a second wall behind another one.
bool ReliesOn(Right right, const Compiled& compiled) {
  switch (right) {
    case Right::kRefer:
      return true;
    case Right::kTruncate:
      return OnlyRulesKeepItFromBeingWritten(compiled);
    case Right::kScopeAbstractSocket:
      // Else the cell's own network namespace has its own sockets only.
      return compiled.plan.network == plan::Network::kFull;
    case Right::kIoctlDevice:  // the rules grant it on every device that a cell sees
    case Right::kScopeSignal:  // a command's pid namespace shows it no other process
      return false;
  }
  return true;
}

}  // namespace

Status AddLandlock(policy::Landlock wanted, const landlock::Support& kernel, Compiled* out) {
  uint32_t needed = kFirstAbi;
  std::string missing;
  for (const landlock::RightInfo& info : landlock::Rights()) {
    if (!ReliesOn(info.right, *out)) continue;
    needed = std::max(needed, info.abi);
    if (kernel.abi >= info.abi) continue;
    missing += (missing.empty() ? "" : "; ") + NameWithAbi(info) + ": " + info.without;
  }
  if (kernel.abi < kFirstAbi) missing = DescribeSupport(kernel);
  if (missing.empty()) {
    out->confinement.landlock_abi = needed;
    out->explanation.push_back("landlock: every right that this policy relies on (ABI " +
                               std::to_string(needed) + ")");
    return OkStatus();
  }
  if (wanted == policy::Landlock::kHardRequirement) {
    return Refused(Code::kFailedPrecondition, "landlock", "",
                   missing + ". LANDLOCK_BEST_EFFORT (\"best_effort\") runs the cell without");
  }
  out->confinement.landlock_abi = 0;
  out->explanation.push_back("landlock best_effort: runs without " + missing);
  return OkStatus();
}

}  // namespace odyssey::compile
