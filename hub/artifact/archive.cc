#include "hub/artifact/archive.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <utility>

namespace odyssey::artifact {
namespace {

using Json = nlohmann::ordered_json;
using Files = std::map<std::string, std::string>;  // path → content

constexpr std::string_view kMagic = "ODYB1\n";
constexpr size_t kMaxEntries = 16'384;
constexpr size_t kMaxPathBytes = 4'096;
constexpr uint64_t kMaxEntryBytes = 256 * 1024 * 1024;
constexpr char kBlobs[] = "blobs/sha256/";

Status Invalid(const std::string& cause) { return InvalidArgument("invalid bundle: " + cause); }

Status Exceeds(const std::string& what, uint64_t maximum, const char* unit) {
  return Invalid(what + " exceeds maximum " + std::to_string(maximum) + unit);
}

// Little-endian fields and byte strings of one text.
class Reader final {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  Result<std::string_view> Take(uint64_t count) {
    if (count > bytes_.size()) return Invalid("bundle entry is truncated");
    const std::string_view out = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return out;
  }
  Result<uint64_t> Number(size_t width) {
    ODY_ASSIGN_OR_RETURN(const std::string_view field, Take(width));
    uint64_t out = 0;
    for (size_t i = 0; i < width; i++) {
      out |= static_cast<uint64_t>(static_cast<unsigned char>(field[i])) << (8 * i);
    }
    return out;
  }
  bool empty() const { return bytes_.empty(); }

 private:
  std::string_view bytes_;
};

void AddNumber(uint64_t value, size_t width, std::string* out) {
  for (size_t i = 0; i < width; i++) out->push_back(static_cast<char>(value >> (8 * i) & 0xff));
}

// No path is opened by a name of an archive: only these names are used.
bool IsKnown(const std::string& path) {
  const std::string blobs = kBlobs;
  return path == "oci-layout" || path == "index.json" ||
         (path.compare(0, blobs.size(), blobs) == 0 &&
          IsDigest("sha256:" + path.substr(blobs.size())));
}

Result<Files> ReadFiles(std::string_view archive) {
  if (archive.substr(0, kMagic.size()) != kMagic) return Invalid("invalid bundle archive header");
  Reader reader(archive.substr(kMagic.size()));
  ODY_ASSIGN_OR_RETURN(const uint64_t count, reader.Number(4));
  if (count > kMaxEntries) return Exceeds("archive entry count", kMaxEntries, "");
  Files out;
  for (uint64_t i = 0; i < count; i++) {
    ODY_ASSIGN_OR_RETURN(const uint64_t path_bytes, reader.Number(4));
    if (path_bytes > kMaxPathBytes) return Exceeds("archive path length", kMaxPathBytes, " bytes");
    ODY_ASSIGN_OR_RETURN(const std::string_view path, reader.Take(path_bytes));
    ODY_ASSIGN_OR_RETURN(const uint64_t bytes, reader.Number(8));
    if (bytes > kMaxEntryBytes) return Exceeds("archive entry length", kMaxEntryBytes, " bytes");
    ODY_ASSIGN_OR_RETURN(const std::string_view data, reader.Take(bytes));
    const std::string name(path);
    if (!IsKnown(name)) return Invalid("bundle archive entry escapes destination: " + name);
    if (!out.emplace(name, data).second) return Invalid("bundle archive repeats entry " + name);
  }
  if (!reader.empty()) return Invalid("bundle archive contains trailing data");
  return out;
}

Result<std::string> TakeBlob(const Files& files, const std::string& digest) {
  const auto found = files.find(kBlobs + digest.substr(digest.find(':') + 1));
  if (found == files.end()) return Invalid("bundle archive has no blob " + digest);
  if (DigestOf(found->second) != digest) {
    return Invalid("blob bytes do not match digest " + digest);
  }
  return found->second;
}

Result<std::string> ManifestDigest(const Files& files) {
  const auto index = files.find("index.json");
  const Json json =
      index == files.end() ? Json() : Json::parse(index->second, nullptr, /*exceptions=*/false);
  const Json manifests = json.is_object() ? json.value("manifests", Json()) : Json();
  const Json first = manifests.is_array() && !manifests.empty() ? manifests[0] : Json();
  if (!first.is_object() || !first.contains("digest") || !first["digest"].is_string()) {
    return Invalid("oci index does not contain a manifest");
  }
  const std::string digest = first["digest"].get<std::string>();
  if (!IsDigest(digest)) return Invalid("unsupported digest format " + digest);
  return digest;
}

std::string IndexOf(const Artifact& artifact, const Identity& identity) {
  const Json manifest = {{"mediaType", "application/vnd.oci.image.manifest.v1+json"},
                         {"digest", DigestOf(artifact.manifest)},
                         {"size", artifact.manifest.size()},
                         {"annotations",
                          {{"org.opencontainers.image.ref.name",
                            identity.ns + "/" + identity.id + ":" + identity.version}}}};
  const Json index = {{"schemaVersion", 2},
                      {"mediaType", "application/vnd.oci.image.index.v1+json"},
                      {"manifests", Json::array({manifest})}};
  return index.dump(2) + "\n";
}

}  // namespace

Result<Artifact> ReadArchive(std::string_view archive) {
  ODY_ASSIGN_OR_RETURN(const Files files, ReadFiles(archive));
  ODY_ASSIGN_OR_RETURN(const std::string digest, ManifestDigest(files));
  Artifact out;
  ODY_ASSIGN_OR_RETURN(out.manifest, TakeBlob(files, digest));
  ODY_ASSIGN_OR_RETURN(const Contents contents, ReadManifest(out.manifest));
  ODY_ASSIGN_OR_RETURN(out.config, TakeBlob(files, contents.config));
  for (const std::string& layer : contents.layers) {
    ODY_ASSIGN_OR_RETURN(std::string bytes, TakeBlob(files, layer));
    out.layers.push_back({layer, std::move(bytes)});
  }
  return out;
}

Result<std::string> WriteArchive(const Artifact& artifact) {
  ODY_ASSIGN_OR_RETURN(const Identity identity, ReadConfig(artifact.config));
  Files files = {{"oci-layout", "{\"imageLayoutVersion\":\"1.0.0\"}\n"},
                 {"index.json", IndexOf(artifact, identity)}};
  const auto add = [&](const std::string& bytes) {
    files[kBlobs + DigestOf(bytes).substr(7)] = bytes;
  };
  add(artifact.manifest);
  add(artifact.config);
  for (const Blob& layer : artifact.layers) add(layer.bytes);

  std::string out(kMagic);
  AddNumber(files.size(), 4, &out);
  for (const auto& [path, bytes] : files) {
    AddNumber(path.size(), 4, &out);
    out += path;
    AddNumber(bytes.size(), 8, &out);
    out += bytes;
  }
  return out;
}

}  // namespace odyssey::artifact
