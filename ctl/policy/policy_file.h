#ifndef ODYSSEY_CTL_POLICY_POLICY_FILE_H_
#define ODYSSEY_CTL_POLICY_POLICY_FILE_H_

// A policy as a person names it: a file of any dialect, or the directory of a bundle.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "common/base/status.h"
#include "ctl/base/console.h"
#include "ctl/file/named_place.h"
#include "policy/dialect/bundle.h"
#include "policy/dialect/policy_reader.h"

namespace odyssey::ctl {

using Environment = std::function<std::optional<std::string>(const std::string& name)>;

// This host as the reader of a policy sees it. `client_cwd` is what "." means. What the policy
// names is kept open in `places`, if it is to be used after the policy was read.
dialect::PolicyContext MakePolicyContext(const std::string& client_cwd,
                                         const Environment& environment,
                                         std::shared_ptr<NamedPlaces> places = nullptr);

// The directory of a bundle that a person named: through no link that a cell could have made, but
// for one that leads below its own directory.
Result<UniqueFd> OpenBundleDirectory(const std::string& directory);

// Reads the file or the bundle at `path`. What is neither is refused, and not waited for; but
// /dev/stdin and /dev/fd/N may be pipes. If that fails with problems of the file, all of them are
// in `problems` and the status is the first. The file may be a link itself, which leads anywhere; a
// link on the way to it is one of the system's. `name`, if not nullptr, is where it ends, "" of
// what has no name.
Result<dialect::Policy> ReadPolicy(const std::string& path, const dialect::PolicyContext& context,
                                   dialect::Problems* problems, std::string* name = nullptr);

// dialect::ReadAgentAlone of a regular file that is named as YAML; the file is looked at only then.
std::optional<dialect::AgentSpec> ReadAgentAlone(const std::string& path,
                                                 dialect::Problems* problems);

// Tells the warnings of a policy on stderr, one a line.
void PrintWarnings(const Console& console, const dialect::Problems& warnings);

Json WarningsAsJson(const dialect::Problems& warnings);

// The bundle directory of `path`: itself, or the directory that its manifest or an agent.yaml is
// part of. NOT_FOUND or INVALID_ARGUMENT says what was expected.
Result<std::string> BundleDirectory(const std::string& path);

// The variables that the manifest's sandbox.env names, or every command inherits, and this
// environment has.
std::map<std::string, std::string> ReadHostEnvironment(const dialect::SandboxSpec& sandbox,
                                                       const Environment& environment);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_POLICY_POLICY_FILE_H_
