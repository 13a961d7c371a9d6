#ifndef ODYSSEY_AGENTD_PACKAGE_LAYOUT_DIRECTORY_H_
#define ODYSSEY_AGENTD_PACKAGE_LAYOUT_DIRECTORY_H_

// A bundle in OCI image layout, in a directory that only this process writes: oci-layout,
// index.json and blobs/sha256/HEX. Does file I/O, in pieces: no blob but config and manifest is
// ever in memory.

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "common/base/sha256.h"
#include "common/base/status.h"
#include "common/oci/entry_codec.h"
#include "common/oci/layout.h"
#include "common/os/unique_fd.h"

namespace odyssey::package {

using ByteSink = std::function<Status(std::string_view)>;

// What index.json leads to, checked: digests, sizes and names.
struct Parts {
  oci::Descriptor manifest_blob;
  std::string manifest_text;  // its sha256 is the bundle's digest
  oci::Manifest manifest;
  oci::Config config;
};

// A blob on its way into a directory.
class BlobWriter final {
 public:
  BlobWriter(std::string directory, UniqueFd fd, std::string path);
  // Removes what was not committed.
  ~BlobWriter();

  Status Write(std::string_view bytes);
  // Gives the blob its name. `expected`, unless empty, is the hex that it must have:
  // INVALID_ARGUMENT "blob bytes do not match digest D".
  Result<oci::Descriptor> Commit(const std::string& expected = "");

 private:
  const std::string directory_;
  UniqueFd fd_;
  std::string path_;  // empty: committed
  Sha256 hash_;
  uint64_t size_ = 0;
};

class LayoutDirectory final {
 public:
  // Of a directory that is there.
  explicit LayoutDirectory(std::string path) : path_(std::move(path)) {}
  // Makes it, with oci-layout.
  static Result<LayoutDirectory> Create(const std::string& path);

  const std::string& path() const { return path_; }
  std::string BlobPath(const std::string& hex) const;

  Result<std::unique_ptr<BlobWriter>> NewBlob() const;
  // A small blob at once.
  Result<oci::Descriptor> AddBlob(std::string_view bytes, const std::string& expected = "") const;
  // For reading. INVALID_ARGUMENT: not there, or of another size.
  Result<UniqueFd> OpenBlob(const oci::Descriptor& blob) const;
  // The content of a blob of at most `max_bytes`; its digest is checked.
  Result<std::string> ReadBlob(const oci::Descriptor& blob, size_t max_bytes) const;

  // Writes index.json. The manifest is a blob of the directory.
  Status SetManifest(const oci::Descriptor& manifest, const std::string& ref_name) const;
  Result<Parts> ReadParts() const;
  Result<Parts> ReadPartsOf(const oci::Descriptor& manifest) const;

  // The `.odyssey` archive of it.
  Status WriteArchive(const Parts& parts, const ByteSink& sink) const;

 private:
  std::string path_;
};

// Takes an archive apart into a layout directory.
class ArchiveReceiver final : public oci::EntrySink {
 public:
  explicit ArchiveReceiver(const LayoutDirectory* layout);

  Status Feed(std::string_view bytes) { return decoder_.Feed(bytes); }
  Status Finish() const { return decoder_.Finish(); }

  Status Begin(const std::string& path, uint64_t bytes) override;
  Status Data(std::string_view bytes) override;
  Status End() override;

 private:
  const LayoutDirectory* const layout_;
  oci::EntryDecoder decoder_;
  std::unique_ptr<BlobWriter> blob_;
  std::string name_;  // of the entry
  std::string text_;  // of one that is no blob
};

// The digests of manifest, config and layers.
std::set<std::string> BlobsOf(const Parts& parts);

// Every byte of an open file.
Status ReadInPieces(int fd, const std::string& shown, const ByteSink& sink);

}  // namespace odyssey::package

#endif  // ODYSSEY_AGENTD_PACKAGE_LAYOUT_DIRECTORY_H_
