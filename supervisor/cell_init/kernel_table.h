#ifndef ODYSSEY_SUPERVISOR_CELL_INIT_KERNEL_TABLE_H_
#define ODYSSEY_SUPERVISOR_CELL_INIT_KERNEL_TABLE_H_

#include <functional>
#include <string>

namespace odyssey::cell_init {

// The lines of a table of /proc that is open, from its first one, as it is now; `visit` answers
// false when it has seen enough. False if the table cannot be read. Blocks while the kernel writes
// it. May be asked again.
bool ForEachLine(int table, const std::function<bool(const std::string& line)>& visit);

}  // namespace odyssey::cell_init

#endif  // ODYSSEY_SUPERVISOR_CELL_INIT_KERNEL_TABLE_H_
