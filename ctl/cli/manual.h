#ifndef ODYSSEY_CTL_CLI_MANUAL_H_
#define ODYSSEY_CTL_CLI_MANUAL_H_

// The manual page odyssey-ctl(1), made from the command table. Pure.

#include <string>
#include <string_view>

namespace odyssey::ctl {

// In roff with the man macros; ASCII.
std::string ManualPage();

// Text as roff shows it: nothing in it is a request or an escape.
std::string ToRoff(std::string_view text);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_CLI_MANUAL_H_
