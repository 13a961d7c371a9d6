#ifndef ODYSSEY_COMMON_OCI_LAYOUT_H_
#define ODYSSEY_COMMON_OCI_LAYOUT_H_

// The JSON files of a bundle in OCI image layout: index.json → manifest → config and layers, each
// named by the digest of its bytes. Readers ignore keys that they do not know. Pure.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace odyssey::oci {

inline constexpr char kLayoutFile[] = "oci-layout";
inline constexpr char kIndexFile[] = "index.json";
inline constexpr char kBlobDirectory[] = "blobs/sha256";
inline constexpr char kLayoutText[] = "{\"imageLayoutVersion\":\"1.0.0\"}\n";
inline constexpr size_t kMaxIndexBytes = 1024 * 1024;
inline constexpr size_t kMaxManifestBytes = 4 * 1024 * 1024;
inline constexpr size_t kMaxConfigBytes = 16 * 1024 * 1024;
inline constexpr size_t kMaxLayers = 64;

// Annotations of the manifest that are ours.
inline constexpr char kExecutablesAnnotation[] = "ai.odyssey.bundle.executables";
inline constexpr char kManifestTextAnnotation[] = "ai.odyssey.bundle.manifest";

struct Descriptor {
  std::string digest;  // hex
  uint64_t size = 0;
  friend bool operator==(const Descriptor&, const Descriptor&) = default;
};

struct Manifest {
  Descriptor config;
  std::vector<Descriptor> layers;
  // Without the title, which is made of the name.
  std::map<std::string, std::string> annotations;
  friend bool operator==(const Manifest&, const Manifest&) = default;
};

struct Config {
  std::string ns, id, version;
  std::string readme;           // text
  std::string bundle_manifest;  // JSON text
  std::string agent_spec;       // JSON text: of the default agent
  friend bool operator==(const Config&, const Config&) = default;
};

// "ns/id:version".
std::string RefName(const Config& config);

std::string WriteIndex(const Descriptor& manifest, const std::string& ref_name);
// The first manifest that it lists. INVALID_ARGUMENT: "oci index does not contain a manifest".
Result<Descriptor> ReadIndex(const std::string& text);

std::string WriteManifest(const Manifest& manifest, const std::string& ref_name);
Result<Manifest> ReadManifest(const std::string& text);

std::string WriteConfig(const Config& config);
// Namespace, id and version are one path component each.
Result<Config> ReadConfig(const std::string& text);

// INVALID_ARGUMENT: "`label` must not contain path separators or traversal segments".
Status CheckName(const std::string& label, const std::string& value);

}  // namespace odyssey::oci

#endif  // ODYSSEY_COMMON_OCI_LAYOUT_H_
