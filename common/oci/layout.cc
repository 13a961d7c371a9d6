#include "common/oci/layout.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "common/oci/digest.h"

namespace odyssey::oci {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kIndexType[] = "application/vnd.oci.image.index.v1+json";
constexpr char kManifestType[] = "application/vnd.oci.image.manifest.v1+json";
constexpr char kConfigType[] = "application/vnd.odyssey.bundle.config.v1+json";
constexpr char kLayerType[] = "application/vnd.odyssey.bundle.layer.v1";
constexpr char kRefNameAnnotation[] = "org.opencontainers.image.ref.name";
constexpr char kTitleAnnotation[] = "org.opencontainers.image.title";
constexpr int kSchemaVersion = 2;
constexpr int kConfigVersion = 1;
constexpr size_t kMaxNameBytes = 128;

Result<Json> ParseObject(const std::string& text, const std::string& what) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_object()) return json;
  return InvalidBundle(what + " is not a JSON object");
}

std::optional<std::string> TextOf(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

Result<std::string> NeedText(const Json& object, const char* key, const std::string& what) {
  std::optional<std::string> text = TextOf(object, key);
  if (text) return *std::move(text);
  return InvalidBundle(what + "." + key + " must be a string");
}

Result<Descriptor> ReadDescriptor(const Json& object, const std::string& what) {
  if (!object.is_object()) return InvalidBundle(what + " must be an object");
  ODY_ASSIGN_OR_RETURN(const std::string digest, NeedText(object, "digest", what));
  Descriptor out;
  ODY_ASSIGN_OR_RETURN(out.digest, HexOf(digest));
  const auto size = object.find("size");
  if (size == object.end() || !size->is_number_unsigned()) {
    return InvalidBundle(what + ".size must be a whole number");
  }
  out.size = size->get<uint64_t>();
  return out;
}

Status CheckType(const Json& object, const std::string& what, const std::string& type) {
  const std::optional<std::string> given = TextOf(object, "mediaType");
  if (!given || *given == type) return OkStatus();
  return InvalidBundle(what + " has the media type " + *given + ", expected " + type);
}

Json ToJson(const Descriptor& descriptor, const char* type) {
  return {{"mediaType", type}, {"digest", DigestOf(descriptor.digest)}, {"size", descriptor.size}};
}

Json ParseOwn(const std::string& text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return json.is_discarded() ? Json() : json;
}

}  // namespace

std::string RefName(const Config& config) {
  return config.ns + "/" + config.id + ":" + config.version;
}

std::string WriteIndex(const Descriptor& manifest, const std::string& ref_name) {
  Json entry = ToJson(manifest, kManifestType);
  entry["annotations"] = {{kRefNameAnnotation, ref_name}};
  const Json index = {{"schemaVersion", kSchemaVersion},
                      {"mediaType", kIndexType},
                      {"manifests", Json::array({entry})}};
  return index.dump(2);
}

Result<Descriptor> ReadIndex(const std::string& text) {
  ODY_ASSIGN_OR_RETURN(const Json index, ParseObject(text, "oci index"));
  const auto manifests = index.find("manifests");
  if (manifests == index.end() || !manifests->is_array() || manifests->empty()) {
    return InvalidBundle("oci index does not contain a manifest");
  }
  if (manifests->size() > 1) return InvalidBundle("oci index contains more than one manifest");
  ODY_RETURN_IF_ERROR(CheckType((*manifests)[0].is_object() ? (*manifests)[0] : Json::object(),
                                "oci index manifest", kManifestType));
  return ReadDescriptor((*manifests)[0], "oci index manifest");
}

std::string WriteManifest(const Manifest& manifest, const std::string& ref_name) {
  Json layers = Json::array();
  for (const Descriptor& layer : manifest.layers) layers.push_back(ToJson(layer, kLayerType));
  Json annotations = {{kTitleAnnotation, ref_name}};
  for (const auto& [key, value] : manifest.annotations) annotations[key] = value;
  const Json json = {{"schemaVersion", kSchemaVersion},
                     {"mediaType", kManifestType},
                     {"config", ToJson(manifest.config, kConfigType)},
                     {"layers", layers},
                     {"annotations", annotations}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Manifest> ReadManifest(const std::string& text) {
  ODY_ASSIGN_OR_RETURN(const Json json, ParseObject(text, "oci manifest"));
  Manifest out;
  const Json config = json.value("config", Json::object());
  if (!config.is_object()) return InvalidBundle("oci manifest config must be an object");
  ODY_RETURN_IF_ERROR(CheckType(config, "oci manifest config", kConfigType));
  ODY_ASSIGN_OR_RETURN(out.config, ReadDescriptor(config, "oci manifest config"));
  const Json layers = json.value("layers", Json::array());
  if (!layers.is_array()) return InvalidBundle("oci manifest layers must be a list");
  if (layers.size() > kMaxLayers) {
    return InvalidBundle("oci manifest layer count exceeds maximum " + std::to_string(kMaxLayers));
  }
  for (const Json& layer : layers) {
    ODY_ASSIGN_OR_RETURN(Descriptor descriptor, ReadDescriptor(layer, "oci manifest layer"));
    ODY_RETURN_IF_ERROR(CheckType(layer, "oci manifest layer", kLayerType));
    out.layers.push_back(std::move(descriptor));
  }
  const Json annotations = json.value("annotations", Json::object());
  if (!annotations.is_object()) return InvalidBundle("oci manifest annotations must be an object");
  for (const auto& [key, value] : annotations.items()) {
    if (!value.is_string()) {
      return InvalidBundle("oci manifest annotation " + key + " must be a string");
    }
    if (key != kTitleAnnotation) out.annotations[key] = value.get<std::string>();
  }
  return out;
}

std::string WriteConfig(const Config& config) {
  const Json json = {{"schema_version", kConfigVersion},
                     {"id", config.id},
                     {"version", config.version},
                     {"namespace", config.ns},
                     {"readme", config.readme},
                     {"bundle_manifest", ParseOwn(config.bundle_manifest)},
                     {"agent_spec", ParseOwn(config.agent_spec)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Config> ReadConfig(const std::string& text) {
  ODY_ASSIGN_OR_RETURN(const Json json, ParseObject(text, "bundle config"));
  const auto version = json.find("schema_version");
  if (version == json.end() || *version != kConfigVersion) {
    return InvalidBundle("unsupported bundle config schema version " +
                         (version == json.end() ? std::string("(none)") : version->dump()));
  }
  Config out;
  ODY_ASSIGN_OR_RETURN(out.ns, NeedText(json, "namespace", "bundle config"));
  ODY_ASSIGN_OR_RETURN(out.id, NeedText(json, "id", "bundle config"));
  ODY_ASSIGN_OR_RETURN(out.version, NeedText(json, "version", "bundle config"));
  ODY_ASSIGN_OR_RETURN(out.readme, NeedText(json, "readme", "bundle config"));
  out.bundle_manifest = json.value("bundle_manifest", Json()).dump();
  out.agent_spec = json.value("agent_spec", Json()).dump();
  ODY_RETURN_IF_ERROR(CheckName("bundle namespace", out.ns));
  ODY_RETURN_IF_ERROR(CheckName("bundle id", out.id));
  ODY_RETURN_IF_ERROR(CheckName("bundle version", out.version));
  return out;
}

Status CheckName(const std::string& label, const std::string& value) {
  if (value.find_first_not_of(" \t\r\n") == std::string::npos) {
    return InvalidBundle(label + " cannot be empty");
  }
  if (value.find_first_of("/\\") != std::string::npos || value == "." || value == "..") {
    return InvalidBundle(label +
                         " must not contain path separators or traversal segments: " + value);
  }
  const auto is_alnum = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  const bool plain = std::all_of(value.begin(), value.end(), [&](char c) {
    return is_alnum(c) || c == '.' || c == '_' || c == '-';
  });
  if (plain && is_alnum(value[0]) && value.size() <= kMaxNameBytes) return OkStatus();
  return InvalidBundle(label + " must match [A-Za-z0-9][A-Za-z0-9._-]{0,127}: " + value);
}

}  // namespace odyssey::oci
