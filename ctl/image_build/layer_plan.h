#ifndef ODYSSEY_CTL_IMAGE_BUILD_LAYER_PLAN_H_
#define ODYSSEY_CTL_IMAGE_BUILD_LAYER_PLAN_H_

// What a layer of files has to say of the directories that its files are in: overlayfs shows a
// directory as the uppermost layer has it, so one that the image has must come again as it is.

#include <map>
#include <set>
#include <string>

#include "common/base/status.h"
#include "ctl/image_build/image_tree.h"
#include "image/repack/repack.h"

namespace odyssey::ctl {

class LayerPlan final {
 public:
  explicit LayerPlan(ImageTree* tree) : tree_(tree) {}

  // Something will be at this path of the layer (relative, normal). INVALID_ARGUMENT: a directory
  // of the path is something else in the image, which the layer would hide.
  Status Add(const std::string& path, bool is_directory);

  // `above` and `kept` of the rules, for all that was added.
  void Complete(image::RepackRules* rules) const;

 private:
  Status Need(const std::string& directory);

  ImageTree* const tree_;
  std::set<std::string> needed_, own_, missing_;
  std::map<std::string, image::TarHeader> kept_;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_IMAGE_BUILD_LAYER_PLAN_H_
