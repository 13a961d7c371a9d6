#include "hub/artifact/exchange.h"

#include <nlohmann/json.hpp>

#include <utility>

#include "hub/artifact/base64.h"

namespace odyssey::artifact {
namespace {

using Json = nlohmann::ordered_json;

enum class Need { kRequired, kOptional };

Result<Json> ParseBody(const std::string& body) {
  Json json = Json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return InvalidArgument("body: not a JSON object");
  return json;
}

// "" for null and, if it is optional, for none.
Result<std::string> TextOf(const Json& object, const char* key, Need need) {
  const bool there = object.is_object() && object.contains(key) && !object[key].is_null();
  if (!there && need == Need::kOptional) return std::string();
  if (!there || !object[key].is_string()) return InvalidArgument(std::string(key) + ": no text");
  return object[key].get<std::string>();
}

Result<std::string> BytesOf(const Json& object, const char* key) {
  ODY_ASSIGN_OR_RETURN(const std::string text, TextOf(object, key, Need::kRequired));
  Result<std::string> bytes = FromBase64(text);
  if (!bytes.ok()) return InvalidArgument(std::string(key) + ": " + bytes.status().message());
  return bytes;
}

void AddArtifact(const Artifact& artifact, Json* json) {
  (*json)["manifestBytes"] = ToBase64(artifact.manifest);
  (*json)["configBytes"] = ToBase64(artifact.config);
  Json layers = Json::array();
  for (const Blob& layer : artifact.layers) {
    layers.push_back({{"digest", layer.digest}, {"bytes", ToBase64(layer.bytes)}});
  }
  (*json)["layers"] = std::move(layers);
  if (!artifact.signature.empty()) (*json)["signature"] = artifact.signature;
}

size_t BytesIn(const Artifact& artifact) {
  size_t out = artifact.manifest.size() + artifact.config.size();
  for (const Blob& layer : artifact.layers) out += layer.bytes.size();
  return out;
}

Result<Artifact> ReadArtifact(const Json& json) {
  Artifact out;
  ODY_ASSIGN_OR_RETURN(out.manifest, BytesOf(json, "manifestBytes"));
  ODY_ASSIGN_OR_RETURN(out.config, BytesOf(json, "configBytes"));
  const auto layers = json.find("layers");
  if (layers == json.end() || !layers->is_array()) return InvalidArgument("layers: no list");
  // Twice as many as a bundle has: what is repeated or not expected is reported by its digest.
  if (layers->size() > 2 * oci::kMaxLayers) return ResourceExhausted("layers: too many");
  for (const Json& layer : *layers) {
    Blob blob;
    ODY_ASSIGN_OR_RETURN(blob.digest, TextOf(layer, "digest", Need::kRequired));
    ODY_ASSIGN_OR_RETURN(blob.bytes, BytesOf(layer, "bytes"));
    out.layers.push_back(std::move(blob));
  }
  ODY_ASSIGN_OR_RETURN(out.signature, TextOf(json, "signature", Need::kOptional));
  if (BytesIn(out) > kMaxArtifactBytes) {
    return ResourceExhausted("artifact exceeds maximum " + std::to_string(kMaxArtifactBytes) +
                             " bytes");
  }
  return out;
}

}  // namespace

std::string WritePublish(const Publish& publish) {
  Json json = {
      {"repository", publish.repository}, {"tag", publish.tag}, {"manifestDigest", publish.digest}};
  AddArtifact(publish.artifact, &json);
  json["metadata"] = Json::object();
  return json.dump();
}

std::string WritePull(const Pull& pull) {
  const auto or_null = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
  const Json json = {{"repository", pull.repository},
                     {"tag", or_null(pull.tag)},
                     {"digest", or_null(pull.digest)}};
  return json.dump();
}

std::string WritePulled(const Pulled& pulled) {
  Json json = Json::object();
  AddArtifact(pulled.artifact, &json);
  json["version"] = {{"version", pulled.version}, {"manifestDigest", pulled.digest}};
  return json.dump();
}

Result<Publish> ReadPublish(const std::string& body) {
  ODY_ASSIGN_OR_RETURN(const Json json, ParseBody(body));
  Publish out;
  ODY_ASSIGN_OR_RETURN(out.repository, TextOf(json, "repository", Need::kRequired));
  ODY_ASSIGN_OR_RETURN(out.tag, TextOf(json, "tag", Need::kRequired));
  ODY_ASSIGN_OR_RETURN(out.digest, TextOf(json, "manifestDigest", Need::kRequired));
  ODY_ASSIGN_OR_RETURN(out.artifact, ReadArtifact(json));
  return out;
}

Result<Pull> ReadPull(const std::string& body) {
  ODY_ASSIGN_OR_RETURN(const Json json, ParseBody(body));
  Pull out;
  ODY_ASSIGN_OR_RETURN(out.repository, TextOf(json, "repository", Need::kRequired));
  ODY_ASSIGN_OR_RETURN(out.tag, TextOf(json, "tag", Need::kOptional));
  ODY_ASSIGN_OR_RETURN(out.digest, TextOf(json, "digest", Need::kOptional));
  return out;
}

Result<Pulled> ReadPulled(const std::string& body) {
  ODY_ASSIGN_OR_RETURN(const Json json, ParseBody(body));
  Pulled out;
  ODY_ASSIGN_OR_RETURN(out.artifact, ReadArtifact(json));
  const Json version = json.value("version", Json());
  ODY_ASSIGN_OR_RETURN(out.version, TextOf(version, "version", Need::kRequired));
  ODY_ASSIGN_OR_RETURN(out.digest, TextOf(version, "manifestDigest", Need::kRequired));
  return out;
}

}  // namespace odyssey::artifact
