#ifndef ODYSSEY_IMAGE_REPACK_TAR_WRITER_H_
#define ODYSSEY_IMAGE_REPACK_TAR_WRITER_H_

// A layer as a tar (POSIX pax, not compressed), written entry by entry.

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/status.h"

struct archive;
struct archive_entry;

namespace odyssey::image {

struct TarHeader {
  std::string path;    // relative, normal
  mode_t type = 0;     // S_IFDIR, S_IFREG, S_IFLNK or S_IFIFO
  mode_t mode = 0755;  // permission bits, and the sticky one
  uint32_t uid = 0, gid = 0;
  uint64_t size = 0;  // of S_IFREG
  int64_t mtime = 0;
  std::string link;        // of S_IFLNK; or the path of an entry above that is the same file
  bool hard_link = false;  // the latter
  friend bool operator==(const TarHeader&, const TarHeader&) = default;
};

class TarWriter final {
 public:
  // Borrows the descriptor.
  explicit TarWriter(int file);
  ~TarWriter();
  TarWriter(const TarWriter&) = delete;
  TarWriter& operator=(const TarWriter&) = delete;

  // INVALID_ARGUMENT: a name that says something of the layers below, ".wh.…".
  Status Begin(const TarHeader& header);
  // `size` bytes in all follow a file's header.
  Status Data(std::string_view bytes);
  // The end of the tar.
  Status Finish();

 private:
  Status Failed() const;

  archive* const writer_;
  archive_entry* const entry_;
};

}  // namespace odyssey::image

#endif  // ODYSSEY_IMAGE_REPACK_TAR_WRITER_H_
