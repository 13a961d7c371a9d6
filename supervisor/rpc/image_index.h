#ifndef ODYSSEY_SUPERVISOR_RPC_IMAGE_INDEX_H_
#define ODYSSEY_SUPERVISOR_RPC_IMAGE_INDEX_H_

// The records of the image store on disk: files of the rpc user's own directory `images`, each of
// which is written whole. The layers' own files are root's. Thread-safe, except Open; one call at a
// time for a record.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "supervisor/rpc/cell_key.h"
#include "supervisor/rpc/image_signature.h"
#include "supervisor/rpc/record_files.h"
#include "supervisor/wire/layer_wire.h"

namespace odyssey::supervisor {

struct StoredLayer {
  std::string name;    // in plan::kLayersTree
  std::string digest;  // "sha256:…" of its packed bytes
  bool whole = false;  // its files are all there
  uint64_t bytes = 0;  // packed
  uint64_t unpacked_bytes = 0, entries = 0, set_id_files = 0;
  std::set<uint32_t> senders;  // that have shown that they have its bytes
  layer::AccountFile passwd, group;
  friend bool operator==(const StoredLayer&, const StoredLayer&) = default;
};

struct StoredImage {
  std::string digest;  // of its manifest
  uint32_t owner_uid = 0;
  std::string config_digest;
  std::vector<std::string> layers;  // digests, the lowest first
  std::string created_at;
  std::vector<ImageSignature> signatures;
  bool removed = false;  // has no name any more; cells have it
  friend bool operator==(const StoredImage&, const StoredImage&) = default;
};

// Which image a cell has that lasts.
struct ImageUse {
  CellKey key;
  uint32_t owner_uid = 0;
  std::string reference;  // as it was asked for
  uint32_t image_owner_uid = 0;
  std::string digest;
  friend bool operator==(const ImageUse&, const ImageUse&) = default;
};

using ImageNames = std::map<std::string, std::string>;  // "NAME:TAG" → digest

class ImageIndex final {
 public:
  // Makes `images` in `directory`, which is borrowed for the call.
  static Result<ImageIndex> Open(int directory);

  // On disk when they return OK; what is not there is erased already.
  Status Save(const StoredLayer& layer) const;
  Status Save(const StoredImage& image) const;
  Status Save(const ImageUse& use) const;
  Status SaveNames(uint32_t owner_uid, const ImageNames& names) const;
  Status SaveBlob(const std::string& digest, std::string_view bytes) const;
  Status Erase(const StoredLayer& layer) const;
  Status Erase(const StoredImage& image) const;
  Status Erase(const ImageUse& use) const;
  Status EraseBlob(const std::string& digest) const;

  Result<StoredLayer> ReadLayer(const std::string& name) const;
  Result<std::string> ReadBlob(const std::string& digest) const;

  // DATA_LOSS names the file that cannot be read.
  Result<std::vector<StoredLayer>> Layers() const;
  Result<std::vector<StoredImage>> Images() const;
  Result<std::vector<ImageUse>> Uses() const;
  Result<std::map<uint32_t, ImageNames>> Names() const;
  // Digests.
  Result<std::set<std::string>> Blobs() const;

 private:
  ImageIndex(RecordFiles layers, RecordFiles images, RecordFiles names, RecordFiles blobs,
             RecordFiles uses)
      : layers_(std::move(layers)),
        images_(std::move(images)),
        names_(std::move(names)),
        blobs_(std::move(blobs)),
        uses_(std::move(uses)) {}

  RecordFiles layers_, images_, names_, blobs_, uses_;
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_IMAGE_INDEX_H_
