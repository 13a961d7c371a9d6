#ifndef ODYSSEY_AGENTD_PACKAGE_REFERENCE_H_
#define ODYSSEY_AGENTD_PACKAGE_REFERENCE_H_

// How a bundle is named, and which version is later. Pure.

#include <string>
#include <string_view>

#include "common/base/status.h"

namespace odyssey::package {

inline constexpr char kLocalNamespace[] = "local";
// Detail::hint: agentd cannot read the directory, which its client may upload.
inline constexpr char kHintUnreadableBundle[] = "unreadable_bundle";

struct Reference {
  enum class Kind { kPath, kDigest, kName };
  Kind kind = Kind::kName;
  std::string path;     // kPath
  std::string ns, id;   // kName; kDigest: empty, or what the digest's bundle must be
  std::string version;  // kName; empty: the latest
  std::string digest;   // kDigest: hex
  friend bool operator==(const Reference&, const Reference&) = default;
};

// Of a text that names no existing path: "./x", "/x", "sha256:HEX", "ns/id@sha256:HEX",
// "ns/id[@ver|:ver]", "id[@ver]"; "latest" is no version. INVALID_ARGUMENT: an archive
// ("bundle archives must be imported before use"), or what is none of these.
Result<Reference> ParseReference(const std::string& text);

// By semantic versioning: numeric parts as numbers, a prerelease before its release, build
// metadata ignored. Total on any text.
bool VersionLess(std::string_view a, std::string_view b);

}  // namespace odyssey::package

#endif  // ODYSSEY_AGENTD_PACKAGE_REFERENCE_H_
