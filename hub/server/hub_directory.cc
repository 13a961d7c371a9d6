#include "hub/server/hub_directory.h"

#include <errno.h>
#include <unistd.h>

#include <filesystem>
#include <utility>

#include "agentd/package/reference.h"
#include "common/oci/digest.h"
#include "common/os/atomic_file.h"
#include "common/os/file.h"
#include "hub/artifact/verify.h"

namespace odyssey::server {
namespace {

using artifact::Artifact;

constexpr unsigned kDirectoryMode = 0755;
constexpr unsigned kFileMode = 0644;
constexpr size_t kMaxSmallBytes = 4096;  // of a tag, or a signature

// What a client that asks for it is sent as the text of a 404.
Status Missing() { return NotFound("missing"); }

Result<std::string> ReadOrMissing(const std::string& path, size_t max_bytes) {
  Result<std::string> text = ReadFile(path, max_bytes);
  if (!text.ok() && text.status().detail().error == ENOENT) return Missing();
  return text;
}

// "ns/id", of which a path can be made.
Status CheckRepository(const std::string& repository) {
  const size_t slash = repository.find('/');
  if (slash != std::string::npos && artifact::IsName(repository.substr(0, slash)) &&
      artifact::IsName(repository.substr(slash + 1))) {
    return OkStatus();
  }
  return InvalidArgument("repository: expected NAMESPACE/ID");
}

Status CheckPull(const artifact::Pull& pull) {
  ODY_RETURN_IF_ERROR(CheckRepository(pull.repository));
  if (!pull.tag.empty() && !artifact::IsName(pull.tag)) return InvalidArgument("tag: no version");
  if (!pull.digest.empty() && !artifact::IsDigest(pull.digest)) {
    return InvalidArgument("digest: expected sha256: and 64 hex digits");
  }
  return OkStatus();
}

// Writes it, or finds it there with the same content, or replaces another.
Status Keep(const std::string& path, const std::string& text, Tags tags, const std::string& what) {
  const Result<std::string> old = ReadOrMissing(path, kMaxSmallBytes);
  if (old.ok() && *old == text) return OkStatus();
  if (old.ok() && tags == Tags::kImmutable) return AlreadyExists(what + ": exists");
  if (!old.ok() && old.status().code() != Code::kNotFound) return old.status();
  return WriteFileAtomically(path, text, kFileMode);
}

}  // namespace

Result<HubDirectory> HubDirectory::Open(const std::string& path, Tags tags) {
  for (const char* part : {"/blobs/sha256", "/tags", "/signatures"}) {
    ODY_RETURN_IF_ERROR(MakeDirectories(path + part, kDirectoryMode));
  }
  return HubDirectory(path, tags);
}

std::string HubDirectory::BlobPath(const std::string& digest) const {
  return path_ + "/blobs/sha256/" + digest.substr(digest.find(':') + 1);
}

std::string HubDirectory::SignaturePath(const std::string& digest) const {
  return path_ + "/signatures/" + digest.substr(digest.find(':') + 1);
}

Status HubDirectory::AddBlob(const std::string& digest, const std::string& bytes) const {
  const std::string path = BlobPath(digest);
  if (access(path.c_str(), F_OK) == 0) return OkStatus();
  return WriteFileAtomically(path, bytes, kFileMode);
}

Status HubDirectory::Publish(const artifact::Publish& publish) const {
  ODY_RETURN_IF_ERROR(CheckRepository(publish.repository));
  const Artifact& sent = publish.artifact;
  ODY_ASSIGN_OR_RETURN(
      const oci::Config bundle,
      artifact::CheckArtifact(artifact::kPublisher, sent, publish.digest, publish.tag));
  if (bundle.ns + "/" + bundle.id != publish.repository) {
    return InvalidArgument("publish request has metadata inconsistent with bundle config");
  }

  const std::string tags = path_ + "/tags/" + publish.repository;
  ODY_RETURN_IF_ERROR(MakeDirectories(tags, kDirectoryMode));
  const std::string tag = tags + "/" + publish.tag;
  const Result<std::string> old = ReadOrMissing(tag, kMaxSmallBytes);
  if (old.ok() && *old != publish.digest && tags_ == Tags::kImmutable) {
    return AlreadyExists(artifact::NameOf(bundle) + ": exists with digest " + *old);
  }

  ODY_RETURN_IF_ERROR(AddBlob(publish.digest, sent.manifest));
  ODY_RETURN_IF_ERROR(AddBlob(artifact::DigestOf(sent.config), sent.config));
  for (const artifact::Blob& layer : sent.layers) {
    ODY_RETURN_IF_ERROR(AddBlob(layer.digest, layer.bytes));
  }
  if (!sent.signature.empty()) {
    ODY_RETURN_IF_ERROR(Keep(SignaturePath(publish.digest), sent.signature, tags_,
                             "another signature of " + publish.digest));
  }
  return Keep(tag, publish.digest, tags_, artifact::NameOf(bundle));
}

Result<std::string> HubDirectory::LatestTag(const std::string& repository) const {
  std::string latest;
  std::error_code error;
  const std::filesystem::directory_iterator tags(path_ + "/tags/" + repository, error);
  if (error) return Missing();
  for (const auto& entry : tags) {
    const std::string tag = entry.path().filename();
    // What a crash left of a write.
    if (!artifact::IsName(tag) || tag.find(".tmp-") != std::string::npos) continue;
    if (latest.empty() || package::VersionLess(latest, tag)) latest = tag;
  }
  if (latest.empty()) return Missing();
  return latest;
}

Result<std::string> HubDirectory::FindDigest(const artifact::Pull& pull) const {
  if (!pull.digest.empty()) return pull.digest;
  std::string tag = pull.tag;
  if (tag.empty()) {
    ODY_ASSIGN_OR_RETURN(tag, LatestTag(pull.repository));
  }
  return ReadOrMissing(path_ + "/tags/" + pull.repository + "/" + tag, kMaxSmallBytes);
}

Result<artifact::Pulled> HubDirectory::Pull(const artifact::Pull& pull) const {
  ODY_RETURN_IF_ERROR(CheckPull(pull));
  artifact::Pulled out;
  ODY_ASSIGN_OR_RETURN(out.digest, FindDigest(pull));
  const auto read = [&](const std::string& digest) {
    return ReadOrMissing(BlobPath(digest), artifact::kMaxArtifactBytes);
  };
  ODY_ASSIGN_OR_RETURN(out.artifact.manifest, read(out.digest));
  // Any blob has a digest: one that is no manifest of the repository is not there.
  const Result<oci::Manifest> manifest = oci::ReadManifest(out.artifact.manifest);
  if (!manifest.ok()) return Missing();
  ODY_ASSIGN_OR_RETURN(out.artifact.config, read(oci::DigestOf(manifest->config.digest)));
  const Result<oci::Config> bundle = oci::ReadConfig(out.artifact.config);
  if (!bundle.ok() || bundle->ns + "/" + bundle->id != pull.repository) return Missing();
  out.version = bundle->version;
  for (const oci::Descriptor& layer : manifest->layers) {
    const std::string digest = oci::DigestOf(layer.digest);
    ODY_ASSIGN_OR_RETURN(std::string bytes, read(digest));
    out.artifact.layers.push_back({digest, std::move(bytes)});
  }
  const Result<std::string> signature = ReadOrMissing(SignaturePath(out.digest), kMaxSmallBytes);
  if (signature.ok()) out.artifact.signature = *signature;
  return out;
}

}  // namespace odyssey::server
