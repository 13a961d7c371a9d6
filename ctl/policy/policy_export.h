#ifndef ODYSSEY_CTL_POLICY_POLICY_EXPORT_H_
#define ODYSSEY_CTL_POLICY_POLICY_EXPORT_H_

#include "ctl/base/command.h"

namespace odyssey::ctl {

// policy export.
Command PolicyExportCommand();

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_POLICY_POLICY_EXPORT_H_
