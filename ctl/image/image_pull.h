#ifndef ODYSSEY_CTL_IMAGE_IMAGE_PULL_H_
#define ODYSSEY_CTL_IMAGE_IMAGE_PULL_H_

// An image of a registry into the store: skopeo asks the registry in a cell that reaches nothing
// else; what comes out of the cell is held against its digests here and by the store.

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "ctl/base/command.h"
#include "ctl/client/client.h"
#include "ctl/image/image_report.h"
#include "ctl/image/registry_reference.h"
#include "policy/egress/reach.h"

namespace odyssey::ctl {

struct PullOptions {
  uid_t owner;  // whose image it becomes
  RegistryReference reference;
  std::string name;  // what the image is called here
  image::Platform platform;
  Transport transport = Transport::kTls;
  std::vector<egress::Destination> reach;  // beside the registry
  std::string credentials;                 // an auth.json of this registry; "": none
  std::string authority;                   // certificates, PEM; "": the host's
  std::chrono::milliseconds silence;       // of the registry
};

std::vector<OptionSpec> PullOptionSpecs();

// INVALID_ARGUMENT and the like name the option or REF.
Result<PullOptions> ReadPullOptions(const ParsedOptions& options);

// `signals`: a signalfd of ImageSignals(); one of them ends the pull, which is CANCELLED then.
// `*advice`: what to do about a failure, in options of `image pull`; "": nothing that is known.
Result<NewImage> FetchImage(const Console& console, const Client& client, int signals,
                            const PullOptions& options, std::string* advice);

// Of a reference alone, for this machine.
Result<PullOptions> PullOptionsFor(const std::string& reference, uid_t owner);

// Returns the exit code; has reported.
int PullImage(const Invocation& call, const PullOptions& options);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_IMAGE_IMAGE_PULL_H_
