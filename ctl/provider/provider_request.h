#ifndef ODYSSEY_CTL_PROVIDER_PROVIDER_REQUEST_H_
#define ODYSSEY_CTL_PROVIDER_PROVIDER_REQUEST_H_

// What `provider` asks odyssey-egress for, and how its answer is shown. Pure.

#include <functional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "ctl/base/console.h"
#include "ctl/base/option_parser.h"
#include "supervisor/wire/provider_wire.h"

namespace odyssey::ctl {

// The text of a file of secrets; "-": stdin.
using ReadSecret = std::function<Result<std::string>(const std::string&)>;

// The n-th --credential has the text of the n-th --from-file, without the end of its last line.
// INVALID_ARGUMENT: one has no other, or a file has more than one line.
Result<provider_wire::Put> MakePut(const ParsedOptions& options, bool create,
                                   const ReadSecret& read);

std::string FormatProviders(const std::vector<provider_wire::Provider>& providers);
Json ProvidersJson(const std::vector<provider_wire::Provider>& providers);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_PROVIDER_PROVIDER_REQUEST_H_
