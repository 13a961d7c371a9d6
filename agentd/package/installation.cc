#include "agentd/package/installation.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "agentd/package/bundle_files.h"
#include "common/oci/digest.h"
#include "common/os/file.h"
#include "policy/dialect/bundle_tree.h"

namespace odyssey::package {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kMetadataFile[] = "bundle.json";
constexpr size_t kMaxMetadataBytes = 64 * 1024;

std::string MetadataDirectoryOf(const std::string& installed) {
  return installed + "/" + dialect::kMetadataDirectory;
}

Result<UniqueFd> CreateFile(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!fd) return ErrnoStatus(errno, "create " + path);
  return fd;
}

Status Copy(const std::string& from, const std::string& to) {
  const UniqueFd source(open(from.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!source) return ErrnoStatus(errno, "open " + from);
  ODY_ASSIGN_OR_RETURN(const UniqueFd copy, CreateFile(to));
  return ReadInPieces(source.get(), from,
                      [&](std::string_view bytes) { return WriteAll(copy.get(), bytes); });
}

Status Link(const std::string& from, const std::string& to) {
  ODY_RETURN_IF_ERROR(MakeDirectories(to.substr(0, to.rfind('/')), 0755));
  if (link(from.c_str(), to.c_str()) == 0) return OkStatus();
  if (errno == EXDEV) return Copy(from, to);
  return ErrnoStatus(errno, "link " + to);
}

Status WriteMetadata(const std::string& path, const Parts& parts) {
  const Json json = {{"namespace", parts.config.ns},
                     {"id", parts.config.id},
                     {"version", parts.config.version},
                     {"digest", oci::DigestOf(parts.manifest_blob.digest)}};
  ODY_ASSIGN_OR_RETURN(const UniqueFd fd, CreateFile(path));
  ODY_RETURN_IF_ERROR(WriteAll(fd.get(), json.dump(2) + "\n"));
  if (fsync(fd.get()) != 0) return ErrnoStatus(errno, "sync " + path);
  return OkStatus();
}

std::string TextOf(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || !found->is_string() ? "" : found->get<std::string>();
}

}  // namespace

Status LinkTree(const std::string& tree, const std::string& installed) {
  ODY_ASSIGN_OR_RETURN(const std::vector<BundleFile> files, ListTreeFiles(tree));
  for (const BundleFile& file : files) {
    ODY_RETURN_IF_ERROR(Link(tree + "/" + file.path, installed + "/" + file.path));
  }
  return OkStatus();
}

Status AddMetadata(const LayoutDirectory& layout, const Parts& parts,
                   const std::string& installed) {
  const LayoutDirectory own(MetadataDirectoryOf(installed));
  for (const char* name : {oci::kLayoutFile, oci::kIndexFile}) {
    ODY_RETURN_IF_ERROR(Link(layout.path() + "/" + name, own.path() + "/" + name));
  }
  for (const std::string& hex : BlobsOf(parts)) {
    ODY_RETURN_IF_ERROR(Link(layout.BlobPath(hex), own.BlobPath(hex)));
  }
  return WriteMetadata(own.path() + "/" + kMetadataFile, parts);
}

std::optional<Metadata> ReadMetadata(const std::string& installed) {
  const std::string name = std::string("/") + kMetadataFile;
  Result<std::string> text = ReadFile(MetadataDirectoryOf(installed) + name, kMaxMetadataBytes);
  if (!text.ok()) text = ReadFile(installed + name, kMaxMetadataBytes);
  if (!text.ok()) return std::nullopt;
  const Json json = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  const Result<std::string> digest = oci::HexOf(TextOf(json, "digest"));
  if (!digest.ok()) return std::nullopt;
  return Metadata{TextOf(json, "namespace"), TextOf(json, "id"), TextOf(json, "version"), *digest};
}

}  // namespace odyssey::package
