#ifndef ODYSSEY_AGENTD_PACKAGE_INSTALLATION_H_
#define ODYSSEY_AGENTD_PACKAGE_INSTALLATION_H_

// A bundle's files with its OCI layout in `.odyssey`: what is installed, and what a build makes.
// Does file I/O.

#include <optional>
#include <string>

#include "agentd/package/layout_directory.h"
#include "common/base/status.h"

namespace odyssey::package {

// What bundle.json says.
struct Metadata {
  std::string ns, id, version;
  std::string digest;  // hex
  friend bool operator==(const Metadata&, const Metadata&) = default;
};

// Makes `installed` with hard links of the files of `tree`.
Status LinkTree(const std::string& tree, const std::string& installed);

// Adds .odyssey/ with bundle.json and the layout: hard links, or copies on another file system.
Status AddMetadata(const LayoutDirectory& layout, const Parts& parts, const std::string& installed);

// Of .odyssey/ or, as other builders have it, of the directory itself; nullopt: there is none.
std::optional<Metadata> ReadMetadata(const std::string& installed);

}  // namespace odyssey::package

#endif  // ODYSSEY_AGENTD_PACKAGE_INSTALLATION_H_
