#ifndef ODYSSEY_SUPERVISOR_RPC_IMAGE_PROGRAMS_H_
#define ODYSSEY_SUPERVISOR_RPC_IMAGE_PROGRAMS_H_

// The named programs of images, found once: what an image's digest stands for never changes.
// Thread-safe.

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "policy/compile/found_executables.h"
#include "supervisor/rpc/layer_cells.h"

namespace odyssey::supervisor {

class ImagePrograms final {
 public:
  // Borrowed.
  explicit ImagePrograms(LayerCells* cells) : cells_(cells) {}

  // `names` as of executables::Finder::Find, whose errors it has. `layers` are those of the image
  // with this digest, and held. Blocking: a layer cell looks.
  Result<compile::FoundExecutables> Find(const std::string& digest,
                                         const std::vector<std::string>& layers,
                                         std::vector<std::string> names);

 private:
  using Question = std::pair<std::string, std::vector<std::string>>;  // digest and names

  LayerCells* const cells_;
  std::mutex mutex_;
  std::map<Question, compile::FoundExecutables> answers_;  // guarded by mutex_
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_IMAGE_PROGRAMS_H_
