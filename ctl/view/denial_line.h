#ifndef ODYSSEY_CTL_VIEW_DENIAL_LINE_H_
#define ODYSSEY_CTL_VIEW_DENIAL_LINE_H_

// What confinement refused, as lines for people. Paths and hosts in it are chosen by the command:
// nothing of it reaches the terminal as it is, and a hint is marked.

#include <string>
#include <vector>

#include "ctl/base/option_parser.h"
#include "odyssey/supervisor/v1/supervisor.pb.h"

namespace odyssey::ctl {

// "denied: write /usr/x (mount /usr read_only); to allow: KEY: VALUE"; of a hint "maybe denied: …".
std::string DenialLine(const supervisor::v1::Denial& denial);

// One for each, and one that counts those beyond what was sent.
std::vector<std::string> DenialLines(const std::vector<supervisor::v1::Denial>& denials,
                                     uint32_t total);

enum class ShowDenials { kNever, kAlways };

// --denials WHEN.
OptionSpec DenialsOption();
// By default only on a terminal: what a script reads from stderr is the command's alone.
ShowDenials ReadDenialsOption(const ParsedOptions& options);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_VIEW_DENIAL_LINE_H_
