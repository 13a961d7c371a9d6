#ifndef ODYSSEY_CTL_IMAGE_BUILD_MADE_IMAGES_H_
#define ODYSSEY_CTL_IMAGE_BUILD_MADE_IMAGES_H_

#include <set>
#include <string>

#include "common/base/status.h"
#include "ctl/image_build/build_store.h"

namespace odyssey::ctl {

// Images without a name that a build makes on its way. They are removed with this object, but for
// those that the store had before.
class MadeImages final {
 public:
  explicit MadeImages(BuildStore* store) : store_(store) {}
  ~MadeImages();
  MadeImages(const MadeImages&) = delete;
  MadeImages& operator=(const MadeImages&) = delete;

  // As BuildStore::Import without a name.
  Result<std::string> Import(const std::string& manifest, const std::string& config,
                             const NewLayer* layer);
  // Made by another call.
  void Note(const std::string& digest) { made_.insert(digest); }
  // It is the result.
  void Keep(const std::string& digest) { made_.erase(digest); }

 private:
  BuildStore* const store_;
  std::set<std::string> made_;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_IMAGE_BUILD_MADE_IMAGES_H_
