#ifndef ODYSSEY_COMMON_OS_DESCRIPTORS_H_
#define ODYSSEY_COMMON_OS_DESCRIPTORS_H_

// Descriptors for a program about to be executed.

#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/os/unique_fd.h"

namespace odyssey {

// Makes `wanted` the descriptors first, first + 1, …, inheritable, and closes every one above them.
// What is below `first` stays. The caller's own numbers are no longer what they were.
Status PlaceDescriptors(const std::vector<int>& wanted, int first);

// An anonymous file with these bytes, sealed against change; read from its start. `name` shows in
// /proc.
Result<UniqueFd> SealedMemoryFile(const char* name, std::string_view bytes);

}  // namespace odyssey

#endif  // ODYSSEY_COMMON_OS_DESCRIPTORS_H_
