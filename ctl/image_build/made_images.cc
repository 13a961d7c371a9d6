#include "ctl/image_build/made_images.h"

#include "common/base/sha256.h"

namespace odyssey::ctl {

MadeImages::~MadeImages() {
  for (const std::string& digest : made_) {
    const Result<StoredImage> image = store_->Inspect(digest);
    // An image that another command has named meanwhile stays.
    if (image.ok() && image->names.empty()) (void)store_->Remove(digest);
  }
}

Result<std::string> MadeImages::Import(const std::string& manifest, const std::string& config,
                                       const NewLayer* layer) {
  const std::string digest = "sha256:" + Sha256Hex(manifest);
  const Result<StoredImage> before = store_->Inspect(digest);
  if (before.ok()) return before->digest;
  if (before.status().code() != Code::kNotFound) return before.status();
  // Before it is there: a call that is cancelled may have done its work.
  Note(digest);
  return store_->Import("", manifest, config, layer);
}

}  // namespace odyssey::ctl
