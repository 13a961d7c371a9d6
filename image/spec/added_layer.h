#ifndef ODYSSEY_IMAGE_SPEC_ADDED_LAYER_H_
#define ODYSSEY_IMAGE_SPEC_ADDED_LAYER_H_

// An image made of another and one layer more: its manifest and configuration. Pure.

#include <string>
#include <string_view>

#include "common/base/status.h"
#include "image/spec/image_spec.h"

namespace odyssey::image {

struct AddedLayer {
  Blob blob;               // a plain tar, so that its digest is its diff_id too
  std::string created_at;  // RFC 3339
  std::string created_by;  // of its entry in the history
  std::string comment;
};

struct ImageFiles {
  std::string manifest, config;
};

// Both as they are but for what the layer adds. INVALID_ARGUMENT names the key;
// RESOURCE_EXHAUSTED: there would be more than kMaxLayers. `digest_of` gives the "sha256:…" of a
// text.
Result<ImageFiles> AddLayer(const ImageFiles& base, const AddedLayer& layer,
                            std::string (*digest_of)(std::string_view));

}  // namespace odyssey::image

#endif  // ODYSSEY_IMAGE_SPEC_ADDED_LAYER_H_
