#include "hub/artifact/verify.h"

#include <map>
#include <set>

#include "common/oci/digest.h"

namespace odyssey::artifact {
namespace {

Status Refuse(const Sender& sender, const std::string& what) {
  return InvalidArgument(std::string(sender.has) + " " + what);
}

Status CheckLayers(const Sender& sender, const oci::Manifest& manifest,
                   const std::vector<Blob>& layers) {
  std::map<std::string, const Blob*> sent;
  for (const Blob& layer : layers) {
    if (!sent.emplace(layer.digest, &layer).second) {
      return Refuse(sender, "duplicate layer digest " + layer.digest);
    }
  }
  std::set<std::string> wanted;
  for (const oci::Descriptor& described : manifest.layers) {
    const std::string digest = oci::DigestOf(described.digest);
    wanted.insert(digest);
    const auto found = sent.find(digest);
    if (found == sent.end()) {
      return InvalidArgument(std::string(sender.missing) + " layer " + digest);
    }
    if (DigestOf(found->second->bytes) != digest) {
      return Refuse(sender, "layer bytes that do not match digest " + digest);
    }
  }
  for (const Blob& layer : layers) {
    if (wanted.count(layer.digest) == 0) {
      return Refuse(sender, "unexpected layer " + layer.digest);
    }
  }
  return OkStatus();
}

}  // namespace

Result<oci::Config> CheckArtifact(const Sender& sender, const Artifact& artifact,
                                  const std::string& digest, const std::string& version) {
  if (DigestOf(artifact.manifest) != digest) {
    return Refuse(sender, "metadata inconsistent with manifest digest");
  }
  ODY_ASSIGN_OR_RETURN(const oci::Manifest manifest, oci::ReadManifest(artifact.manifest));
  if (DigestOf(artifact.config) != oci::DigestOf(manifest.config.digest)) {
    return Refuse(sender, "config bytes that do not match manifest digest");
  }
  ODY_RETURN_IF_ERROR(CheckLayers(sender, manifest, artifact.layers));
  ODY_ASSIGN_OR_RETURN(oci::Config bundle, oci::ReadConfig(artifact.config));
  if (bundle.version != version) {
    return Refuse(sender, "metadata inconsistent with bundle config");
  }
  return bundle;
}

Result<oci::Config> CheckPulled(const package::Reference& asked, const Pulled& pulled) {
  ODY_ASSIGN_OR_RETURN(oci::Config bundle,
                       CheckArtifact(kHub, pulled.artifact, pulled.digest, pulled.version));
  if (!asked.digest.empty() && pulled.digest != oci::DigestOf(asked.digest)) {
    return Refuse(
        kHub, "manifest digest " + pulled.digest + ", requested is " + oci::DigestOf(asked.digest));
  }
  oci::Config wanted;
  wanted.ns = asked.ns;
  wanted.id = asked.id;
  wanted.version = asked.version.empty() ? bundle.version : asked.version;
  if (NameOf(bundle) != NameOf(wanted)) {
    return Refuse(kHub, "bundle " + NameOf(bundle) + ", requested is " + NameOf(wanted));
  }
  return bundle;
}

}  // namespace odyssey::artifact
