#include "hub/artifact/verify.h"

#include <algorithm>
#include <map>

namespace odyssey::artifact {
namespace {

Status Refuse(const Sender& sender, const std::string& what) {
  return InvalidArgument(std::string(sender.has) + " " + what);
}

Status CheckLayers(const Sender& sender, const std::vector<std::string>& wanted,
                   const std::vector<Blob>& layers) {
  std::map<std::string, const Blob*> sent;
  for (const Blob& layer : layers) {
    if (!sent.emplace(layer.digest, &layer).second) {
      return Refuse(sender, "duplicate layer digest " + layer.digest);
    }
  }
  for (const std::string& digest : wanted) {
    const auto found = sent.find(digest);
    if (found == sent.end()) {
      return InvalidArgument(std::string(sender.missing) + " layer " + digest);
    }
    if (DigestOf(found->second->bytes) != digest) {
      return Refuse(sender, "layer bytes that do not match digest " + digest);
    }
  }
  for (const Blob& layer : layers) {
    if (std::find(wanted.begin(), wanted.end(), layer.digest) == wanted.end()) {
      return Refuse(sender, "unexpected layer " + layer.digest);
    }
  }
  return OkStatus();
}

}  // namespace

Result<Identity> CheckArtifact(const Sender& sender, const Artifact& artifact,
                               const std::string& digest, const std::string& version) {
  if (DigestOf(artifact.manifest) != digest) {
    return Refuse(sender, "metadata inconsistent with manifest digest");
  }
  ODY_ASSIGN_OR_RETURN(const Contents contents, ReadManifest(artifact.manifest));
  if (DigestOf(artifact.config) != contents.config) {
    return Refuse(sender, "config bytes that do not match manifest digest");
  }
  ODY_RETURN_IF_ERROR(CheckLayers(sender, contents.layers, artifact.layers));
  ODY_ASSIGN_OR_RETURN(const Identity identity, ReadConfig(artifact.config));
  if (identity.version != version) {
    return Refuse(sender, "metadata inconsistent with bundle config");
  }
  return identity;
}

Result<Identity> CheckPulled(const Reference& asked, const Pulled& pulled) {
  ODY_ASSIGN_OR_RETURN(const Identity identity,
                       CheckArtifact(kHub, pulled.artifact, pulled.digest, pulled.version));
  if (!asked.digest.empty() && pulled.digest != asked.digest) {
    return Refuse(kHub, "manifest digest " + pulled.digest + ", requested is " + asked.digest);
  }
  const std::string version = asked.version.empty() ? identity.version : asked.version;
  const Identity wanted = {asked.ns, asked.id, version};
  if (identity != wanted) {
    return Refuse(kHub, "bundle " + NameOf(identity) + ", requested is " + NameOf(wanted));
  }
  return identity;
}

}  // namespace odyssey::artifact
