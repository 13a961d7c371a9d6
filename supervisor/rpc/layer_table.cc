#include "supervisor/rpc/layer_table.h"

#include <algorithm>
#include <vector>

#include "supervisor/rpc/cell_key.h"

namespace odyssey::supervisor {
namespace {

constexpr uint64_t kEntryBytes = 1024;               // of an inode and its name, about
constexpr uint64_t kRecordBytes = 128 * 1024;        // of its record, with account files
constexpr uint64_t kMostBytes = uint64_t{16} << 30;  // unpacked, as image::Bounds has it
constexpr uint64_t kMostEntries = 1'000'000;
// Each is a cell and a thread.
constexpr uint32_t kMaxIntakesOfUser = 4;
constexpr uint32_t kMaxIntakes = 16;
constexpr size_t kPrefixBytes = 7;  // "sha256:"

StoredLayer WithoutTexts(StoredLayer layer) {
  layer.passwd.text.clear();
  layer.group.text.clear();
  return layer;
}

Status WasRemoved() { return Status(Code::kAborted, "it was removed meanwhile; send it again"); }

}  // namespace

uint64_t ChargeOf(const StoredLayer& layer) {
  return layer.unpacked_bytes + layer.entries * kEntryBytes + kRecordBytes;
}

// ── What there is ───────────────────────────────────────────────────────────────────────────────

Result<std::unique_ptr<LayerTable>> LayerTable::Open(const ImageIndex* index, LayerCells* cells,
                                                     Waits waits) {
  std::unique_ptr<LayerTable> table(new LayerTable(index, cells, waits));
  ODY_ASSIGN_OR_RETURN(std::vector<StoredLayer> layers, index->Layers());
  for (StoredLayer& layer : layers) {
    if (layer.whole) table->whole_[layer.digest] = layer.name;
    const std::string name = layer.name;
    table->layers_[name] = WithoutTexts(std::move(layer));
  }
  return table;
}

const StoredLayer* LayerTable::FindWhole(const std::string& digest) const {
  const auto name = whole_.find(digest);
  return name == whole_.end() ? nullptr : &layers_.at(name->second);
}

std::optional<StoredLayer> LayerTable::Find(const std::string& digest) const {
  const std::lock_guard lock(mutex_);
  const StoredLayer* const layer = FindWhole(digest);
  return layer == nullptr ? std::nullopt : std::optional(*layer);
}

Result<StoredLayer> LayerTable::Read(const std::string& digest) const {
  const auto layer = Find(digest);
  if (!layer) return Status(Code::kDataLoss, "the store has no layer " + digest);
  return index_.ReadLayer(layer->name);
}

bool LayerTable::HasSent(uint32_t owner_uid, const std::string& digest) const {
  const std::lock_guard lock(mutex_);
  const StoredLayer* const layer = FindWhole(digest);
  return layer != nullptr && layer->senders.count(owner_uid) != 0;
}

uint64_t LayerTable::ChargeTo(uint32_t owner_uid, const std::set<std::string>& digests) const {
  const std::lock_guard lock(mutex_);
  uint64_t sum = 0;
  for (const auto& [digest, name] : whole_) {
    const StoredLayer& layer = layers_.at(name);
    if (layer.senders.count(owner_uid) != 0 || digests.count(digest) != 0) sum += ChargeOf(layer);
  }
  return sum;
}

// ── What comes in ───────────────────────────────────────────────────────────────────────────────

Status LayerTable::CheckIntakes(uint32_t owner_uid) const {
  uint32_t all = 0;
  for (const auto& [uid, count] : intakes_) all += count;
  const auto own = intakes_.find(owner_uid);
  const uint32_t most =
      own == intakes_.end() || own->second < kMaxIntakesOfUser ? kMaxIntakes : kMaxIntakesOfUser;
  if (most == kMaxIntakes && all < kMaxIntakes) return OkStatus();
  return ResourceExhausted(
      "layers: " + std::to_string(most) + " are being taken in already" +
      (most == kMaxIntakesOfUser ? " of uid " + std::to_string(owner_uid) : std::string()) +
      "; try again when one is done");
}

void LayerTable::AwaitOther(std::unique_lock<std::mutex>* lock, const std::string& digest) {
  const auto end = std::chrono::steady_clock::now() + waits_.most;
  for (auto other = busy_.find(digest); other != busy_.end(); other = busy_.find(digest)) {
    const std::shared_ptr<Progress> progress = other->second;
    const uint64_t before = progress->bytes;
    const bool over = changed_.wait_for(*lock, waits_.pace, [&] {
      const auto now = busy_.find(digest);
      return now == busy_.end() || now->second != progress;
    });
    if (over) continue;
    if (progress->bytes - before < kPaceBytes || std::chrono::steady_clock::now() > end) return;
  }
}

Result<std::unique_ptr<LayerIntake>> LayerTable::Begin(const std::string& digest,
                                                       uint32_t owner_uid, Room room) {
  std::unique_lock lock(mutex_);
  ODY_RETURN_IF_ERROR(CheckIntakes(owner_uid));
  ++intakes_[owner_uid];
  // From here on its destructor gives back what it has.
  std::unique_ptr<LayerIntake> intake(new LayerIntake(this, owner_uid, std::move(room)));
  intake->digest_ = digest;
  if (!digest.empty()) {
    AwaitOther(&lock, digest);
    if (FindWhole(digest) != nullptr) return intake;
    intake->first_ = busy_.emplace(digest, std::make_shared<Progress>()).second;
  }
  intake->name_ = intake->first_ ? digest.substr(kPrefixBytes) : RandomId("") + RandomId("");
  active_.insert(intake->name_);
  lock.unlock();
  ODY_RETURN_IF_ERROR(StartUnpacking(intake.get()));
  return intake;
}

Status LayerTable::StartUnpacking(LayerIntake* intake) {
  const uint64_t room = intake->room_();
  if (room <= kRecordBytes) return intake->WhyStopped(ResourceExhausted("no room for the layer"));
  const StoredLayer record = {.name = intake->name_, .digest = intake->digest_};
  bool left_over = false;
  {
    const std::lock_guard lock(mutex_);
    left_over = layers_.count(record.name) != 0;
  }
  if (left_over) ODY_RETURN_IF_ERROR(cells_->Remove(record.name));
  // Before there is a file of it: what has a record and is not whole is removed.
  ODY_RETURN_IF_ERROR(index_.Save(record));
  {
    const std::lock_guard lock(mutex_);
    layers_[record.name] = record;
  }
  const uint64_t rest = room - kRecordBytes;
  intake->short_of_room_ = rest < kMostBytes;
  ODY_ASSIGN_OR_RETURN(intake->unpacking_,
                       cells_->Unpack(record.name, std::min(rest, kMostBytes),
                                      std::min(rest / kEntryBytes + 1, kMostEntries)));
  return OkStatus();
}

Status LayerIntake::Add(std::string_view bytes) {
  bytes_ += bytes.size();
  hash_.Update(bytes);
  if (unpacking_ == nullptr) return OkStatus();
  if (first_) {
    const std::lock_guard lock(table_->mutex_);
    const auto progress = table_->busy_.find(digest_);
    if (progress != table_->busy_.end()) progress->second->bytes = bytes_;
  }
  // What follows the end of a tar is of its bytes too, and of no file.
  (void)unpacking_->Write(bytes);
  return OkStatus();
}

Status LayerIntake::WhyStopped(const Status& status) const {
  if (status.code() != Code::kResourceExhausted || !short_of_room_) return status;
  return ResourceExhausted(status.message() + "; the image quota of uid " +
                           std::to_string(owner_uid_) +
                           " has no room for more: remove images, and collect");
}

Result<StoredLayer> LayerIntake::Finish() {
  const std::string digest = hash_.Digest();
  if (!digest_.empty() && digest != digest_) {
    return InvalidArgument("its bytes have the digest " + digest);
  }
  digest_ = digest;
  if (unpacking_ == nullptr) {
    const auto layer = table_->Find(digest_);
    if (!layer) return WasRemoved();
    if (layer->senders.count(owner_uid_) == 0 && ChargeOf(*layer) > room_()) {
      return ResourceExhausted("the image quota of uid " + std::to_string(owner_uid_) +
                               " has no room for it: remove images, and collect");
    }
    ODY_RETURN_IF_ERROR(table_->Kept(layer->name, owner_uid_));
    return *layer;
  }
  const Result<layer::Done> done = unpacking_->Finish();
  if (!done.ok()) return WhyStopped(done.status());
  const StoredLayer layer = {.name = name_,
                             .digest = digest_,
                             .whole = true,
                             .bytes = bytes_,
                             .unpacked_bytes = done->bytes,
                             .entries = done->entries,
                             .set_id_files = done->set_id_files,
                             .senders = {owner_uid_},
                             .passwd = done->passwd,
                             .group = done->group};
  const Status kept =
      ChargeOf(layer) > room_()
          ? ResourceExhausted("the image quota of uid " + std::to_string(owner_uid_) +
                              " has no room for it: remove images, and collect")
          : table_->KeepWhole(layer, owner_uid_);
  ODY_RETURN_IF_ERROR(kept);
  const auto found = table_->Find(digest_);
  if (!found) return WasRemoved();
  return *found;
}

Status LayerTable::Kept(const std::string& name, uint32_t owner_uid) {
  const std::lock_guard lock(mutex_);
  const auto layer = layers_.find(name);
  if (layer == layers_.end() || !layer->second.whole) {
    return WasRemoved();
  }
  if (layer->second.senders.count(owner_uid) != 0) return OkStatus();
  ODY_ASSIGN_OR_RETURN(StoredLayer record, index_.ReadLayer(name));
  record.senders.insert(owner_uid);
  ODY_RETURN_IF_ERROR(index_.Save(record));
  layer->second.senders.insert(owner_uid);
  return OkStatus();
}

// Of two copies that were unpacked at the same time the first stays.
Status LayerTable::KeepWhole(const StoredLayer& layer, uint32_t owner_uid) {
  {
    const std::lock_guard lock(mutex_);
    if (FindWhole(layer.digest) == nullptr) {
      ODY_RETURN_IF_ERROR(index_.Save(layer));
      layers_[layer.name] = WithoutTexts(layer);
      whole_[layer.digest] = layer.name;
      return OkStatus();
    }
  }
  const auto first = Find(layer.digest);
  return first ? Kept(first->name, owner_uid) : WasRemoved();
}

LayerIntake::~LayerIntake() { table_->End(this); }

void LayerTable::End(LayerIntake* intake) {
  bool whole = false;
  {
    const std::lock_guard lock(mutex_);
    const auto layer = layers_.find(intake->name_);
    whole = layer == layers_.end() || layer->second.whole;
  }
  // While it has its record, what is left of it is removed later.
  const bool gone = !whole && intake->unpacking_ != nullptr && intake->unpacking_->Discard().ok();
  intake->unpacking_.reset();
  const std::lock_guard lock(mutex_);
  if (gone) {
    (void)index_.Erase(layers_.at(intake->name_));
    layers_.erase(intake->name_);
  }
  active_.erase(intake->name_);
  if (intake->first_) busy_.erase(intake->digest_);
  if (--intakes_[intake->owner_uid_] == 0) intakes_.erase(intake->owner_uid_);
  changed_.notify_all();
}

// ── What goes ───────────────────────────────────────────────────────────────────────────────────

Result<LayerTable::Collected> LayerTable::Collect(const std::set<std::string>& digests,
                                                  const std::set<std::string>& names) {
  std::vector<StoredLayer> unused;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [name, layer] : layers_) {
      const bool needed = layer.whole && (digests.count(layer.digest) != 0);
      if (needed || names.count(name) != 0 || active_.count(name) != 0) continue;
      if (busy_.count(layer.digest) != 0) continue;  // another copy of it is coming in
      StoredLayer gone = layer;
      gone.whole = false;  // before the first of its files goes
      ODY_RETURN_IF_ERROR(index_.Save(gone));
      if (layer.whole) whole_.erase(layer.digest);
      layer.whole = false;
      if (!layer.digest.empty()) busy_.emplace(layer.digest, std::make_shared<Progress>());
      unused.push_back(gone);
    }
  }
  Collected out;
  Status failed;
  for (const StoredLayer& layer : unused) {
    const Status removed = cells_->Remove(layer.name);
    const std::lock_guard lock(mutex_);
    busy_.erase(layer.digest);
    changed_.notify_all();
    if (!removed.ok()) {
      failed = removed;  // its record says that it is not whole: the next call tries again
      continue;
    }
    (void)index_.Erase(layer);
    layers_.erase(layer.name);
    ++out.layers;
    out.bytes += layer.unpacked_bytes;
  }
  ODY_RETURN_IF_ERROR(failed);
  return out;
}

}  // namespace odyssey::supervisor
