#ifndef ODYSSEY_IMAGE_LAYER_PACK_H_
#define ODYSSEY_IMAGE_LAYER_PACK_H_

// Packs files into a tar (POSIX pax, not compressed), in the order of their names: equal files give
// equal bytes. Owners and modes are those that the caller sees. Sockets are left out, and extended
// attributes. What a cell left there is hostile: no link is followed.

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "image/layer/layer.h"

namespace odyssey::image {

struct PackStats {
  uint64_t entries = 0;
  uint64_t bytes = 0;  // of files
};

// The layer that `directory` is, an upper one of overlayfs (mounted with `userxattr`): a character
// device 0:0 becomes a whiteout, `user.overlay.opaque` an opaque one. `leave_out`: paths without a
// slash in front, with all below them. Both descriptors are borrowed. INVALID_ARGUMENT: `entry
// "NAME": why`, of a device, or of a name that would be a whiteout; RESOURCE_EXHAUSTED: the bound.
Result<PackStats> PackLayer(int directory, int file, const std::vector<std::string>& leave_out,
                            const Bounds& bounds);

// What is at `path`, absolute and normal, and below it, in the file system of `root`: what is
// mounted there is left out. What is at the path has its last component as name, "." of "/".
// NOT_FOUND names the path.
Result<PackStats> PackFiles(int root, const std::string& path, int file, const Bounds& bounds);

}  // namespace odyssey::image

#endif  // ODYSSEY_IMAGE_LAYER_PACK_H_
