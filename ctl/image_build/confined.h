#ifndef ODYSSEY_CTL_IMAGE_BUILD_CONFINED_H_
#define ODYSSEY_CTL_IMAGE_BUILD_CONFINED_H_

#include <functional>
#include <string>

#include "common/base/status.h"

namespace odyssey::ctl {

// Runs `work` in a child that a seccomp filter keeps from all but reading and writing what is open,
// and from more memory than a bound: for parsers of what strangers packed, where the client may be
// root. Returns what it returns. INTERNAL: the child was killed. CANCELLED: `signals`, a signalfd
// or -1, became readable; nothing is taken from it. Caller must be single-threaded.
Result<std::string> RunConfined(const std::function<Result<std::string>()>& work, int signals);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_IMAGE_BUILD_CONFINED_H_
