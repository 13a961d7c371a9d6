#ifndef ODYSSEY_CTL_IMAGE_BUILD_BUILD_STORE_H_
#define ODYSSEY_CTL_IMAGE_BUILD_BUILD_STORE_H_

// What a build needs of the supervisor. A seam: tests have one in memory.

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "image/spec/image_spec.h"

namespace odyssey::ctl {

struct StoredImage {
  std::string digest;  // of the manifest
  std::vector<std::string> names;
  std::string manifest, config;
};

struct NewLayer {
  image::Blob blob;
  int file = -1;  // at its beginning. Borrowed.
};

// One RUN.
struct BuildCommand {
  std::string image;  // digest
  std::string user;
  std::map<std::string, std::string> environment;  // beside the image's
  std::string directory;
  std::vector<std::string> argv;
  std::string comment;  // of the layer
};

struct CommandResult {
  int exit_code = 0;
  std::string failure;  // of a command that did not exit by itself: what happened, for people
  std::string image;    // digest of what came of it; "": the command failed
};

class BuildStore {
 public:
  virtual ~BuildStore() = default;

  // NOT_FOUND: there is no such image.
  virtual Result<StoredImage> Inspect(const std::string& reference) = 0;
  // Whether an image that is not there may be pulled.
  virtual bool MayPull(const std::string& reference) const = 0;
  // CANCELLED: by a signal, which stays pending.
  virtual Status Pull(const std::string& reference) = 0;
  // `name` may be "". `layer`: the only one that the store may want; null: none is new. Returns the
  // digest.
  virtual Result<std::string> Import(const std::string& name, const std::string& manifest,
                                     const std::string& config, const NewLayer* layer) = 0;
  // The tar of what is at an absolute path. A sink that returns false has enough. NOT_FOUND: there
  // is nothing, or a link is on the way.
  virtual Status ReadFiles(const std::string& image, const std::string& path,
                           const std::function<Result<bool>(std::string_view)>& sink) = 0;
  virtual Status Remove(const std::string& reference) = 0;
  // Runs it to its end in a cell of its own, which is gone when this returns.
  virtual Result<CommandResult> Run(const BuildCommand& command) = 0;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_IMAGE_BUILD_BUILD_STORE_H_
