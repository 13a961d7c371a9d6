#ifndef ODYSSEY_CTL_IMAGE_BUILD_IMAGE_TREE_H_
#define ODYSSEY_CTL_IMAGE_BUILD_IMAGE_TREE_H_

// What an image has at its paths. Links are followed as they would be inside the image's root: the
// image is hostile, and no path of it is ever one of the host.

#include <map>
#include <optional>
#include <string>

#include "common/base/status.h"
#include "ctl/image_build/build_store.h"
#include "image/repack/tar_writer.h"

namespace odyssey::ctl {

class ImageTree final {
 public:
  // `image`: a digest; "": FROM scratch, which has nothing. `store` outlives the tree.
  ImageTree(BuildStore* store, std::string image, int signals)
      : store_(store), image_(std::move(image)), signals_(signals) {}

  const std::string& image() const { return image_; }

  // What is at a path, whose directories are no links; nothing: there is nothing. "/" is a
  // directory.
  Result<std::optional<image::TarHeader>> Look(const std::string& path);

  struct Found {
    std::string path;                        // absolute, without links on the way
    std::optional<image::TarHeader> header;  // nothing: there is nothing at `path`
  };
  // Follows links, also of the last component. What is not there has no links.
  // INVALID_ARGUMENT: a directory on the way is none; too many links.
  Result<Found> Resolve(const std::string& path);

  // A file's content. NOT_FOUND; RESOURCE_EXHAUSTED: it is larger.
  Result<std::string> ReadContent(const std::string& path, size_t max_bytes);

 private:
  BuildStore* const store_;
  const std::string image_;
  const int signals_;
  std::map<std::string, std::optional<image::TarHeader>> known_;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_IMAGE_BUILD_IMAGE_TREE_H_
