#ifndef ODYSSEY_AGENTD_BUNDLE_INSTALLED_TREE_H_
#define ODYSSEY_AGENTD_BUNDLE_INSTALLED_TREE_H_

// The directories of the store: trees and installations. Does file I/O.

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agentd/bundle/bundle_pin.h"
#include "common/base/status.h"

namespace odyssey::bundle {

// Reads the bundle in `tree`. INVALID_ARGUMENT: it is not the one that the pin names.
Result<std::shared_ptr<const InstalledBundle>> LoadTree(const BundlePin& pin,
                                                        const std::string& tree);

// The empty directory where the host directories that a manifest mounts appear.
Status MakeMountPoint(const std::string& tree);

// What bundle.json of an installation says; nullopt: it has none, or one that says nothing.
std::optional<BundlePin> ReadInstallation(const std::string& installed);

// Every DIR/NS/ID/VERSION whose bundle.json says the same names, with its directory.
std::vector<std::pair<std::string, BundlePin>> ReadInstallations(const std::string& directory);

// Every other DIR/NS/ID/VERSION, sorted.
std::vector<std::string> DamagedInstallations(const std::string& directory);

// Removes the entries of the directory whose names are not in `used`.
void RemoveUnusedNames(const std::string& directory, const std::set<std::string>& used);

}  // namespace odyssey::bundle

#endif  // ODYSSEY_AGENTD_BUNDLE_INSTALLED_TREE_H_
