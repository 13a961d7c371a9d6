#ifndef ODYSSEY_IMAGE_LAYER_LAYER_H_
#define ODYSSEY_IMAGE_LAYER_LAYER_H_

// Unpacks a layer of a container image: the tar of what it changes in the layers below, into a
// directory that overlayfs can take as one of its lower ones (mounted with `userxattr`).
//
// Runs without a right of the host: as root of a user namespace in which the uids and gids
// 0..kMaxId are mapped, with the directory the only place that it can write to. The tar is hostile.

#include <cstdint>
#include <string>

#include "common/base/status.h"

namespace odyssey::image {

inline constexpr uint32_t kMaxId = 65'535;

// What a layer may be at most.
struct Bounds {
  uint64_t entries = 1'000'000;
  uint64_t bytes = uint64_t{16} << 30;  // of all files, as they are written; of one file, its size
  // Bytes of files for each byte of the packed tar. Text packs about 10 to 1, and gzip cannot do
  // more than 1032; below `free_bytes` it does not count, as of a small layer with one large file.
  uint64_t ratio = 200;
  uint64_t free_bytes = uint64_t{64} << 20;
  uint32_t path_bytes = 4095;  // PATH_MAX without its NUL
  uint32_t depth = 256;        // components of a path
};

struct LayerStats {
  uint64_t entries = 0;
  uint64_t bytes = 0;         // that were written
  uint64_t whiteouts = 0;     // names of lower layers that are gone
  uint64_t set_id_files = 0;  // whose set-id bits were left out
};

// Reads the tar of `file` (plain, gzip or zstd) to its end. Both are borrowed; `directory` is
// empty. Not written: set-id bits, and extended attributes. INVALID_ARGUMENT: `entry "NAME": why`,
// of a path that leaves, a device, a link that has no target here, an owner beyond kMaxId, a name
// that overlayfs takes for its own; RESOURCE_EXHAUSTED: the bound. What was written before that
// stays.
Result<LayerStats> UnpackLayer(int file, int directory, const Bounds& bounds);

}  // namespace odyssey::image

#endif  // ODYSSEY_IMAGE_LAYER_LAYER_H_
