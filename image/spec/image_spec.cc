#include "image/spec/image_spec.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace odyssey::image {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kDigestPrefix = "sha256:";
constexpr size_t kMaxListed = 4096;  // of an index, of a list in a config

struct LayerType {
  std::string_view name;
  Packing packing;
};
constexpr LayerType kLayerTypes[] = {
    {"application/vnd.oci.image.layer.v1.tar", Packing::kNone},
    {"application/vnd.oci.image.layer.v1.tar+gzip", Packing::kGzip},
    {"application/vnd.oci.image.layer.v1.tar+zstd", Packing::kZstd},
    {"application/vnd.docker.image.rootfs.diff.tar", Packing::kNone},
    {"application/vnd.docker.image.rootfs.diff.tar.gzip", Packing::kGzip}};
constexpr std::string_view kManifestTypes[] = {
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json"};
constexpr std::string_view kIndexTypes[] = {
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json"};

// The first is all of the name, where `docker save` has its tag alone in the second.
constexpr const char* kNameAnnotations[] = {"io.containerd.image.name",
                                            "org.opencontainers.image.ref.name"};

Status Wrong(const std::string& key, const std::string& why) {
  return InvalidArgument(key + ": " + why);
}

// In a message: what a stranger wrote is cut, and has no control characters.
std::string Shown(std::string_view text) {
  constexpr size_t kMost = 100;
  std::string out = "\"";
  for (const char c : text.substr(0, kMost)) {
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  }
  return out + (text.size() > kMost ? "…\"" : "\"");
}

Result<Json> Parse(std::string_view text, size_t most, const char* what) {
  if (text.size() > most) {
    return ResourceExhausted(std::string(what) + ": has more than " + std::to_string(most) +
                             " bytes");
  }
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return Wrong(what, "is no JSON object");
  return json;
}

Result<std::string> TextOf(const Json& object, const char* name, const std::string& key) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return std::string();
  if (!found->is_string()) return Wrong(key, "expected a string");
  return found->get<std::string>();
}

// A list that is missing is empty, as in Go.
Result<std::vector<std::string>> TextsOf(const Json& object, const char* name,
                                         const std::string& key) {
  std::vector<std::string> out;
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return out;
  if (!found->is_array()) return Wrong(key, "expected an array of strings");
  if (found->size() > kMaxListed) return Wrong(key, "has too many items");
  for (const Json& item : *found) {
    if (!item.is_string()) return Wrong(key, "expected an array of strings");
    out.push_back(item.get<std::string>());
  }
  return out;
}

// A set is an object of empty objects.
Result<std::vector<std::string>> NamesOf(const Json& object, const char* name,
                                         const std::string& key) {
  std::vector<std::string> out;
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return out;
  if (!found->is_object()) return Wrong(key, "expected an object");
  if (found->size() > kMaxListed) return Wrong(key, "has too many items");
  for (const auto& item : found->items()) out.push_back(item.key());
  return out;
}

Result<Blob> BlobOf(const Json& descriptor, const std::string& key) {
  if (!descriptor.is_object()) return Wrong(key, "expected an object");
  ODY_ASSIGN_OR_RETURN(const std::string digest, TextOf(descriptor, "digest", key + ".digest"));
  if (!IsDigest(digest)) {
    return Wrong(key + ".digest", Shown(digest) + ": expected sha256: and 64 hex digits");
  }
  const auto size = descriptor.find("size");
  if (size == descriptor.end() || !size->is_number_unsigned()) {
    return Wrong(key + ".size", "expected a number of bytes");
  }
  return Blob{digest, size->get<uint64_t>()};
}

template <typename Types>
bool IsOneOf(std::string_view type, const Types& types) {
  return std::find(std::begin(types), std::end(types), type) != std::end(types);
}

Status CheckSchema(const Json& json, const char* what) {
  const auto version = json.find("schemaVersion");
  if (version == json.end() || *version != 2) {
    return Wrong("schemaVersion", std::string("expected 2, of ") + what);
  }
  return OkStatus();
}

Result<Layer> LayerOf(const Json& descriptor, const std::string& key) {
  Layer out;
  ODY_ASSIGN_OR_RETURN(out.blob, BlobOf(descriptor, key));
  if (descriptor.contains("urls") && !descriptor["urls"].empty()) {
    return Wrong(key + ".urls", "a layer from elsewhere is not taken");
  }
  ODY_ASSIGN_OR_RETURN(const std::string type, TextOf(descriptor, "mediaType", key + ".mediaType"));
  const auto known = std::find_if(std::begin(kLayerTypes), std::end(kLayerTypes),
                                  [&](const LayerType& each) { return each.name == type; });
  if (known == std::end(kLayerTypes)) {
    return Wrong(key + ".mediaType", Shown(type) + ": expected a tar, plain, gzip or zstd");
  }
  out.packing = known->packing;
  return out;
}

// Nothing of what is neither a manifest nor an index.
Result<std::optional<IndexEntry>> EntryOf(const Json& item, const std::string& key) {
  if (!item.is_object()) return Wrong(key, "expected an object");
  ODY_ASSIGN_OR_RETURN(const std::string type, TextOf(item, "mediaType", key + ".mediaType"));
  IndexEntry out;
  out.is_index = IsOneOf(type, kIndexTypes);
  if (!out.is_index && !IsOneOf(type, kManifestTypes)) return std::optional<IndexEntry>();
  ODY_ASSIGN_OR_RETURN(out.blob, BlobOf(item, key));
  const Json platform = item.value("platform", Json());
  if (platform.is_object()) {
    ODY_ASSIGN_OR_RETURN(out.platform.os, TextOf(platform, "os", key + ".platform.os"));
    ODY_ASSIGN_OR_RETURN(out.platform.architecture,
                         TextOf(platform, "architecture", key + ".platform.architecture"));
  }
  const Json annotations = item.value("annotations", Json());
  if (annotations.is_object()) {
    for (const char* const name : kNameAnnotations) {
      if (!out.name.empty()) break;
      ODY_ASSIGN_OR_RETURN(out.name, TextOf(annotations, name, key + ".annotations." + name));
    }
  }
  return std::optional<IndexEntry>(std::move(out));
}

}  // namespace

bool IsDigest(std::string_view text) {
  if (text.size() != kDigestBytes || !text.starts_with(kDigestPrefix)) return false;
  text.remove_prefix(kDigestPrefix.size());
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool IsIndex(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return false;
  const auto type = json.find("mediaType");
  if (type != json.end() && type->is_string()) {
    return IsOneOf(type->get<std::string>(), kIndexTypes);
  }
  return json.contains("manifests");
}

Result<std::vector<IndexEntry>> ReadIndex(std::string_view index) {
  ODY_ASSIGN_OR_RETURN(const Json json, Parse(index, kMaxManifestBytes, "index"));
  ODY_RETURN_IF_ERROR(CheckSchema(json, "an index"));
  const auto list = json.find("manifests");
  if (list == json.end() || !list->is_array()) return Wrong("manifests", "expected an array");
  if (list->size() > kMaxListed) return Wrong("manifests", "has too many items");
  std::vector<IndexEntry> out;
  for (size_t i = 0; i < list->size(); ++i) {
    ODY_ASSIGN_OR_RETURN(std::optional<IndexEntry> entry,
                         EntryOf((*list)[i], "manifests[" + std::to_string(i) + "]"));
    if (entry) out.push_back(*std::move(entry));
  }
  return out;
}

Result<Blob> ChooseManifest(std::string_view index, const Platform& platform) {
  ODY_ASSIGN_OR_RETURN(const std::vector<IndexEntry> entries, ReadIndex(index));
  std::string there;
  for (const IndexEntry& entry : entries) {
    if (entry.is_index) continue;
    // A list of one manifest, as `skopeo copy` and `docker save` write it, names no platform.
    const bool only = entries.size() == 1 && entry.platform.os.empty();
    if (only || entry.platform == platform) return entry.blob;
    if (there.size() < kMaxListed) {
      there += (there.empty() ? "" : ", ") +
               Shown(entry.platform.os + "/" + entry.platform.architecture);
    }
  }
  return NotFound("manifests: none is of " + platform.os + "/" + platform.architecture +
                  "; there are: " + (there.empty() ? "none" : there));
}

Result<Manifest> ReadManifest(std::string_view text) {
  ODY_ASSIGN_OR_RETURN(const Json json, Parse(text, kMaxManifestBytes, "manifest"));
  ODY_RETURN_IF_ERROR(CheckSchema(json, "a manifest"));
  Manifest out;
  ODY_ASSIGN_OR_RETURN(out.config, BlobOf(json.value("config", Json()), "config"));
  if (out.config.size > kMaxConfigBytes) {
    return Wrong("config.size", "more than " + std::to_string(kMaxConfigBytes) + " bytes");
  }
  const auto layers = json.find("layers");
  if (layers == json.end() || !layers->is_array()) return Wrong("layers", "expected an array");
  if (layers->size() > kMaxLayers) {
    return Wrong("layers", "has more than " + std::to_string(kMaxLayers) + " items");
  }
  for (size_t i = 0; i < layers->size(); ++i) {
    ODY_ASSIGN_OR_RETURN(Layer layer, LayerOf((*layers)[i], "layers[" + std::to_string(i) + "]"));
    out.layers.push_back(std::move(layer));
  }
  return out;
}

Result<Config> ReadConfig(std::string_view text) {
  ODY_ASSIGN_OR_RETURN(const Json json, Parse(text, kMaxConfigBytes, "config"));
  Config out;
  ODY_ASSIGN_OR_RETURN(out.os, TextOf(json, "os", "os"));
  ODY_ASSIGN_OR_RETURN(out.architecture, TextOf(json, "architecture", "architecture"));
  const Json rootfs = json.value("rootfs", Json());
  if (!rootfs.is_object()) return Wrong("rootfs", "expected an object");
  ODY_ASSIGN_OR_RETURN(out.diff_ids, TextsOf(rootfs, "diff_ids", "rootfs.diff_ids"));
  for (const std::string& digest : out.diff_ids) {
    if (!IsDigest(digest)) {
      return Wrong("rootfs.diff_ids", Shown(digest) + ": expected sha256: and 64 hex digits");
    }
  }
  const Json config = json.value("config", Json::object());
  if (config.is_null()) return out;
  if (!config.is_object()) return Wrong("config", "expected an object");
  ODY_ASSIGN_OR_RETURN(out.user, TextOf(config, "User", "config.User"));
  ODY_ASSIGN_OR_RETURN(out.working_directory, TextOf(config, "WorkingDir", "config.WorkingDir"));
  ODY_ASSIGN_OR_RETURN(out.env, TextsOf(config, "Env", "config.Env"));
  ODY_ASSIGN_OR_RETURN(out.entrypoint, TextsOf(config, "Entrypoint", "config.Entrypoint"));
  ODY_ASSIGN_OR_RETURN(out.command, TextsOf(config, "Cmd", "config.Cmd"));
  ODY_ASSIGN_OR_RETURN(out.exposed_ports, NamesOf(config, "ExposedPorts", "config.ExposedPorts"));
  ODY_ASSIGN_OR_RETURN(out.volumes, NamesOf(config, "Volumes", "config.Volumes"));
  const Json labels = config.value("Labels", Json());
  if (labels.is_null()) return out;
  if (!labels.is_object()) return Wrong("config.Labels", "expected an object");
  for (const auto& [name, value] : labels.items()) {
    if (!value.is_string()) return Wrong("config.Labels." + Shown(name), "expected a string");
    out.labels[name] = value.get<std::string>();
  }
  return out;
}

}  // namespace odyssey::image
