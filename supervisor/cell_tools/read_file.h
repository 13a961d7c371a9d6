#ifndef ODYSSEY_SUPERVISOR_CELL_TOOLS_READ_FILE_H_
#define ODYSSEY_SUPERVISOR_CELL_TOOLS_READ_FILE_H_

// What the operations on a file of a client and on a file of a run share.

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "supervisor/wire/tool_wire.h"

namespace odyssey::cell_tools {

inline constexpr uint32_t kDefaultMode = 0644;
inline constexpr uint32_t kPermissionBits = 0777;

// Up to `max` bytes from `offset`; fewer at the end of the file.
Result<std::string> ReadAt(int fd, uint64_t offset, uint64_t max, std::string_view absolute);

// The part of a file of `size` bytes that the request asks for, and where the next one begins.
Result<tool::Response> ReadPart(int fd, uint64_t size, const tool::Request& request,
                                std::string_view absolute);

// INVALID_ARGUMENT for anything but permission bits.
Status CheckMode(uint32_t mode);

// What follows the last slash.
std::string_view LastName(std::string_view absolute);

}  // namespace odyssey::cell_tools

#endif  // ODYSSEY_SUPERVISOR_CELL_TOOLS_READ_FILE_H_
