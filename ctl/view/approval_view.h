#ifndef ODYSSEY_CTL_VIEW_APPROVAL_VIEW_H_
#define ODYSSEY_CTL_VIEW_APPROVAL_VIEW_H_

// A request for approval as text for a person. Pure; nothing a model wrote reaches the text
// unsanitised.

#include <string>

#include "odyssey/agent/v1/event.pb.h"

namespace odyssey::ctl {

enum class Extent {
  kFolded,  // arguments and the diff are cut at kMaxExactLines lines each, and say so
  kWhole,
};

// Tool, rule, the exact arguments or the diff, the commands of a line, directory, what "always"
// would mean, and when the request expires.
std::string FormatApproval(const agent::v1::PermissionRequested& request, Extent extent,
                           bool color);

// One addition to a cell: "read /srv/data on the host", "memory_bytes 4294967296 (4 GiB) instead
// of 536870912 (512 MiB)".
std::string DescribeGrant(const agent::v1::Grant& grant);

// A rule of Network asks about a destination that a command was refused, and the command has run.
bool IsAboutDestination(const agent::v1::PermissionRequested& request);

// The request's scope, sanitised.
std::string SafeScope(const agent::v1::PermissionRequested& request);

// "allowed once by uid 0"; with the note, if there is one.
std::string DescribeDecision(const agent::v1::ApprovalResolved& resolved);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_VIEW_APPROVAL_VIEW_H_
