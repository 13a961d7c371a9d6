#ifndef ODYSSEY_AGENTD_BASE_QUARANTINE_H_
#define ODYSSEY_AGENTD_BASE_QUARANTINE_H_

// Files that were set aside since they, or parts of them, could not be read: NAME.corrupt….

#include <string>
#include <vector>

namespace odyssey::agent {

inline constexpr char kCorrupt[] = ".corrupt";

// Their paths in the directory, sorted.
std::vector<std::string> QuarantinedIn(const std::string& directory);

}  // namespace odyssey::agent

#endif  // ODYSSEY_AGENTD_BASE_QUARANTINE_H_
