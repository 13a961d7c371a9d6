#ifndef ODYSSEY_CTL_DOCTOR_WEAKNESSES_H_
#define ODYSSEY_CTL_DOCTOR_WEAKNESSES_H_

// What a supervisor without root says of itself: its features "rootless_NAME" (docs/ROOTLESS.md).
// Pure.

#include <set>
#include <string>

#include "ctl/doctor/host_checks.h"
#include "odyssey/supervisor/v1/supervisor.pb.h"

namespace odyssey::ctl {

inline bool IsWeakness(const supervisor::v1::Feature& feature) {
  return !feature.in_force() && feature.name().starts_with(kWeaknessPrefix);
}

inline std::string NameOfWeakness(const supervisor::v1::Feature& feature) {
  return feature.name().substr(kWeaknessPrefix.size());
}

inline std::set<std::string> WeaknessesIn(const supervisor::v1::GetInfoResponse& info) {
  std::set<std::string> names;
  for (const auto& feature : info.features()) {
    if (IsWeakness(feature)) names.insert(NameOfWeakness(feature));
  }
  return names;
}

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_DOCTOR_WEAKNESSES_H_
