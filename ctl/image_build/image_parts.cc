#include "ctl/image_build/image_parts.h"

#include <sys/utsname.h>

#include <iterator>
#include <utility>

#include "common/base/sha256.h"

namespace odyssey::ctl {
namespace {

constexpr char kManifestType[] = "application/vnd.oci.image.manifest.v1+json";
constexpr char kConfigType[] = "application/vnd.oci.image.config.v1+json";
constexpr char kLayerType[] = "application/vnd.oci.image.layer.v1.tar";

std::string LayerType(image::Packing packing) {
  switch (packing) {
    case image::Packing::kGzip:
      return std::string(kLayerType) + "+gzip";
    case image::Packing::kZstd:
      return std::string(kLayerType) + "+zstd";
    case image::Packing::kNone:
      break;
  }
  return kLayerType;
}

}  // namespace

std::string OwnArchitecture() {
  struct utsname name {};
  if (uname(&name) != 0) return "";
  const std::string machine = name.machine;
  constexpr std::pair<const char*, const char*> kNames[] = {
      {"x86_64", "amd64"}, {"aarch64", "arm64"}, {"i686", "386"}, {"armv7l", "arm"}};
  for (const auto& [kernel, image] : kNames) {
    if (machine == kernel) return image;
  }
  return machine;  // riscv64, ppc64le, s390x
}

ImageParts ImageParts::Empty() {
  ImageParts parts;
  parts.config_ = {{"architecture", OwnArchitecture()},
                   {"os", "linux"},
                   {"config", Json::object()},
                   {"rootfs", {{"type", "layers"}, {"diff_ids", Json::array()}}},
                   {"history", Json::array()}};
  return parts;
}

Result<ImageParts> ImageParts::Read(std::string_view manifest, std::string_view config) {
  ODY_ASSIGN_OR_RETURN(const image::Manifest read, image::ReadManifest(manifest));
  ODY_ASSIGN_OR_RETURN(const image::Config checked, image::ReadConfig(config));
  if (checked.architecture != OwnArchitecture() || checked.os != "linux") {
    return InvalidArgument("is of " + checked.os + "/" + checked.architecture +
                           ", and this machine is linux/" + OwnArchitecture());
  }
  ImageParts parts;
  parts.layers_ = read.layers;
  parts.config_ = Json::parse(config, nullptr, /*allow_exceptions=*/false);
  ODY_CHECK(parts.config_.is_object());  // as ReadConfig has found
  Json& inner = parts.config_["config"];
  if (!inner.is_object()) inner = Json::object();
  const auto triggers = inner.find("OnBuild");
  if (triggers != inner.end() && triggers->is_array() && !triggers->empty()) {
    return InvalidArgument("has ONBUILD instructions, which are not supported");
  }
  if (!parts.config_["history"].is_array()) parts.config_["history"] = Json::array();
  // Of the parent, and of when that was made.
  parts.config_.erase("created");
  parts.config_.erase("container");
  parts.config_.erase("container_config");
  return parts;
}

Status ImageParts::TakeLayers(std::string_view manifest, std::string_view config) {
  ODY_ASSIGN_OR_RETURN(image::Manifest read, image::ReadManifest(manifest));
  ODY_ASSIGN_OR_RETURN(image::Config checked, image::ReadConfig(config));
  layers_ = std::move(read.layers);
  config_["rootfs"]["diff_ids"] = std::move(checked.diff_ids);
  return OkStatus();
}

void ImageParts::AddLayer(const image::Blob& blob) {
  layers_.push_back({blob, image::Packing::kNone});
  config_["rootfs"]["diff_ids"].push_back(blob.digest);
}

std::string ImageParts::Text(const char* key) const {
  const auto& inner = config_.at("config");
  const auto found = inner.find(key);
  return found != inner.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::optional<std::vector<std::string>> ImageParts::List(const char* key) const {
  const auto& inner = config_.at("config");
  const auto found = inner.find(key);
  if (found == inner.end() || !found->is_array()) return std::nullopt;
  std::vector<std::string> out;
  for (const Json& item : *found) {
    if (item.is_string()) out.push_back(item.get<std::string>());
  }
  return out;
}

std::map<std::string, std::string> ImageParts::Environment() const {
  std::map<std::string, std::string> out;
  for (const std::string& entry : List("Env").value_or(std::vector<std::string>())) {
    const size_t equals = entry.find('=');
    if (equals != std::string::npos) out[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  return out;
}

void ImageParts::SetEnvironment(const std::string& name, const std::string& value) {
  Json& list = config_["config"]["Env"];
  if (!list.is_array()) list = Json::array();
  for (Json& item : list) {
    if (!item.is_string() || !item.get_ref<const std::string&>().starts_with(name + "=")) continue;
    item = name + "=" + value;
    return;
  }
  list.push_back(name + "=" + value);
}

void ImageParts::SetText(const char* key, const std::string& value) {
  config_["config"][key] = value;
}

void ImageParts::SetList(const char* key, const std::vector<std::string>& value) {
  config_["config"][key] = value;
}

void ImageParts::SetLabel(const std::string& name, const std::string& value) {
  Json& labels = config_["config"]["Labels"];
  if (!labels.is_object()) labels = Json::object();
  labels[name] = value;
}

void ImageParts::AddName(const char* key, const std::string& name) {
  Json& names = config_["config"][key];
  if (!names.is_object()) names = Json::object();
  names[name] = Json::object();
}

void ImageParts::AddHistory(const std::string& created_by, Adds adds) {
  Json entry = {{"created_by", created_by}};
  if (adds == Adds::kNothing) entry["empty_layer"] = true;
  config_["history"].push_back(std::move(entry));
}

ImageParts::Files ImageParts::Encode() const {
  Files files;
  files.config = config_.dump(-1, ' ', false, Json::error_handler_t::replace);
  Json manifest = {{"schemaVersion", 2},
                   {"mediaType", kManifestType},
                   {"config",
                    {{"mediaType", kConfigType},
                     {"digest", "sha256:" + Sha256Hex(files.config)},
                     {"size", files.config.size()}}},
                   {"layers", Json::array()}};
  for (const image::Layer& layer : layers_) {
    manifest["layers"].push_back({{"mediaType", LayerType(layer.packing)},
                                  {"digest", layer.blob.digest},
                                  {"size", layer.blob.size}});
  }
  files.manifest = manifest.dump();
  return files;
}

}  // namespace odyssey::ctl
