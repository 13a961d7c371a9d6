#ifndef ODYSSEY_HUB_ARTIFACT_ARTIFACT_H_
#define ODYSSEY_HUB_ARTIFACT_ARTIFACT_H_

// A bundle as a hub transfers it: the bytes of its OCI manifest, config and layers. Pure.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace odyssey::artifact {

// Of manifest, config and layers together. They are in memory, since the protocol is JSON.
inline constexpr size_t kMaxArtifactBytes = 128 * 1024 * 1024;
inline constexpr size_t kMaxLayers = 64;

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

// What the config says that the bundle is.
struct Identity {
  std::string ns, id, version;
  friend bool operator==(const Identity&, const Identity&) = default;
};
std::string NameOf(const Identity& identity);  // "ns/id@version"

// What the manifest refers to.
struct Contents {
  std::string config;
  std::vector<std::string> layers;
};

// "sha256:HEX" of the bytes.
std::string DigestOf(std::string_view bytes);
// "sha256:" and 64 lower-case hex digits; a file name is made of what passes.
bool IsDigest(std::string_view text);
// One component of a path, and of a repository or tag: letters, digits and "._+-", no dot first.
bool IsName(std::string_view text);

// INVALID_ARGUMENT "invalid bundle: …".
Result<Contents> ReadManifest(const std::string& manifest);
Result<Identity> ReadConfig(const std::string& config);

// The same bundle in another namespace. Its digest changes with it, so a signature is dropped.
Result<Artifact> InNamespace(Artifact artifact, const std::string& ns);

}  // namespace odyssey::artifact

#endif  // ODYSSEY_HUB_ARTIFACT_ARTIFACT_H_
