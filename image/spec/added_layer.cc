#include "image/spec/added_layer.h"

#include <nlohmann/json.hpp>

namespace odyssey::image {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kDockerManifest[] = "application/vnd.docker.distribution.manifest.v2+json";
constexpr char kDockerTar[] = "application/vnd.docker.image.rootfs.diff.tar";
constexpr char kOciTar[] = "application/vnd.oci.image.layer.v1.tar";

Result<std::string> AddToConfig(const std::string& text, const AddedLayer& layer) {
  Json config = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!config.is_object()) return InvalidArgument("config: is no JSON object");
  config["rootfs"]["diff_ids"].push_back(layer.blob.digest);
  config["created"] = layer.created_at;
  Json& history = config["history"];
  if (!history.is_array()) history = Json::array();
  Json entry = {{"created", layer.created_at}, {"created_by", layer.created_by}};
  if (!layer.comment.empty()) entry["comment"] = layer.comment;
  history.push_back(std::move(entry));
  return config.dump();
}

Result<std::string> AddToManifest(const std::string& text, const AddedLayer& layer,
                                  const Blob& config) {
  Json manifest = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!manifest.is_object()) return InvalidArgument("manifest: is no JSON object");
  const auto type = manifest.find("mediaType");
  const bool docker = type != manifest.end() && *type == kDockerManifest;
  manifest["config"]["digest"] = config.digest;
  manifest["config"]["size"] = config.size;
  manifest["layers"].push_back({{"mediaType", docker ? kDockerTar : kOciTar},
                                {"digest", layer.blob.digest},
                                {"size", layer.blob.size}});
  return manifest.dump();
}

}  // namespace

Result<ImageFiles> AddLayer(const ImageFiles& base, const AddedLayer& layer,
                            std::string (*digest_of)(std::string_view)) {
  // What is added to has been read before, and so has the shape that is relied on here.
  ODY_ASSIGN_OR_RETURN(const Manifest manifest, ReadManifest(base.manifest));
  ODY_RETURN_IF_ERROR(ReadConfig(base.config).status());
  if (manifest.layers.size() >= kMaxLayers) {
    return ResourceExhausted("layers: an image has at most " + std::to_string(kMaxLayers));
  }
  ImageFiles out;
  ODY_ASSIGN_OR_RETURN(out.config, AddToConfig(base.config, layer));
  ODY_ASSIGN_OR_RETURN(out.manifest, AddToManifest(base.manifest, layer,
                                                   {digest_of(out.config), out.config.size()}));
  return out;
}

}  // namespace odyssey::image
