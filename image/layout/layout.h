#ifndef ODYSSEY_IMAGE_LAYOUT_LAYOUT_H_
#define ODYSSEY_IMAGE_LAYOUT_LAYOUT_H_

// An OCI image layout: index.json, and in blobs/sha256 what it names, by digest. Written by
// strangers. Nothing is believed of a manifest or an index whose bytes are not its digest's; config
// and layers are checked where they are taken.

#include <string>
#include <vector>

#include "common/base/status.h"
#include "image/spec/image_spec.h"

namespace odyssey::image {

inline constexpr char kIndexName[] = "index.json";

// Where the files of a layout are.
class LayoutFiles {
 public:
  virtual ~LayoutFiles() = default;
  // The whole file, at most `max_bytes`; a larger one is RESOURCE_EXHAUSTED. `name` as above.
  virtual Result<std::string> Read(const std::string& name, size_t max_bytes) = 0;
};

struct LayoutImage {
  std::string name;  // "": the layout has none for it
  Blob manifest;
  friend bool operator==(const LayoutImage&, const LayoutImage&) = default;
};

// "blobs/sha256/HEX". `digest` is one.
std::string BlobName(const std::string& digest);

// The blob, of at most `max_bytes`. INVALID_ARGUMENT: it has another size or digest.
Result<std::string> ReadBlob(LayoutFiles* files, const Blob& blob, size_t max_bytes);

// The layout's images, in its order: of what has one name, the manifest of that platform.
// NOT_FOUND: one has none, and which platforms there are. INVALID_ARGUMENT: it is no layout, or one
// of more images, or of indexes in indexes, than is taken.
Result<std::vector<LayoutImage>> FindImages(LayoutFiles* files, const Platform& platform);

}  // namespace odyssey::image

#endif  // ODYSSEY_IMAGE_LAYOUT_LAYOUT_H_
