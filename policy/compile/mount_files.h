#ifndef ODYSSEY_POLICY_COMPILE_MOUNT_FILES_H_
#define ODYSSEY_POLICY_COMPILE_MOUNT_FILES_H_

// What a mount says about the files that file operations see in it. Commands see every file.

#include <string>

#include "common/base/status.h"
#include "policy/model/request.h"
#include "policy/plan/cell_configure.h"

namespace odyssey::compile {

// INVALID_ARGUMENT naming the mount's field and the value.
Status CheckMountFiles(const policy::Mount& mount);

// Whether both mounts say the same about files.
bool SameMountFiles(const policy::Mount& a, const policy::Mount& b);

// For the file worker: ends of names in lower case, sorted.
cell::ToolRoot ToolRootOf(const policy::Mount& mount);

// For the explanation: "; file operations see only files that end in .md of at most 1000 bytes",
// or "".
std::string DescribeMountFiles(const policy::Mount& mount);

}  // namespace odyssey::compile

#endif  // ODYSSEY_POLICY_COMPILE_MOUNT_FILES_H_
