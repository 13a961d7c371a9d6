#include "hub/artifact/artifact.h"

#include "common/base/sha256.h"
#include "common/oci/digest.h"

namespace odyssey::artifact {

std::string NameOf(const oci::Config& bundle) {
  return bundle.ns + "/" + bundle.id + "@" + bundle.version;
}

std::string DigestOf(std::string_view bytes) { return oci::DigestOf(Sha256Hex(bytes)); }

bool IsDigest(const std::string& text) { return oci::HexOf(text).ok(); }

bool IsName(const std::string& text) { return oci::CheckName("name", text).ok(); }

Result<Artifact> InNamespace(Artifact artifact, const std::string& ns) {
  ODY_ASSIGN_OR_RETURN(oci::Config config, oci::ReadConfig(artifact.config));
  ODY_ASSIGN_OR_RETURN(oci::Manifest manifest, oci::ReadManifest(artifact.manifest));
  if (config.ns == ns) return artifact;

  config.ns = ns;
  artifact.config = oci::WriteConfig(config);
  manifest.config = {Sha256Hex(artifact.config), artifact.config.size()};
  artifact.manifest = oci::WriteManifest(manifest, oci::RefName(config));
  artifact.signature.clear();
  return artifact;
}

}  // namespace odyssey::artifact
