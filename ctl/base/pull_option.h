#ifndef ODYSSEY_CTL_BASE_PULL_OPTION_H_
#define ODYSSEY_CTL_BASE_PULL_OPTION_H_

#include "ctl/base/option_parser.h"

namespace odyssey::ctl {

// When an image is pulled that a command needs.
enum class PullWhen { kMissing, kNever };

OptionSpec PullOption();
PullWhen ReadPullOption(const ParsedOptions& options);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_BASE_PULL_OPTION_H_
