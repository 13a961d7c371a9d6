#ifndef ODYSSEY_SUPERVISOR_CELL_INIT_KERNEL_TABLE_H_
#define ODYSSEY_SUPERVISOR_CELL_INIT_KERNEL_TABLE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/os/unique_fd.h"

namespace odyssey::cell_init {

// A table of /proc; none if it is not there.
UniqueFd OpenTable(const char* path);

// The lines of a table of /proc that is open, from its first one, as it is now; `visit` answers
// false when it has seen enough. False if the table cannot be read. Blocks while the kernel writes
// it. May be asked again.
bool ForEachLine(int table, const std::function<bool(const std::string& line)>& visit);

// The words of a line, between spaces.
std::vector<std::string_view> WordsOf(std::string_view line);
// A number of decimal digits at the start of a word; 0 without one.
uint32_t NumberIn(std::string_view word);

// Of /proc/net/sockstat: the sockets of its network, of all kinds and in whatever state.
std::optional<uint32_t> SocketsUsed(int table);

}  // namespace odyssey::cell_init

#endif  // ODYSSEY_SUPERVISOR_CELL_INIT_KERNEL_TABLE_H_
