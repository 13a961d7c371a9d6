#ifndef ODYSSEY_CTL_IMAGE_BUILD_BUILD_SCOPE_H_
#define ODYSSEY_CTL_IMAGE_BUILD_BUILD_SCOPE_H_

// The variables of a build: what --build-arg gives, ARG declares, and ENV sets over it. Pure.

#include <map>
#include <optional>
#include <string>

#include "common/base/status.h"
#include "ctl/image_build/image_parts.h"
#include "image/dockerfile/dockerfile.h"

namespace odyssey::ctl {

using BuildArguments = std::map<std::string, std::string>;

// INVALID_ARGUMENT: one that no ARG of the file declares, which would change nothing.
Status CheckBuildArguments(const dockerfile::Dockerfile& file, const BuildArguments& given);

class BuildScope final {
 public:
  // Above the first FROM: the platform's, and the file's own.
  static Result<BuildScope> Global(const dockerfile::Dockerfile& file, const BuildArguments& given);
  // Of a stage: nothing until it is declared.
  static BuildScope OfStage(const BuildScope& global);

  Status Declare(const dockerfile::Instruction& arg, const ImageParts* parts);
  // ENV counts before ARG.
  Result<std::string> Expand(const std::string& word, const ImageParts* parts) const;
  Result<std::string> ExpandContent(const std::string& text, const ImageParts* parts) const;

  // What commands have in their environment beside the image's.
  std::map<std::string, std::string> ForCommands(const ImageParts& parts) const;

 private:
  BuildScope(char escape, const BuildArguments& given) : escape_(escape), given_(given) {}
  std::optional<std::string> Find(const std::string& name, const ImageParts* parts) const;

  char escape_;
  BuildArguments given_;
  std::map<std::string, std::string> values_;
  std::map<std::string, std::string> global_;  // of a stage: what Declare takes up
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_IMAGE_BUILD_BUILD_SCOPE_H_
