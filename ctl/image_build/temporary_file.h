#ifndef ODYSSEY_CTL_IMAGE_BUILD_TEMPORARY_FILE_H_
#define ODYSSEY_CTL_IMAGE_BUILD_TEMPORARY_FILE_H_

#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "image/spec/image_spec.h"

namespace odyssey::ctl {

// Without a name, in TMPDIR or /tmp: it is gone with its last descriptor.
Result<UniqueFd> MakeTemporaryFile();

// The whole file's digest and size. It stands at its beginning afterwards.
Result<image::Blob> BlobOf(int file);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_IMAGE_BUILD_TEMPORARY_FILE_H_
