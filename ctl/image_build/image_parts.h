#ifndef ODYSSEY_CTL_IMAGE_BUILD_IMAGE_PARTS_H_
#define ODYSSEY_CTL_IMAGE_BUILD_IMAGE_PARTS_H_

// An image while it is built: the layers that it has so far, and its configuration. Pure.

#include <nlohmann/json.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "image/spec/image_spec.h"

namespace odyssey::ctl {

// The name of this machine's architecture, as images have it: "amd64".
std::string OwnArchitecture();

class ImageParts final {
 public:
  // Of FROM scratch.
  static ImageParts Empty();
  // INVALID_ARGUMENT: another architecture; ONBUILD, which would be left out.
  static Result<ImageParts> Read(std::string_view manifest, std::string_view config);

  const std::vector<image::Layer>& layers() const { return layers_; }
  // What CommitImage made: its layers in place of these, which it begins with.
  Status TakeLayers(std::string_view manifest, std::string_view config);
  // A plain tar.
  void AddLayer(const image::Blob& blob);

  std::map<std::string, std::string> Environment() const;
  std::string User() const { return Text("User"); }
  std::string WorkingDirectory() const { return Text("WorkingDir"); }

  void SetEnvironment(const std::string& name, const std::string& value);
  // "User", "WorkingDir", "StopSignal".
  void SetText(const char* key, const std::string& value);
  // "Cmd", "Entrypoint", "Shell".
  void SetList(const char* key, const std::vector<std::string>& value);
  void ForgetList(const char* key) { config_["config"].erase(key); }
  std::optional<std::vector<std::string>> List(const char* key) const;
  void SetLabel(const std::string& name, const std::string& value);
  // "ExposedPorts", "Volumes".
  void AddName(const char* key, const std::string& name);
  void SetAuthor(const std::string& author) { config_["author"] = author; }
  enum class Adds { kLayer, kNothing };
  void AddHistory(const std::string& created_by, Adds adds);

  struct Files {
    std::string manifest, config;
  };
  // The same parts give the same bytes: no time is in them.
  Files Encode() const;

 private:
  using Json = nlohmann::ordered_json;
  std::string Text(const char* key) const;

  std::vector<image::Layer> layers_;
  Json config_;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_IMAGE_BUILD_IMAGE_PARTS_H_
