#include "hub/artifact/archive.h"

#include <map>
#include <utility>

#include "common/base/sha256.h"
#include "common/oci/digest.h"
#include "common/oci/entry_codec.h"

namespace odyssey::artifact {
namespace {

using Files = std::map<std::string, std::string>;  // path → content

std::string BlobPath(const std::string& hex) {
  return std::string(oci::kBlobDirectory) + "/" + hex;
}

// The entries in memory: the caller bounds the archive.
class FileCollector final : public oci::EntrySink {
 public:
  Status Begin(const std::string& path, uint64_t) override {
    content_ = &files_[path];
    return OkStatus();
  }
  Status Data(std::string_view bytes) override {
    *content_ += bytes;
    return OkStatus();
  }
  Status End() override { return OkStatus(); }

  const Files& files() const { return files_; }

 private:
  Files files_;
  std::string* content_ = nullptr;
};

Result<std::string> TakeBlob(const Files& files, const std::string& hex) {
  const auto found = files.find(BlobPath(hex));
  const std::string digest = oci::DigestOf(hex);
  if (found == files.end()) return oci::InvalidBundle("bundle archive has no blob " + digest);
  if (Sha256Hex(found->second) == hex) return found->second;
  return oci::InvalidBundle("blob bytes do not match digest " + digest);
}

}  // namespace

Result<Artifact> ReadArchive(std::string_view archive) {
  FileCollector collector;
  oci::EntryDecoder decoder(oci::kArchiveFormat, &collector);
  ODY_RETURN_IF_ERROR(decoder.Feed(archive));
  ODY_RETURN_IF_ERROR(decoder.Finish());
  const Files& files = collector.files();
  const auto index = files.find(oci::kIndexFile);
  ODY_ASSIGN_OR_RETURN(const oci::Descriptor blob,
                       oci::ReadIndex(index == files.end() ? "{}" : index->second));
  Artifact out;
  ODY_ASSIGN_OR_RETURN(out.manifest, TakeBlob(files, blob.digest));
  ODY_ASSIGN_OR_RETURN(const oci::Manifest manifest, oci::ReadManifest(out.manifest));
  ODY_ASSIGN_OR_RETURN(out.config, TakeBlob(files, manifest.config.digest));
  for (const oci::Descriptor& layer : manifest.layers) {
    ODY_ASSIGN_OR_RETURN(std::string bytes, TakeBlob(files, layer.digest));
    out.layers.push_back({oci::DigestOf(layer.digest), std::move(bytes)});
  }
  return out;
}

Result<std::string> WriteArchive(const Artifact& artifact) {
  ODY_ASSIGN_OR_RETURN(const oci::Config config, oci::ReadConfig(artifact.config));
  const oci::Descriptor manifest = {Sha256Hex(artifact.manifest), artifact.manifest.size()};
  Files files = {{oci::kLayoutFile, oci::kLayoutText},
                 {oci::kIndexFile, oci::WriteIndex(manifest, oci::RefName(config))},
                 {BlobPath(manifest.digest), artifact.manifest},
                 {BlobPath(Sha256Hex(artifact.config)), artifact.config}};
  for (const Blob& layer : artifact.layers) files[BlobPath(Sha256Hex(layer.bytes))] = layer.bytes;

  ODY_ASSIGN_OR_RETURN(std::string out, oci::EncodeHeader(oci::kArchiveFormat, files.size()));
  for (const auto& [path, bytes] : files) {
    ODY_ASSIGN_OR_RETURN(const std::string head,
                         oci::EncodeEntry(oci::kArchiveFormat, path, bytes.size()));
    out += head;
    out += bytes;
  }
  return out;
}

}  // namespace odyssey::artifact
