#ifndef ODYSSEY_IMAGE_LAYOUT_LAYOUT_DIRECTORY_H_
#define ODYSSEY_IMAGE_LAYOUT_LAYOUT_DIRECTORY_H_

#include <string>

#include "common/os/unique_fd.h"
#include "image/layout/layout.h"

namespace odyssey::image {

// A layout in a directory here. Regular files alone, below the directory, through no link: whoever
// made it could lead a reader with more rights elsewhere.
class LayoutDirectory final : public LayoutFiles {
 public:
  // `directory` is borrowed; O_PATH will do.
  explicit LayoutDirectory(int directory) : directory_(directory) {}

  Result<std::string> Read(const std::string& name, size_t max_bytes) override;
  // INVALID_ARGUMENT: it has another size than `blob`.
  Result<UniqueFd> OpenBlob(const Blob& blob);

 private:
  Result<UniqueFd> Open(const std::string& name, uint64_t* size);

  const int directory_;
};

}  // namespace odyssey::image

#endif  // ODYSSEY_IMAGE_LAYOUT_LAYOUT_DIRECTORY_H_
