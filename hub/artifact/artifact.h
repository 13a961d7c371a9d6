#ifndef ODYSSEY_HUB_ARTIFACT_ARTIFACT_H_
#define ODYSSEY_HUB_ARTIFACT_ARTIFACT_H_

// A bundle as a hub transfers it: the bytes of its OCI manifest, config and layers. Pure.

#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/oci/layout.h"

namespace odyssey::artifact {

// Of manifest, config and layers together. They are in memory, since the protocol is JSON.
inline constexpr size_t kMaxArtifactBytes = 128 * 1024 * 1024;

struct Blob {
  std::string digest;  // as the sender names it: "sha256:HEX"
  std::string bytes;
};

struct Artifact {
  std::string manifest;
  std::string config;
  std::vector<Blob> layers;
  std::string signature;  // base64; empty: unsigned
};

std::string NameOf(const oci::Config& bundle);  // "ns/id@version"

// "sha256:HEX" of the bytes.
std::string DigestOf(std::string_view bytes);
// What oci::HexOf takes; a file name is made of what passes.
bool IsDigest(const std::string& text);
// What oci::CheckName takes: one component of a path, and of a repository or tag.
bool IsName(const std::string& text);

// The same bundle in another namespace. Its digest changes with it, so a signature is dropped.
Result<Artifact> InNamespace(Artifact artifact, const std::string& ns);

}  // namespace odyssey::artifact

#endif  // ODYSSEY_HUB_ARTIFACT_ARTIFACT_H_
