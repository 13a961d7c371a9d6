#ifndef ODYSSEY_CTL_POLICY_FILE_H_
#define ODYSSEY_CTL_POLICY_FILE_H_

// A policy as a person names it: a bundle directory, or a file of one.

#include <functional>
#include <optional>
#include <set>
#include <string>

#include "common/base/status.h"
#include "policy/dialect/bundle.h"
#include "policy/model/request.h"

namespace odyssey::ctl {

struct PolicyContext {
  std::string client_cwd;  // what "." in the mounts means
  std::set<std::string>
      granted_env;  // variables that may be exported though they look like secrets
  std::function<std::optional<std::string>(const std::string& name)> environment;
};

// The bundle directory of `path`: itself, or the directory of its manifest. NOT_FOUND or
// INVALID_ARGUMENT says what was expected.
Result<std::string> BundleDirectory(const std::string& path);

// What the bundle at `path` asks of its sandbox.
Result<policy::SandboxRequest> ReadPolicy(const std::string& path, const PolicyContext& context);

// The variables that the manifest's sandbox.env names and this environment has.
std::map<std::string, std::string> ReadHostEnvironment(
    const dialect::SandboxSpec& sandbox,
    const std::function<std::optional<std::string>(const std::string& name)>& environment);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_POLICY_FILE_H_
