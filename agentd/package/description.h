#ifndef ODYSSEY_AGENTD_PACKAGE_DESCRIPTION_H_
#define ODYSSEY_AGENTD_PACKAGE_DESCRIPTION_H_

// What `bundle inspect` tells of a bundle, of an installed one as of a directory. Pure.

#include <vector>

#include "agentd/package/bundle_files.h"
#include "odyssey/agent/v1/bundle.pb.h"
#include "policy/dialect/bundle.h"

namespace odyssey::package {

// Sets what the bundle's own files say: the readme, the agents, the variables and directories of
// its sandbox, and the files.
void Describe(const dialect::Bundle& spec, const std::vector<BundleFile>& files,
              agent::v1::Bundle* out);

}  // namespace odyssey::package

#endif  // ODYSSEY_AGENTD_PACKAGE_DESCRIPTION_H_
