#ifndef ODYSSEY_CTL_AUDIT_AUDIT_VIEW_H_
#define ODYSSEY_CTL_AUDIT_AUDIT_VIEW_H_

// The audit log as text for people. Pure. What cells and models chose is in it, and the file may
// have been changed by anybody with root's rights: nothing of it reaches the terminal as it is.

#include <string>
#include <string_view>

#include "common/audit/chain.h"
#include "ctl/base/console.h"

namespace odyssey::ctl {

// One line of the log as one line of text: time, number, type, then "name=value". A line that is no
// record is shown as it is, marked with "?".
std::string FormatAuditLine(std::string_view line, bool color);

// "FILE:LINE: record 7: what", or without what is not known.
std::string FormatProblem(const audit::Problem& problem);

// What `audit verify` says about a finished chain.
std::string FormatVerdict(const audit::Chain& chain);
Json VerdictJson(const audit::Chain& chain);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_AUDIT_AUDIT_VIEW_H_
