#ifndef ODYSSEY_SUPERVISOR_RPC_IMAGE_STORE_H_
#define ODYSSEY_SUPERVISOR_RPC_IMAGE_STORE_H_

// The container images of all users: names, manifests, configurations, and which cells have one of
// them. Errors name the field of the request. Thread-safe, except Open. Blocking; not for the
// loop's thread.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "image/spec/image_spec.h"
#include "odyssey/supervisor/v1/image.pb.h"
#include "policy/ceiling/ceiling.h"
#include "policy/compile/found_image.h"
#include "policy/model/request.h"
#include "supervisor/rpc/image_index.h"
#include "supervisor/rpc/image_programs.h"
#include "supervisor/rpc/layer_cells.h"
#include "supervisor/rpc/layer_table.h"

namespace odyssey::supervisor {

class ImageStore;

// Keeps layers from CollectImages while it lives.
class LayerHold final {
 public:
  LayerHold() = default;
  LayerHold(LayerHold&& other) noexcept { *this = std::move(other); }
  LayerHold& operator=(LayerHold&& other) noexcept {
    std::swap(store_, other.store_);
    std::swap(digests_, other.digests_);
    return *this;
  }
  ~LayerHold();

 private:
  friend class ImageStore;
  ImageStore* store_ = nullptr;
  std::vector<std::string> digests_;
};

struct ImageOrder {
  uint32_t owner_uid = 0;
  std::string name;  // "": by its digest alone
  std::string manifest, config;
  std::vector<ImageSignature> signatures;
};

// An image that comes in.
class ImageImport final {
 public:
  // Digests of the layers that have to be sent, in this order.
  const std::vector<std::string>& wanted() const { return wanted_; }

  // The next layer of `wanted`, its bytes, and its end.
  Status BeginLayer(const std::string& digest);
  Status Add(std::string_view bytes);
  bool LayerHasAll() const;
  Result<v1::ImageLayer> EndLayer();
  // After the last one; once.
  Result<v1::ImageInfo> Finish();

 private:
  friend class ImageStore;
  ImageImport(ImageStore* store, ImageOrder order) : store_(store), order_(std::move(order)) {}

  std::string FieldOf(const std::string& digest) const;

  ImageStore* const store_;
  const ImageOrder order_;
  std::string digest_;
  image::Manifest manifest_;
  std::vector<std::string> wanted_;
  size_t next_ = 0;  // of wanted_
  uint64_t expected_bytes_ = 0;
  LayerHold hold_;
  std::unique_ptr<LayerIntake> layer_;
};

// What a commit is of.
struct CommitOrder {
  CellKey key;
  std::string cell_tree;
  uint32_t owner_uid = 0;
  std::string name;
  std::string comment;
};

class ImageStore final {
 public:
  using Rules = std::function<Result<ceiling::Images>()>;  // of the operator, as they are now

  // `cells` is borrowed; of `directory` as of ImageIndex::Open.
  static Result<std::unique_ptr<ImageStore>> Open(int directory, LayerCells* cells, Rules rules,
                                                  LayerTable::Waits waits = {});

  Result<std::unique_ptr<ImageImport>> Import(ImageOrder order);
  // The cell's key is held meanwhile.
  Result<v1::ImageInfo> Commit(const CommitOrder& order);

  Result<v1::ListImagesResponse> List(uint32_t owner_uid, bool all);
  Result<v1::InspectImageResponse> Inspect(uint32_t owner_uid, const std::string& reference);
  Result<v1::RemoveImageResponse> Remove(uint32_t owner_uid, const std::string& reference);
  // `live`: names of layers that live cells have.
  Result<v1::CollectImagesResponse> Collect(const std::function<std::set<std::string>()>& live);
  // The tar of `path`; `hold` is to outlive it.
  Result<std::unique_ptr<TarReading>> ReadFiles(uint32_t owner_uid, const std::string& reference,
                                                const std::string& path, LayerHold* hold);

  // What the image, and `programs` of it, are for a cell of the owner's. Of programs an error as of
  // executables::Finder::Find.
  Result<compile::FoundImage> Find(const policy::ImageRoot& image,
                                   const std::vector<std::string>& programs, uint32_t owner_uid);
  // Before a cell of this key is made: what its image is for now on is its digest, which replaces
  // the name. With directories that last (`lasts`) this is remembered: the same name is the same
  // image then, whatever it names meanwhile, until ForgetUse. FAILED_PRECONDITION: the directories
  // are of another image.
  Result<LayerHold> Use(const CellKey& key, uint32_t owner_uid, bool lasts,
                        policy::ImageRoot* image);
  // FAILED_PRECONDITION: the cell has none that lasts.
  Result<ImageUse> UseOf(const CellKey& key);
  void ForgetUse(const CellKey& key);
  // Of the cell's image, the lowest first, while `hold` is there. Errors as of UseOf.
  Result<std::vector<std::string>> LayersOf(const CellKey& key, LayerHold* hold);

 private:
  friend class ImageImport;
  friend class LayerHold;
  using ImageKey = std::pair<uint32_t, std::string>;  // owner and digest

  ImageStore(ImageIndex index, Rules rules) : index_(std::move(index)), rules_(std::move(rules)) {}

  // Of what was read; signatures, and room for its files.
  Status CheckImport(const ImageOrder& order, const image::Manifest& manifest,
                     const std::string& digest);
  Status CheckSignatures(const std::string& name, const std::string& digest,
                         const std::vector<ImageSignature>& signatures, std::string* signed_by);
  uint64_t RoomOf(uint32_t owner_uid);
  // By what the user has a right to them.
  enum class Layers { kSent, kOfACell };
  Result<v1::ImageInfo> Keep(const ImageOrder& order, const StoredImage& image, Layers layers);

  // With mutex_ locked.
  Result<const StoredImage*> Resolve(uint32_t owner_uid, const std::string& field,
                                     const std::string& reference) const;
  Status CheckGivenName(const std::string& reference, const StoredImage& image);
  Status CheckName(const std::string& name, const StoredImage& image);
  Result<const StoredImage*> ImageOf(const ImageUse& use) const;
  Result<compile::FoundImage> Admit(const policy::ImageRoot& image, uint32_t owner_uid,
                                    LayerHold* hold);
  Result<compile::FoundImage> FoundOf(const StoredImage& image, const std::string& user);
  Result<v1::ImageInfo> InfoOf(const StoredImage& image);
  uint64_t ChargeTo(uint32_t owner_uid) const;
  bool CanSee(uint32_t owner_uid, const std::string& layer) const;
  Result<bool> RemoveUnlessNamed(const ImageKey& key);
  Result<std::vector<std::string>> LayerNames(const StoredImage& image) const;
  LayerHold HoldOf(const std::vector<std::string>& digests);
  std::vector<std::string> NamesOf(const StoredImage& image) const;

  const ImageIndex index_;
  const Rules rules_;
  std::unique_ptr<LayerTable> layers_;
  LayerCells* cells_ = nullptr;
  std::unique_ptr<ImagePrograms> programs_;
  mutable std::mutex mutex_;
  std::map<ImageKey, StoredImage> images_;
  std::map<uint32_t, ImageNames> names_;
  std::map<CellKey, ImageUse> uses_;
  std::multiset<std::string> held_;  // digests of layers
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_IMAGE_STORE_H_
