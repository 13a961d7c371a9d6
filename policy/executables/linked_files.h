#ifndef ODYSSEY_POLICY_EXECUTABLES_LINKED_FILES_H_
#define ODYSSEY_POLICY_EXECUTABLES_LINKED_FILES_H_

// The configuration that the host's programs find through symbolic links: packages put files into
// /etc and link to them from /usr (/usr/share/maven/conf → /etc/maven). A cell that shows /usr
// shows these too, and nothing of /etc besides (plan::SystemTrees apart).

#include <string>
#include <vector>

#include "policy/compile/compile.h"

namespace odyssey::executables {

// What symbolic links below `root`/usr lead to in /etc, sorted: files and directories that every
// user of the host may read, and links of /etc on the way to them. None of it lies in a system tree
// or in another one. Not what a cell has of its own, nor what tells one host from another. Paths
// are without `root`. Reads every directory of /usr: some 100 ms, a second when nothing is cached.
std::vector<compile::SystemEntry> FindLinkedFiles(const std::string& root = "");

}  // namespace odyssey::executables

#endif  // ODYSSEY_POLICY_EXECUTABLES_LINKED_FILES_H_
