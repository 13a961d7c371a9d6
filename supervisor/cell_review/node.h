#ifndef ODYSSEY_SUPERVISOR_CELL_REVIEW_NODE_H_
#define ODYSSEY_SUPERVISOR_CELL_REVIEW_NODE_H_

// What is at a path of a layer: a value, and what of it is compared.

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include <string>

namespace odyssey::cell_review {

enum class Kind : uint8_t {
  kNone,
  kFile,
  kDirectory,
  kSymlink,
  kPipe,
  kSocket,
  kDevice,
  kWhiteout,    // of the upper layer: the lower one's entry is deleted
  kUnreadable,  // a file or directory that its own mode closes to this process
};

struct Node {
  Kind kind = Kind::kNone;
  mode_t mode = 0;  // st_mode
  uint64_t size = 0;
  uint64_t inode = 0;
  uint32_t links = 1;
  int64_t changed = 0;  // ctime, nanoseconds since 1970
  int64_t born = 0;     // birth time, or ctime where the file system does not know it
  timespec modified{};  // mtime
  std::string link;     // of a symbolic link
};

// The part of a node that two layers are compared by. Two with the same `print` have the same
// content: a file's sha256, or of a large one size, time and both ends; a link's text.
struct State {
  Kind kind = Kind::kNone;
  uint32_t mode = 0;  // permission bits; 0 for links
  uint64_t size = 0;
  std::string print;
  friend bool operator==(const State&, const State&) = default;
};

// Set-user-ID, set-group-ID, sticky and permission bits.
inline constexpr mode_t kModeBits = 07777;

}  // namespace odyssey::cell_review

#endif  // ODYSSEY_SUPERVISOR_CELL_REVIEW_NODE_H_
