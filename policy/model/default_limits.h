#ifndef ODYSSEY_POLICY_MODEL_DEFAULT_LIMITS_H_
#define ODYSSEY_POLICY_MODEL_DEFAULT_LIMITS_H_

// What is in force where nothing is asked for, from the table of policy keys.

#include "policy/model/policy_keys.h"

namespace odyssey::policy {

// What 0 in Limits means; 0 here: unlimited.
inline constexpr Limits kDefaultLimits = [] {
  Limits limits;
  for (const LimitKey& key : kLimitKeys) key.set(&limits, key.fallback);
  return limits;
}();

// What a manifest without `resources` asks for: the format has an own memory and processor.
inline constexpr Limits kManifestLimits = [] {
  Limits limits;
  for (const LimitKey& key : kLimitKeys) key.set(&limits, key.manifest.unsaid * key.manifest.unit);
  return limits;
}();

// Whether the request asks for this limit itself.
constexpr bool AsksFor(const SandboxRequest& request, const LimitKey& key) {
  const uint64_t value = key.get(request.limits);
  return value != 0 && value != key.get(request.unsaid_limits);
}

// Of the limits in force, WithDefaults(request.limits), those that the request does not ask for.
constexpr Limits UnsaidLimits(const SandboxRequest& request) {
  Limits unsaid;
  for (const LimitKey& key : kLimitKeys) {
    const uint64_t value = key.get(request.limits);
    if (!AsksFor(request, key)) key.set(&unsaid, value == 0 ? key.fallback : value);
  }
  return unsaid;
}

// With the defaults in place of zeros.
constexpr Limits WithDefaults(Limits limits) {
  for (const LimitKey& key : kLimitKeys) {
    if (key.get(limits) == 0) key.set(&limits, key.fallback);
  }
  return limits;
}

}  // namespace odyssey::policy

#endif  // ODYSSEY_POLICY_MODEL_DEFAULT_LIMITS_H_
