#ifndef ODYSSEY_SUPERVISOR_CELL_TOOLS_STARTUP_MEMORY_H_
#define ODYSSEY_SUPERVISOR_CELL_TOOLS_STARTUP_MEMORY_H_

namespace odyssey::cell_tools {

// Start-up touches most of the program once (relocations, libc's own), and what follows little of
// it: gives back what is mapped of it and not writable. What is needed comes again from the page
// cache.
void ReleaseStartupPages();

}  // namespace odyssey::cell_tools

#endif  // ODYSSEY_SUPERVISOR_CELL_TOOLS_STARTUP_MEMORY_H_
