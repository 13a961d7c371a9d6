#ifndef ODYSSEY_CTL_BACKUP_TAR_STREAM_H_
#define ODYSSEY_CTL_BACKUP_TAR_STREAM_H_

// The part of tar that a backup is: directories and regular files in ustar headers, and names of
// more than 100 bytes in GNU's long name entries. tar(1) reads what is written; of what tar(1)
// writes, all other kinds of entries are refused.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace odyssey::ctl {

inline constexpr uint64_t kMaxTarFileBytes = (uint64_t{8} << 30) - 1;  // 11 octal digits
inline constexpr size_t kMaxTarName = 4096;

struct TarEntry {
  std::string name;  // relative, without a final slash
  bool directory = false;
  mode_t mode = 0600;  // permission bits
  uint64_t size = 0;
  int64_t mtime = 0;
};

// INVALID_ARGUMENT: absolute, or with an empty, "." or ".." component or a control character.
Status CheckTarName(const std::string& name);

// Borrows the descriptor. Blocks.
class TarWriter final {
 public:
  explicit TarWriter(int fd) : fd_(fd) {}
  // Exactly `entry.size` bytes of Data follow, then End.
  Status Begin(const TarEntry& entry);
  Status Data(std::string_view bytes);
  Status End();
  // The end of the archive.
  Status Finish();

 private:
  Status Header(const TarEntry& entry, char type, const std::string& name);

  const int fd_;
  uint64_t left_ = 0;
  uint64_t written_ = 0;  // of the entry
};

class TarReader final {
 public:
  explicit TarReader(int fd) : fd_(fd) {}
  // The next file or directory, after the data of the one before has been read; nullopt at the end
  // of the archive. INVALID_ARGUMENT names an entry that is neither or whose name is refused.
  Result<std::optional<TarEntry>> Next();
  // Up to 64 KiB of the entry's data; empty when there is no more.
  Result<std::string> Data();

 private:
  Result<std::string> Read(size_t bytes);
  Status SkipPadding();

  const int fd_;
  uint64_t left_ = 0;
  uint64_t padding_ = 0;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_BACKUP_TAR_STREAM_H_
