#ifndef ODYSSEY_CTL_IMAGE_IMAGE_SIGNALS_H_
#define ODYSSEY_CTL_IMAGE_IMAGE_SIGNALS_H_

#include <signal.h>

#include <vector>

namespace odyssey::ctl {

// Those that end a pull or a load. They are read from a signalfd, so that the cell ends too.
inline std::vector<int> ImageSignals() { return {SIGINT, SIGTERM, SIGQUIT, SIGHUP}; }

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_IMAGE_IMAGE_SIGNALS_H_
