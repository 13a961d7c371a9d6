#ifndef ODYSSEY_CTL_IMAGE_IMAGE_SOURCE_H_
#define ODYSSEY_CTL_IMAGE_IMAGE_SOURCE_H_

// The images of a file or directory that a person has: an OCI layout, here or unpacked in a cell,
// or an archive of `docker save` in a cell.

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "ctl/image/image_cell.h"
#include "ctl/image/image_import.h"
#include "image/layout/layout_directory.h"

namespace odyssey::ctl {

// What an image is sent from.
struct ImageParts {
  std::string manifest, config;
  LayerSource layers;
};

class ImageSource {
 public:
  virtual ~ImageSource() = default;
  // Of each image the names that it has there; none, one or several.
  virtual const std::vector<std::vector<std::string>>& names() const = 0;
  // Valid as long as this object.
  virtual Result<ImageParts> Open(size_t image) = 0;
};

// `layers` gives what `files` has. Both outlive the source.
Result<std::unique_ptr<ImageSource>> OpenLayout(image::LayoutFiles* files, LayerSource layers,
                                                const image::Platform& platform);

// Of a layout in an open directory, which outlives the callback.
LayerSource LayersOf(image::LayoutDirectory* directory);

// `path`: of the archive in the cell, without ':', which ends a path for skopeo. Either kind.
Result<std::unique_ptr<ImageSource>> OpenArchive(ImageCell* cell, const std::string& path,
                                                 const image::Platform& platform);

// The names of each image of a `docker save`, by its manifest.json. Pure.
Result<std::vector<std::vector<std::string>>> ReadArchiveNames(std::string_view manifest);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_IMAGE_IMAGE_SOURCE_H_
