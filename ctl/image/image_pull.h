#ifndef ODYSSEY_CTL_IMAGE_IMAGE_PULL_H_
#define ODYSSEY_CTL_IMAGE_IMAGE_PULL_H_

// An image of a registry into the store: skopeo asks the registry in a cell that reaches nothing
// else; what comes out of the cell is held against its digests here and by the store.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "ctl/base/command.h"
#include "ctl/image/registry_reference.h"
#include "policy/egress/address.h"
#include "policy/egress/reach.h"

namespace odyssey::ctl {

struct PullOptions {
  RegistryReference reference;
  std::string name;  // what the image is called here
  image::Platform platform;
  Transport transport = Transport::kTls;
  std::vector<egress::Destination> reach;     // beside the registry
  std::vector<egress::AddressRange> address;  // private networks that the hosts may be in
  std::string credentials;                    // an auth.json of this registry; "": none
  std::string authority;                      // certificates, PEM; "": the host's
  std::chrono::milliseconds silence;          // of the registry
};

std::vector<OptionSpec> PullOptionSpecs();

// INVALID_ARGUMENT and the like name the option or REF.
Result<PullOptions> ReadPullOptions(const ParsedOptions& options);

// Returns the exit code; has reported.
int PullImage(const Invocation& call, const PullOptions& options);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_IMAGE_IMAGE_PULL_H_
