#ifndef ODYSSEY_POLICY_EXECUTABLES_CONFIGURATION_H_
#define ODYSSEY_POLICY_EXECUTABLES_CONFIGURATION_H_

// root binds two kinds of paths of the host's /etc into a cell, read-only: those of etc_list.h, and
// those that symbolic links in /usr lead to: packages put files into /etc and link to them from
// /usr (/usr/share/maven/conf → /etc/maven).

#include <string>
#include <vector>

#include "policy/compile/compile.h"

namespace odyssey::executables {

// What the list and symbolic links below `root`/usr lead to in /etc, sorted: files and directories
// that every user of the host may read, and links of /etc on the way to them. None of it lies in
// another one, and nothing in it is kNotShownOfEtc. Paths are without `root`. Reads every directory
// of /usr: some 100 ms, a second when nothing is cached.
std::vector<compile::SystemEntry> FindConfiguration(const std::string& root = "");

}  // namespace odyssey::executables

#endif  // ODYSSEY_POLICY_EXECUTABLES_CONFIGURATION_H_
