#ifndef ODYSSEY_SUPERVISOR_RPC_LAYER_TABLE_H_
#define ODYSSEY_SUPERVISOR_RPC_LAYER_TABLE_H_

// Which layers the image store has, and how one comes in: unpacked once, by a layer cell, and
// counted only when its record says that it is whole. A digest gives a layer to no user: each has
// to send its bytes once, which are then only hashed. Thread-safe, except Open. Blocking.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "supervisor/rpc/bulk_sha256.h"
#include "supervisor/rpc/image_index.h"
#include "supervisor/rpc/layer_cells.h"

namespace odyssey::supervisor {

class LayerTable;

// What a layer takes of its user's quota: its files, their inodes, and its record.
uint64_t ChargeOf(const StoredLayer& layer);

// How much more a user may have, as ChargeOf counts.
using Room = std::function<uint64_t()>;

// A layer that a user sends, or that is made of a cell's changes. Unless Finish returns OK, nothing
// of it stays.
class LayerIntake final {
 public:
  ~LayerIntake();
  LayerIntake(const LayerIntake&) = delete;
  LayerIntake& operator=(const LayerIntake&) = delete;

  // Its next bytes. A failure ends it.
  Status Add(std::string_view bytes);
  uint64_t bytes() const { return bytes_; }
  // After the last byte; once.
  Result<StoredLayer> Finish();

 private:
  friend class LayerTable;
  LayerIntake(LayerTable* table, uint32_t owner_uid, Room room)
      : table_(table), owner_uid_(owner_uid), room_(std::move(room)) {}

  Status WhyStopped(const Status& status) const;

  LayerTable* const table_;
  const uint32_t owner_uid_;
  const Room room_;
  std::string digest_;          // that it has to have; "": any
  std::string name_;            // that it is unpacked as; "": it is there already
  bool first_ = false;          // others wait for it
  bool short_of_room_ = false;  // its bound is that of the quota
  uint64_t bytes_ = 0;
  BulkSha256 hash_;
  std::unique_ptr<LayerUnpacking> unpacking_;
};

class LayerTable final {
 public:
  // For how long an import waits for another that unpacks the same layer: while that moves on, but
  // not for ever, since its user may be slow on purpose. After that it unpacks a copy.
  struct Waits {
    std::chrono::milliseconds pace{10'000};  // in which at least kPaceBytes have to come
    std::chrono::milliseconds most{600'000};
  };
  static constexpr uint64_t kPaceBytes = uint64_t{4} << 20;

  // Both are borrowed.
  static Result<std::unique_ptr<LayerTable>> Open(const ImageIndex* index, LayerCells* cells,
                                                  Waits waits);

  // One that is whole.
  std::optional<StoredLayer> Find(const std::string& digest) const;
  // … with its account files, from its record.
  Result<StoredLayer> Read(const std::string& digest) const;
  bool HasSent(uint32_t owner_uid, const std::string& digest) const;
  // What is charged to the user: the layers that it has sent, and those of `digests`.
  uint64_t ChargeTo(uint32_t owner_uid, const std::set<std::string>& digests) const;

  // `digest` "": whatever it comes to be. RESOURCE_EXHAUSTED: too many at once, or no room.
  Result<std::unique_ptr<LayerIntake>> Begin(const std::string& digest, uint32_t owner_uid,
                                             Room room);

  struct Collected {
    uint32_t layers = 0;
    uint64_t bytes = 0;  // unpacked
  };
  // Removes what is in neither set, `digests` of layers and their `names`, and what is not whole.
  Result<Collected> Collect(const std::set<std::string>& digests,
                            const std::set<std::string>& names);

 private:
  friend class LayerIntake;
  struct Progress {
    std::atomic<uint64_t> bytes{0};
  };

  LayerTable(const ImageIndex* index, LayerCells* cells, Waits waits)
      : index_(*index), cells_(cells), waits_(waits) {}

  // With mutex_ locked.
  const StoredLayer* FindWhole(const std::string& digest) const;
  Status CheckIntakes(uint32_t owner_uid) const;
  void AwaitOther(std::unique_lock<std::mutex>* lock, const std::string& digest);

  Status StartUnpacking(LayerIntake* intake);
  Status Kept(const std::string& name, uint32_t owner_uid);
  Status KeepWhole(const StoredLayer& layer, uint32_t owner_uid);
  void End(LayerIntake* intake);

  const ImageIndex& index_;
  LayerCells* const cells_;
  const Waits waits_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, StoredLayer> layers_;  // by name; without texts of account files
  std::map<std::string, std::string> whole_;   // digest → name
  std::map<std::string, std::shared_ptr<Progress>> busy_;  // by digest: unpacked, or removed
  std::set<std::string> active_;                           // names
  std::map<uint32_t, uint32_t> intakes_;                   // by user
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_LAYER_TABLE_H_
