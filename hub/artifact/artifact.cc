#include "hub/artifact/artifact.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

#include "common/base/sha256.h"

namespace odyssey::artifact {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kPrefix[] = "sha256:";
constexpr size_t kPrefixBytes = sizeof(kPrefix) - 1;
constexpr size_t kHexDigits = 64;
constexpr size_t kMaxNameBytes = 128;
constexpr char kNameCharacters[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-";
constexpr char kTitle[] = "org.opencontainers.image.title";

Status Invalid(const std::string& cause) { return InvalidArgument("invalid bundle: " + cause); }

// "" if there is no such text.
std::string TextOf(const Json& object, const char* key) {
  if (!object.is_object() || !object.contains(key) || !object[key].is_string()) return "";
  return object[key].get<std::string>();
}

Result<std::string> DigestIn(const Json& descriptor) {
  std::string digest = TextOf(descriptor, "digest");
  if (!IsDigest(digest)) return Invalid("unsupported digest format " + digest);
  return digest;
}

Result<Json> ParseObject(const std::string& text, const std::string& what) {
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return Invalid(what + " is not a JSON object");
  return json;
}

}  // namespace

std::string NameOf(const Identity& identity) {
  return identity.ns + "/" + identity.id + "@" + identity.version;
}

std::string DigestOf(std::string_view bytes) { return kPrefix + Sha256Hex(bytes); }

bool IsDigest(std::string_view text) {
  return text.size() == kPrefixBytes + kHexDigits && text.substr(0, kPrefixBytes) == kPrefix &&
         text.substr(kPrefixBytes).find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool IsName(std::string_view text) {
  return !text.empty() && text.size() <= kMaxNameBytes && text.front() != '.' &&
         text.find_first_not_of(kNameCharacters) == std::string_view::npos;
}

Result<Contents> ReadManifest(const std::string& manifest) {
  ODY_ASSIGN_OR_RETURN(const Json json, ParseObject(manifest, "manifest"));
  Contents out;
  ODY_ASSIGN_OR_RETURN(out.config, DigestIn(json.value("config", Json())));
  const Json layers = json.value("layers", Json());
  if (!layers.is_array()) return Invalid("manifest has no layers");
  if (layers.size() > kMaxLayers) {
    return Invalid("layer count exceeds maximum " + std::to_string(kMaxLayers));
  }
  for (const Json& layer : layers) {
    ODY_ASSIGN_OR_RETURN(std::string digest, DigestIn(layer));
    out.layers.push_back(std::move(digest));
  }
  return out;
}

Result<Identity> ReadConfig(const std::string& config) {
  ODY_ASSIGN_OR_RETURN(const Json json, ParseObject(config, "bundle config"));
  const Json schema = json.value("schema_version", Json());
  if (schema != 1) {
    const std::string shown = schema.is_number_integer() ? schema.dump() : "?";
    return Invalid("unsupported bundle config schema version " + shown);
  }
  const Identity out = {TextOf(json, "namespace"), TextOf(json, "id"), TextOf(json, "version")};
  for (const auto& [label, value] :
       {std::pair{"namespace", out.ns}, {"id", out.id}, {"version", out.version}}) {
    if (!IsName(value)) {
      return Invalid("bundle " + std::string(label) +
                     " must not contain path separators or traversal segments");
    }
  }
  return out;
}

Result<Artifact> InNamespace(Artifact artifact, const std::string& ns) {
  ODY_ASSIGN_OR_RETURN(Identity identity, ReadConfig(artifact.config));
  ODY_RETURN_IF_ERROR(ReadManifest(artifact.manifest).status());
  if (identity.ns == ns) return artifact;

  Json config = Json::parse(artifact.config, nullptr, false);
  config["namespace"] = ns;
  artifact.config = config.dump();

  Json manifest = Json::parse(artifact.manifest, nullptr, false);
  manifest["config"]["digest"] = DigestOf(artifact.config);
  manifest["config"]["size"] = artifact.config.size();
  if (!manifest["annotations"].is_object()) manifest["annotations"] = Json::object();
  manifest["annotations"][kTitle] = ns + "/" + identity.id + ":" + identity.version;
  artifact.manifest = manifest.dump();
  artifact.signature.clear();
  return artifact;
}

}  // namespace odyssey::artifact
