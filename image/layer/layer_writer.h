#ifndef ODYSSEY_IMAGE_LAYER_LAYER_WRITER_H_
#define ODYSSEY_IMAGE_LAYER_LAYER_WRITER_H_

// Makes the files of a layer below one directory. No call follows a link of the layer's: a path is
// opened by openat2 without links, and everything else is done by a name in an open directory.

#include <sys/types.h>
#include <time.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/os/unique_fd.h"

namespace odyssey::image {

// What a file of any type has.
struct Attributes {
  mode_t mode = 0;  // permissions, and the sticky bit; no set-id bit
  uid_t uid = 0;
  gid_t gid = 0;
  timespec modified{};
};

class LayerWriter final {
 public:
  // `root` is borrowed.
  explicit LayerWriter(int root) : root_(root) {}

  // Paths are normal (entry_path.h). What is at one already goes, unless both are directories.
  Status Directory(const std::string& path, const Attributes& attributes);
  // For its content; Finish gives it the attributes.
  Result<UniqueFd> File(const std::string& path);
  static Status Finish(int file, const Attributes& attributes, uint64_t size);
  Status Symlink(const std::string& path, const std::string& to, const Attributes& attributes);
  // `to`: a path of this layer. NOT_FOUND: there is no such file.
  Status HardLink(const std::string& path, const std::string& to);
  Status Fifo(const std::string& path, const Attributes& attributes);
  // That the layers below have no such name.
  Status Whiteout(const std::string& path);
  // That the layers below have nothing in the directory.
  Status Opaque(const std::string& path);

 private:
  struct Place {
    UniqueFd directory;
    std::string name;
  };
  // Parents that are missing are made, root's and 0755.
  Result<Place> Open(const std::string& path, bool replace);
  Result<UniqueFd> OpenDirectory(std::string_view path);

  const int root_;
};

}  // namespace odyssey::image

#endif  // ODYSSEY_IMAGE_LAYER_LAYER_WRITER_H_
