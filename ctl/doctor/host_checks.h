#ifndef ODYSSEY_CTL_DOCTOR_HOST_CHECKS_H_
#define ODYSSEY_CTL_DOCTOR_HOST_CHECKS_H_

// What `doctor` can see by itself, whether or not the daemons run.

#include <string>
#include <string_view>
#include <vector>

#include "ctl/base/locations.h"

namespace odyssey::ctl {

// Of features that a supervisor without root lists as weaker.
inline constexpr std::string_view kWeaknessPrefix = "rootless_";

enum class Verdict {
  kGood,
  kWarning,  // works without it, less well
  kMissing,  // Odyssey cannot do its work
};

struct Check {
  std::string name;
  Verdict verdict = Verdict::kGood;
  std::string detail;  // what was found
  std::string advice;  // what to do about it; empty when good
  std::string mend;    // the command that does it; empty if no one command can
};

std::vector<Check> CheckHost(const Locations& locations);

// A feature that the supervisor reports. A missing one is a warning only if its name is known to be
// optional.
Check CheckFeature(const std::string& name, bool in_force, const std::string& detail);

// "good", "warning", "missing".
std::string VerdictName(Verdict verdict);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_DOCTOR_HOST_CHECKS_H_
