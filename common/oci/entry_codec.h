#ifndef ODYSSEY_COMMON_OCI_ENTRY_CODEC_H_
#define ODYSSEY_COMMON_OCI_ENTRY_CODEC_H_

// Files in one stream: a magic line, u32le count, then for each file u32le length of the path, the
// path, u64le length of the content, the content. A bundle's layer and its `.odyssey` archive are
// two formats of it. Content passes in pieces: no file is ever in memory. Pure.

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace odyssey::oci {

inline constexpr size_t kMaxEntries = 16'384;
inline constexpr size_t kMaxPathBytes = 4'096;
inline constexpr uint64_t kMaxEntryBytes = 256 * 1024 * 1024;

// The magic, and the words of the errors.
struct EntryFormat {
  std::string_view magic;
  std::string_view bad_magic;
  std::string_view count, path, data;  // "X exceeds maximum N"
  std::string_view trailing;
  std::string_view entry;  // "X escapes destination: P"
};
inline constexpr EntryFormat kLayerFormat = {"ODYLP1\n",
                                             "invalid bundle payload header",
                                             "payload file count",
                                             "payload path length",
                                             "payload data length",
                                             "payload bundle contains trailing data",
                                             "payload entry"};
inline constexpr EntryFormat kArchiveFormat = {"ODYB1\n",
                                               "invalid bundle archive header",
                                               "archive entry count",
                                               "archive path length",
                                               "archive entry length",
                                               "bundle archive contains trailing data",
                                               "bundle archive entry"};

// What takes the files of a stream. An error of it ends the decoding.
class EntrySink {
 public:
  virtual ~EntrySink() = default;
  // `path` is relative, has no empty, "." or ".." component, is UTF-8, and comes once.
  virtual Status Begin(const std::string& path, uint64_t bytes) = 0;
  virtual Status Data(std::string_view bytes) = 0;
  virtual Status End() = 0;
};

class EntryDecoder final {
 public:
  // `sink` is borrowed; `format` is one of those above.
  EntryDecoder(const EntryFormat& format, EntrySink* sink);

  // The next bytes of the stream. Nothing may follow an error.
  Status Feed(std::string_view bytes);
  // Nothing follows: INVALID_ARGUMENT if more had to.
  Status Finish() const;

 private:
  enum class Step { kMagic, kCount, kPathLength, kPath, kDataLength, kData, kDone };

  size_t Wanted() const;
  Status TakeField();
  Status TakeCount(uint64_t count);
  Status TakePathLength(uint64_t length);
  Status TakeDataLength(uint64_t length);
  Status TakeData(std::string_view* bytes);
  Status EndEntry();
  Status Exceeds(std::string_view what, const std::string& maximum) const;

  const EntryFormat& format_;
  EntrySink* const sink_;
  Step step_ = Step::kMagic;
  std::string field_;  // bytes of the field that is being read
  size_t path_bytes_ = 0;
  uint64_t entries_left_ = 0;
  uint64_t data_left_ = 0;
  std::string path_;
  std::set<std::string> seen_;
};

// What stands before the first file, and before the content of each.
Result<std::string> EncodeHeader(const EntryFormat& format, size_t count);
Result<std::string> EncodeEntry(const EntryFormat& format, const std::string& path, uint64_t bytes);

// INVALID_ARGUMENT: not a path that Begin is called with.
Status CheckEntryPath(const EntryFormat& format, const std::string& path);

}  // namespace odyssey::oci

#endif  // ODYSSEY_COMMON_OCI_ENTRY_CODEC_H_
