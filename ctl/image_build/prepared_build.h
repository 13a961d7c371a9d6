#ifndef ODYSSEY_CTL_IMAGE_BUILD_PREPARED_BUILD_H_
#define ODYSSEY_CTL_IMAGE_BUILD_PREPARED_BUILD_H_

// A build of which everything is read and nothing is done: what a person is asked about, and what a
// cache is asked for, is what is built. PullMissing pulls the images that the store has not.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "ctl/image_build/build_context.h"
#include "ctl/image_build/build_store.h"
#include "ctl/image_build/image_builder.h"
#include "image/dockerfile/dockerfile.h"

namespace odyssey::ctl {

struct BuildFiles {
  std::string name;  // of the Dockerfile, for messages
  std::string text;
  std::string ignore_name;  // of the .dockerignore
  std::string ignore_text;  // "" if there is none
  UniqueFd directory;       // the context
};

class PreparedBuild final {
 public:
  // Looks the images up that are named, and reads the context. INVALID_ARGUMENT: `problems` has
  // what is wrong, "FILE:LINE: …" each; all other failures leave it empty. Pulls nothing.
  static Result<std::unique_ptr<PreparedBuild>> Make(BuildFiles files,
                                                     const BuildArguments& arguments,
                                                     const std::string& target, BuildStore* store,
                                                     int signals,
                                                     std::vector<std::string>* problems);

  // Whether images have to be pulled first. The key is not that of the build then.
  bool has_missing() const { return !missing_.empty(); }
  // Errors name the line. CANCELLED: by a signal, which stays pending.
  Status PullMissing(BuildStore* store);

  // Of the Dockerfile's bytes, the target, the context, the images that it begins with, the
  // arguments, and the way we build. Hex.
  std::string key() const;
  // "NAME (sha256:…)", of the images that it begins with; "NAME (pulled first)".
  std::vector<std::string> bases() const;

  // Returns the digest. No image is missing.
  Result<std::string> Build(BuildStore* store, const std::vector<std::string>& names, int signals,
                            const StepReport& report) const;

 private:
  // Where a missing image is named.
  struct Missing {
    int line = 0;
    std::string text;
  };

  PreparedBuild(std::string name, dockerfile::Dockerfile file, BuildScope scope, BuildPlan plan)
      : name_(std::move(name)),
        file_(std::move(file)),
        scope_(std::move(scope)),
        plan_(std::move(plan)) {}

  Status FindImages(BuildStore* store, std::vector<std::string>* problems);

  const std::string name_;
  const dockerfile::Dockerfile file_;
  const BuildScope scope_;
  const BuildPlan plan_;
  std::map<std::string, StoredImage> images_;
  std::map<std::string, Missing> missing_;
  std::optional<BuildContext> context_;
  std::string text_, target_;
  BuildArguments arguments_;
};

struct BuiltImage {
  std::string digest;
  bool cached = false;
};

// The image of the name `REPOSITORY:` and the first 24 digits of the key, if there is one, with the
// other names too; else builds it.
Result<BuiltImage> BuildOrFind(const PreparedBuild& build, const std::string& repository,
                               std::vector<std::string> names, bool use_cache, BuildStore* store,
                               int signals, const StepReport& report);

// The name that BuildOrFind gives.
std::string CacheName(const PreparedBuild& build, const std::string& repository);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_IMAGE_BUILD_PREPARED_BUILD_H_
