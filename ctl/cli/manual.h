#ifndef ODYSSEY_CTL_CLI_MANUAL_H_
#define ODYSSEY_CTL_CLI_MANUAL_H_

// The manual pages that are made from tables: odyssey-ctl(1), and those of settings. Pure.

#include <string>
#include <string_view>

#include "ctl/settings/setting.h"

namespace odyssey::ctl {

// In roff with the man macros; ASCII.
std::string ManualPage();

// odyssey-NAME.yaml(5): each key of a daemon's settings. Likewise.
std::string SettingsPage(const DaemonSettings& daemon);

// Text as roff shows it: nothing in it is a request or an escape.
std::string ToRoff(std::string_view text);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_CLI_MANUAL_H_
