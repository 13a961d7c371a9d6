#ifndef ODYSSEY_CTL_IMAGE_BUILD_BUILD_CELL_H_
#define ODYSSEY_CTL_IMAGE_BUILD_BUILD_CELL_H_

#include <signal.h>

#include <string>
#include <vector>

#include "common/base/status.h"

namespace odyssey::ctl {

// Those that end a build. They are read from a signalfd, so that its cells and images go too.
inline std::vector<int> BuildSignals() { return {SIGINT, SIGTERM, SIGQUIT, SIGHUP}; }

// With what the keys of a build's cells begin: no other build has it.
Result<std::string> NewBuildCell();

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_IMAGE_BUILD_BUILD_CELL_H_
