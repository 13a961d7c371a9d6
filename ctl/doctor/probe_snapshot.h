#ifndef ODYSSEY_CTL_DOCTOR_PROBE_SNAPSHOT_H_
#define ODYSSEY_CTL_DOCTOR_PROBE_SNAPSHOT_H_

// How files look, so that a change is seen.

#include <map>
#include <string>
#include <vector>

namespace odyssey::ctl {

// Path → owner, mode, times and content.
using Snapshot = std::map<std::string, std::string>;

// Of everything at and below each path. Links are not followed; directories have no times, since
// what is in them is looked at.
Snapshot TakeSnapshot(const std::vector<std::string>& paths);

// A line for each path that is new, gone or changed.
std::vector<std::string> Differences(const Snapshot& before, const Snapshot& after);

// A line for each file below `directory` that would change the identity of a process that runs or
// opens it: set-user-id, set-group-id, capabilities, devices other than `expected`.
std::vector<std::string> DangerousFiles(const std::string& directory, const std::string& expected);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_DOCTOR_PROBE_SNAPSHOT_H_
