#ifndef ODYSSEY_SUPERVISOR_PROBE_RUNNER_H_
#define ODYSSEY_SUPERVISOR_PROBE_RUNNER_H_

#include <chrono>
#include <string>

#include "supervisor/probe/probe.h"

namespace odyssey::probe {

// After which a probe hangs. No measure of speed: what works takes a small part of it on a slow
// machine that has other work.
inline constexpr std::chrono::milliseconds kProbeTime{60'000};

// Runs one probe in a child of its own, in an empty directory `scratch`/ID, for `limit` at most.
// SIGSYS is a refusal; any other end without a verdict, and none within the time, is broken.
Finding RunProbe(const Probe& probe, const Targets& targets, const std::string& scratch,
                 std::chrono::milliseconds limit = kProbeTime);

// One line of JSON, without its end: {"id":…,"class":…,"kind":…,"verdict":…,"detail":…,"safe":…,
// "layer":…}. Pure.
std::string FormatResult(const Probe& probe, const Finding& finding);

}  // namespace odyssey::probe

#endif  // ODYSSEY_SUPERVISOR_PROBE_RUNNER_H_
