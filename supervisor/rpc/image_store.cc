#include "supervisor/rpc/image_store.h"

#include <sys/utsname.h>

#include <algorithm>
#include <optional>

#include "common/base/refusal.h"
#include "common/base/time_text.h"
#include "common/os/file.h"
#include "image/spec/added_layer.h"
#include "policy/plan/plan_check.h"
#include "supervisor/rpc/bulk_sha256.h"
#include "supervisor/rpc/image_name.h"
#include "supervisor/rpc/image_user.h"

namespace odyssey::supervisor {
namespace {

constexpr size_t kMaxImages = 1000;  // of one user
constexpr size_t kMaxNames = 4000;   // likewise
constexpr size_t kMaxSignatures = 64;
constexpr size_t kMaxSignatureBytes = 64 * 1024;
constexpr size_t kMaxKeyFile = 64 * 1024;
constexpr size_t kMaxComment = 1024;
constexpr uint64_t kImageBytes = 16 * 1024;  // of an image's records
constexpr uint32_t kRoot = 0;

std::string UserText(uint32_t uid) { return "uid " + std::to_string(uid); }

// As Go names it.
std::string HostArchitecture() {
  utsname names{};
  if (uname(&names) != 0) return "";
  const std::string machine = names.machine;
  return machine == "x86_64" ? "amd64" : machine == "aarch64" ? "arm64" : machine;
}

Result<std::string> NameIn(const std::string& field, const std::string& name) {
  if (name.empty()) return std::string();
  Result<std::string> normal = NormalImageName(name);
  if (normal.ok()) return normal;
  return Refused(Code::kInvalidArgument, field, name, normal.status().message());
}

// Each layer once, where it is topmost: what it has below that shows nowhere. By their names.
std::vector<std::string> Topmost(const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (size_t i = 0; i < names.size(); ++i) {
    if (std::find(names.begin() + static_cast<std::ptrdiff_t>(i) + 1, names.end(), names[i]) ==
        names.end()) {
      out.push_back(names[i]);
    }
  }
  return out;
}

void ToProto(const StoredLayer& layer, v1::ImageLayer* out) {
  out->set_digest(layer.digest);
  out->set_bytes(layer.bytes);
  out->set_unpacked_bytes(layer.unpacked_bytes);
  out->set_entries(layer.entries);
  out->set_set_id_files(layer.set_id_files);
}

template <typename Texts>
void Add(const std::vector<std::string>& texts, Texts* out) {
  for (const std::string& text : texts) out->Add(std::string(text));
}

void ToProto(const image::Config& config, v1::ImageInfo* out) {
  out->set_architecture(config.architecture);
  out->set_os(config.os);
  out->set_user(config.user);
  out->set_working_directory(config.working_directory);
  Add(config.env, out->mutable_env());
  Add(config.entrypoint, out->mutable_entrypoint());
  Add(config.command, out->mutable_command());
  Add(config.exposed_ports, out->mutable_exposed_ports());
  Add(config.volumes, out->mutable_volumes());
  for (const auto& [name, value] : config.labels) (*out->mutable_labels())[name] = value;
}

Status CheckConfig(const image::Config& config, const image::Manifest& manifest) {
  if (manifest.layers.empty()) {
    return Refused(Code::kInvalidArgument, "start.manifest.layers", "", "the image has no layer");
  }
  if (config.diff_ids.size() != manifest.layers.size()) {
    return Refused(Code::kInvalidArgument, "start.config.rootfs.diff_ids", "",
                   "has " + std::to_string(config.diff_ids.size()) + " items, and the manifest " +
                       std::to_string(manifest.layers.size()) + " layers");
  }
  if (config.os != "linux") {
    return Refused(Code::kInvalidArgument, "start.config.os", config.os, "linux is allowed");
  }
  const std::string host = HostArchitecture();
  if (config.architecture == host) return OkStatus();
  return Refused(Code::kInvalidArgument, "start.config.architecture", config.architecture,
                 "this host is " + host);
}

}  // namespace

// ── What is there ───────────────────────────────────────────────────────────────────────────────

Result<std::unique_ptr<ImageStore>> ImageStore::Open(int directory, LayerCells* cells, Rules rules,
                                                     LayerTable::Waits waits) {
  ODY_ASSIGN_OR_RETURN(ImageIndex index, ImageIndex::Open(directory));
  std::unique_ptr<ImageStore> store(new ImageStore(std::move(index), std::move(rules)));
  store->cells_ = cells;
  store->programs_ = std::make_unique<ImagePrograms>(cells);
  ODY_ASSIGN_OR_RETURN(store->layers_, LayerTable::Open(&store->index_, cells, waits));
  ODY_ASSIGN_OR_RETURN(std::vector<StoredImage> images, store->index_.Images());
  for (StoredImage& image : images) {
    const ImageKey key = {image.owner_uid, image.digest};
    store->images_[key] = std::move(image);
  }
  ODY_ASSIGN_OR_RETURN(store->names_, store->index_.Names());
  ODY_ASSIGN_OR_RETURN(std::vector<ImageUse> uses, store->index_.Uses());
  for (ImageUse& use : uses) {
    const CellKey key = use.key;
    store->uses_[key] = std::move(use);
  }
  return store;
}

LayerHold::~LayerHold() {
  if (store_ == nullptr) return;
  const std::lock_guard lock(store_->mutex_);
  for (const std::string& digest : digests_) store_->held_.erase(store_->held_.find(digest));
}

LayerHold ImageStore::HoldOf(const std::vector<std::string>& digests) {
  LayerHold hold;
  hold.store_ = this;
  hold.digests_ = digests;
  held_.insert(digests.begin(), digests.end());
  return hold;
}

std::vector<std::string> ImageStore::NamesOf(const StoredImage& image) const {
  std::vector<std::string> out;
  const auto own = names_.find(image.owner_uid);
  if (own == names_.end()) return out;
  for (const auto& [name, digest] : own->second) {
    if (digest == image.digest) out.push_back(name);
  }
  return out;
}

Result<const StoredImage*> ImageStore::Resolve(uint32_t owner_uid, const std::string& field,
                                               const std::string& reference) const {
  if (reference.empty()) {
    return Refused(Code::kInvalidArgument, field, "", "give an image's name or digest");
  }
  const Result<ImageReference> asked = ParseImageReference(reference);
  if (!asked.ok()) {
    return Refused(Code::kInvalidArgument, field, reference, asked.status().message());
  }
  for (const uint32_t uid : {owner_uid, kRoot}) {
    std::string digest = asked->digest;
    if (digest.empty()) {
      const auto own = names_.find(uid);
      if (own == names_.end()) continue;
      const auto known = own->second.find(asked->name);
      if (known == own->second.end()) continue;
      digest = known->second;
    }
    const auto image = images_.find({uid, digest});
    if (image != images_.end()) return &image->second;
  }
  return Refused(Code::kNotFound, field, reference,
                 UserText(owner_uid) + " has no such image" +
                     (owner_uid == kRoot ? "" : ", nor has root") +
                     "; `odyssey-ctl image pull` or `load` puts one into the store");
}

uint64_t ImageStore::ChargeTo(uint32_t owner_uid) const {
  std::set<std::string> digests;
  uint64_t sum = 0;
  for (const auto& [key, image] : images_) {
    if (key.first != owner_uid) continue;
    digests.insert(image.layers.begin(), image.layers.end());
    sum += kImageBytes;
  }
  return sum + layers_->ChargeTo(owner_uid, digests);
}

bool ImageStore::CanSee(uint32_t owner_uid, const std::string& layer) const {
  if (layers_->HasSent(owner_uid, layer)) return true;
  if (!layers_->Find(layer)) return false;
  return std::any_of(images_.begin(), images_.end(), [&](const auto& each) {
    const auto& [key, image] = each;
    return (key.first == owner_uid || key.first == kRoot) &&
           std::find(image.layers.begin(), image.layers.end(), layer) != image.layers.end();
  });
}

uint64_t ImageStore::RoomOf(uint32_t owner_uid) {
  const Result<ceiling::Images> rules = rules_();
  if (!rules.ok()) return 0;
  const uint64_t quota = ceiling::ImageQuotaOf(*rules);
  const std::lock_guard lock(mutex_);
  return quota - std::min(quota, ChargeTo(owner_uid));
}

Status ImageStore::CheckSignatures(const std::string& name, const std::string& digest,
                                   const std::vector<ImageSignature>& signatures,
                                   std::string* signed_by) {
  ODY_ASSIGN_OR_RETURN(const ceiling::Images rules, rules_());
  for (const ceiling::SignedImages& rule :
       ceiling::SignaturesOf(rules, name, std::string(RepositoryOf(name)))) {
    const Result<std::string> pem = ReadFile(rule.key, kMaxKeyFile);
    Status status = pem.ok() ? CheckSigned(digest, signatures, *pem) : pem.status();
    if (!status.ok()) {
      const Code code = status.code() == Code::kPermissionDenied ? Code::kPermissionDenied
                                                                 : Code::kFailedPrecondition;
      return Status(code, (name.empty() ? digest : name) + ": " + ceiling::ToString(rule.origin) +
                              " wants a signature by the key " + rule.key + ": " +
                              status.message());
    }
    *signed_by = rule.key;
  }
  return OkStatus();
}

Result<v1::ImageInfo> ImageStore::InfoOf(const StoredImage& image) {
  v1::ImageInfo info;
  info.set_digest(image.digest);
  info.set_owner_uid(image.owner_uid);
  info.set_created_at(image.created_at);
  for (const std::string& digest : image.layers) {
    const auto layer = layers_->Find(digest);
    ToProto(layer ? *layer : StoredLayer{.digest = digest}, info.add_layers());
  }
  ODY_ASSIGN_OR_RETURN(const std::string text, index_.ReadBlob(image.config_digest));
  ODY_ASSIGN_OR_RETURN(const image::Config config, image::ReadConfig(text));
  ToProto(config, &info);
  std::string signed_by;
  const std::vector<std::string> names = NamesOf(image);
  for (const std::string& name : names) {
    info.add_names(name);
    (void)CheckSignatures(name, image.digest, image.signatures, &signed_by);
  }
  if (names.empty()) (void)CheckSignatures("", image.digest, image.signatures, &signed_by);
  info.set_signed_by(signed_by);
  return info;
}

// ── Import ──────────────────────────────────────────────────────────────────────────────────────

Status ImageStore::CheckImport(const ImageOrder& order, const image::Manifest& manifest,
                               const std::string& digest) {
  if (DigestOf(order.config) != manifest.config.digest) {
    return Refused(Code::kInvalidArgument, "start.config", "",
                   "the manifest names " + manifest.config.digest + ", and its digest is " +
                       DigestOf(order.config));
  }
  const Result<image::Config> config = image::ReadConfig(order.config);
  if (!config.ok()) return OfField("start.config", config.status());
  ODY_RETURN_IF_ERROR(CheckConfig(*config, manifest));
  bool bounded = order.signatures.size() <= kMaxSignatures;
  for (const ImageSignature& signature : order.signatures) {
    bounded = bounded && signature.payload.size() <= kMaxSignatureBytes &&
              signature.signature.size() <= kMaxSignatureBytes;
  }
  if (!bounded) {
    return Refused(Code::kInvalidArgument, "start.signatures", "",
                   "at most " + std::to_string(kMaxSignatures) + " of " +
                       std::to_string(kMaxSignatureBytes) + " bytes are allowed");
  }
  std::string signed_by;
  const Status signatures = CheckSignatures(order.name, digest, order.signatures, &signed_by);
  return signatures.ok() ? OkStatus() : OfField("start.signatures", signatures);
}

Result<std::unique_ptr<ImageImport>> ImageStore::Import(ImageOrder order) {
  ODY_ASSIGN_OR_RETURN(order.name, NameIn("start.name", order.name));
  Result<image::Manifest> manifest = image::ReadManifest(order.manifest);
  if (!manifest.ok()) return OfField("start.manifest", manifest.status());
  const std::string digest = DigestOf(order.manifest);
  ODY_RETURN_IF_ERROR(CheckImport(order, *manifest, digest));
  std::unique_ptr<ImageImport> import(new ImageImport(this, std::move(order)));
  import->digest_ = digest;
  import->manifest_ = std::move(*manifest);
  std::vector<std::string> digests;
  for (const image::Layer& layer : import->manifest_.layers) digests.push_back(layer.blob.digest);
  const std::lock_guard lock(mutex_);
  import->hold_ = HoldOf(digests);
  for (const std::string& layer : digests) {
    const std::vector<std::string>& wanted = import->wanted_;
    const bool asked = std::find(wanted.begin(), wanted.end(), layer) != wanted.end();
    if (!asked && !CanSee(import->order_.owner_uid, layer)) import->wanted_.push_back(layer);
  }
  return import;
}

Status ImageImport::BeginLayer(const std::string& digest) {
  if (next_ == wanted_.size() || wanted_[next_] != digest) {
    return Refused(Code::kInvalidArgument, "layer", digest,
                   next_ == wanted_.size() ? "no layer is wanted any more"
                                           : "the next that is wanted is " + wanted_[next_]);
  }
  for (const image::Layer& layer : manifest_.layers) {
    if (layer.blob.digest == digest) expected_bytes_ = layer.blob.size;
  }
  ++next_;
  auto layer = store_->layers_->Begin(digest, order_.owner_uid,
                                      [this] { return store_->RoomOf(order_.owner_uid); });
  if (!layer.ok()) return Refused(layer.status().code(), "layer", digest, layer.status().message());
  layer_ = std::move(*layer);
  return OkStatus();
}

Status ImageImport::Add(std::string_view bytes) {
  if (layer_ == nullptr) return Refused(Code::kInvalidArgument, "data", "", "no layer is open");
  if (layer_->bytes() + bytes.size() > expected_bytes_) {
    return Refused(Code::kInvalidArgument, "data", "",
                   "layer " + wanted_[next_ - 1] + " has " + std::to_string(expected_bytes_) +
                       " bytes by the manifest, and more came");
  }
  return layer_->Add(bytes);
}

bool ImageImport::LayerHasAll() const {
  return layer_ != nullptr && layer_->bytes() == expected_bytes_;
}

Result<v1::ImageLayer> ImageImport::EndLayer() {
  const std::string& digest = wanted_[next_ - 1];
  const std::unique_ptr<LayerIntake> layer = std::move(layer_);
  if (layer->bytes() != expected_bytes_) {
    return Refused(Code::kInvalidArgument, "layer", digest,
                   "has " + std::to_string(expected_bytes_) + " bytes by the manifest, and " +
                       std::to_string(layer->bytes()) + " came");
  }
  const Result<StoredLayer> stored = layer->Finish();
  if (!stored.ok()) {
    // What an entry links to is of the layer too.
    const Code code = stored.status().code();
    return Refused(code == Code::kNotFound ? Code::kInvalidArgument : code, "layer", digest,
                   stored.status().message());
  }
  v1::ImageLayer out;
  ToProto(*stored, &out);
  return out;
}

Result<v1::ImageInfo> ImageImport::Finish() {
  if (layer_ != nullptr || next_ != wanted_.size()) {
    return Refused(Code::kInvalidArgument, "layer", wanted_[layer_ != nullptr ? next_ - 1 : next_],
                   "is wanted, and did not come whole");
  }
  StoredImage image = {.digest = digest_,
                       .owner_uid = order_.owner_uid,
                       .config_digest = manifest_.config.digest,
                       .created_at = Rfc3339Now(),
                       .signatures = order_.signatures};
  for (const image::Layer& layer : manifest_.layers) image.layers.push_back(layer.blob.digest);
  return store_->Keep(order_, image, ImageStore::Layers::kSent);
}

Result<v1::ImageInfo> ImageStore::Keep(const ImageOrder& order, const StoredImage& image,
                                       Layers layers) {
  const uint32_t uid = image.owner_uid;
  const std::lock_guard lock(mutex_);
  for (const std::string& layer : image.layers) {
    if (layers == Layers::kSent ? !CanSee(uid, layer) : !layers_->Find(layer)) {
      return Refused(Code::kAborted, "layer", layer, "was removed meanwhile; send the image again");
    }
  }
  ImageNames& names = names_[uid];
  const auto own = std::count_if(images_.begin(), images_.end(),
                                 [&](const auto& each) { return each.first.first == uid; });
  const bool added = images_.count({uid, image.digest}) == 0;
  if (added && static_cast<size_t>(own) >= kMaxImages) {
    return ResourceExhausted("owner_uid: " + UserText(uid) + " has " + std::to_string(kMaxImages) +
                             " images, which is the most: remove some, and collect");
  }
  if (names.size() >= kMaxNames && !order.name.empty() && names.count(order.name) == 0) {
    return ResourceExhausted("owner_uid: " + UserText(uid) + " has " + std::to_string(kMaxNames) +
                             " names of images, which is the most: remove some");
  }
  ODY_RETURN_IF_ERROR(index_.SaveBlob(image.digest, order.manifest));
  ODY_RETURN_IF_ERROR(index_.SaveBlob(image.config_digest, order.config));
  ODY_RETURN_IF_ERROR(index_.Save(image));
  images_[{uid, image.digest}] = image;
  if (!order.name.empty()) {
    ImageNames next = names;
    std::string& named = next[order.name];
    const std::string before = std::exchange(named, image.digest);
    ODY_RETURN_IF_ERROR(index_.SaveNames(uid, next));
    names = std::move(next);
    if (!before.empty()) ODY_RETURN_IF_ERROR(RemoveUnlessNamed({uid, before}).status());
  }
  return InfoOf(image);
}

Result<v1::ImageInfo> ImageStore::Commit(const CommitOrder& commit) {
  ODY_ASSIGN_OR_RETURN(const std::string name, NameIn("name", commit.name));
  if (commit.comment.size() > kMaxComment) {
    return Refused(Code::kInvalidArgument, "comment", "",
                   "at most " + std::to_string(kMaxComment) + " bytes are allowed");
  }
  ODY_ASSIGN_OR_RETURN(const ImageUse use, UseOf(commit.key));
  StoredImage image;
  image::ImageFiles base;
  LayerHold hold;
  {
    const std::lock_guard lock(mutex_);
    ODY_ASSIGN_OR_RETURN(const StoredImage* const found, ImageOf(use));
    image = *found;
    hold = HoldOf(image.layers);
    ODY_ASSIGN_OR_RETURN(base.manifest, index_.ReadBlob(image.digest));
    ODY_ASSIGN_OR_RETURN(base.config, index_.ReadBlob(image.config_digest));
  }
  std::string signed_by;
  if (const Status status = CheckSignatures(name, "the new image", {}, &signed_by); !status.ok()) {
    return OfField("name", status);
  }
  ODY_ASSIGN_OR_RETURN(
      const std::unique_ptr<LayerIntake> intake,
      layers_->Begin("", commit.owner_uid, [&] { return RoomOf(commit.owner_uid); }));
  ODY_ASSIGN_OR_RETURN(const std::unique_ptr<TarReading> tar, cells_->Pack(commit.cell_tree));
  for (;;) {
    ODY_ASSIGN_OR_RETURN(const std::string bytes, tar->Read());
    if (bytes.empty()) break;
    ODY_RETURN_IF_ERROR(intake->Add(bytes));
  }
  if (const Status packed = tar->Finish(); !packed.ok()) return OfField("key", packed);
  const Result<StoredLayer> layer = intake->Finish();
  if (!layer.ok()) return OfField("key", layer.status());
  const image::AddedLayer added = {.blob = {layer->digest, layer->bytes},
                                   .created_at = Rfc3339Now(),
                                   .created_by = "odyssey commit",
                                   .comment = commit.comment};
  ODY_ASSIGN_OR_RETURN(const image::ImageFiles files, image::AddLayer(base, added, DigestOf));
  const ImageOrder order = {.owner_uid = commit.owner_uid,
                            .name = name,
                            .manifest = files.manifest,
                            .config = files.config};
  image.digest = DigestOf(files.manifest);
  image.config_digest = DigestOf(files.config);
  image.owner_uid = commit.owner_uid;
  image.layers.push_back(layer->digest);
  image.created_at = added.created_at;
  image.signatures.clear();
  image.removed = false;
  return Keep(order, image, Layers::kOfACell);
}

// ── Questions ───────────────────────────────────────────────────────────────────────────────────

Result<v1::ListImagesResponse> ImageStore::List(uint32_t owner_uid, bool all) {
  ODY_ASSIGN_OR_RETURN(const ceiling::Images rules, rules_());
  v1::ListImagesResponse response;
  const std::lock_guard lock(mutex_);
  for (const auto& [key, image] : images_) {
    if (image.removed || !(all || key.first == owner_uid || key.first == kRoot)) continue;
    ODY_ASSIGN_OR_RETURN(*response.add_images(), InfoOf(image));
  }
  response.set_used_bytes(ChargeTo(owner_uid));
  response.set_quota_bytes(ceiling::ImageQuotaOf(rules));
  return response;
}

Result<v1::InspectImageResponse> ImageStore::Inspect(uint32_t owner_uid,
                                                     const std::string& reference) {
  const std::lock_guard lock(mutex_);
  ODY_ASSIGN_OR_RETURN(const StoredImage* const image, Resolve(owner_uid, "reference", reference));
  v1::InspectImageResponse response;
  ODY_ASSIGN_OR_RETURN(*response.mutable_image(), InfoOf(*image));
  ODY_ASSIGN_OR_RETURN(*response.mutable_manifest(), index_.ReadBlob(image->digest));
  ODY_ASSIGN_OR_RETURN(*response.mutable_config(), index_.ReadBlob(image->config_digest));
  return response;
}

Result<std::unique_ptr<TarReading>> ImageStore::ReadFiles(uint32_t owner_uid,
                                                          const std::string& reference,
                                                          const std::string& path,
                                                          LayerHold* hold) {
  if (!plan::IsNormalizedAbsolute(path)) {
    return Refused(Code::kInvalidArgument, "path", path,
                   "give an absolute path without empty names, \".\" and \"..\"");
  }
  std::vector<std::string> names;
  {
    const std::lock_guard lock(mutex_);
    ODY_ASSIGN_OR_RETURN(const StoredImage* const image,
                         Resolve(owner_uid, "reference", reference));
    *hold = HoldOf(image->layers);
    ODY_ASSIGN_OR_RETURN(names, LayerNames(*image));
  }
  return cells_->Read(names, path);
}

// As overlayfs is given them.
Result<std::vector<std::string>> ImageStore::LayerNames(const StoredImage& image) const {
  std::vector<std::string> names;
  for (const std::string& digest : image.layers) {
    const auto layer = layers_->Find(digest);
    if (!layer) return Status(Code::kDataLoss, "reference: the store has no layer " + digest);
    names.push_back(layer->name);
  }
  return Topmost(names);
}

// ── What cells have ─────────────────────────────────────────────────────────────────────────────

Result<compile::FoundImage> ImageStore::FoundOf(const StoredImage& image, const std::string& user) {
  compile::FoundImage found;
  found.digest = image.digest;
  layer::AccountFile passwd, group;
  for (const std::string& digest : image.layers) {
    ODY_ASSIGN_OR_RETURN(const StoredLayer layer, layers_->Read(digest));
    found.layers.push_back(layer.name);
    if (layer.passwd.state != layer::FileState::kUntouched) passwd = layer.passwd;
    if (layer.group.state != layer::FileState::kUntouched) group = layer.group;
  }
  found.layers = Topmost(found.layers);
  ODY_ASSIGN_OR_RETURN(const std::string text, index_.ReadBlob(image.config_digest));
  ODY_ASSIGN_OR_RETURN(const image::Config config, image::ReadConfig(text));
  found.env = config.env;
  const Result<ImageUser> resolved =
      ResolveImageUser(user.empty() ? config.user : user, passwd.text, group.text);
  if (!resolved.ok()) {
    return Refused(Code::kInvalidArgument, "image.user", "",
                   (user.empty() ? "of the image: " : "") + resolved.status().message());
  }
  found.user = resolved->uid;
  found.group = resolved->gid;
  return found;
}

Result<compile::FoundImage> ImageStore::Find(const policy::ImageRoot& root,
                                             const std::vector<std::string>& programs,
                                             uint32_t owner_uid) {
  LayerHold hold;
  compile::FoundImage found;
  {
    const std::lock_guard lock(mutex_);
    ODY_ASSIGN_OR_RETURN(found, Admit(root, owner_uid, &hold));
  }
  ODY_ASSIGN_OR_RETURN(found.programs, programs_->Find(found.digest, found.layers, programs));
  return found;
}

Result<compile::FoundImage> ImageStore::Admit(const policy::ImageRoot& root, uint32_t owner_uid,
                                              LayerHold* hold) {
  ODY_ASSIGN_OR_RETURN(const StoredImage* const image,
                       Resolve(owner_uid, "image.reference", root.reference));
  // What the operator wants holds also for what came into the store before.
  std::vector<std::string> names = NamesOf(*image);
  if (names.empty()) names.push_back("");
  for (const std::string& name : names) ODY_RETURN_IF_ERROR(CheckName(name, *image));
  ODY_RETURN_IF_ERROR(CheckGivenName(root.reference, *image));
  *hold = HoldOf(image->layers);
  return FoundOf(*image, root.user);
}

// Of NAME@sha256:HEX, whose NAME need not be one of the image's.
Status ImageStore::CheckGivenName(const std::string& reference, const StoredImage& image) {
  ODY_ASSIGN_OR_RETURN(const ImageReference given, ParseImageReference(reference));
  if (given.name.empty() || given.digest.empty()) return OkStatus();
  return CheckName(given.name, image);
}

Status ImageStore::CheckName(const std::string& name, const StoredImage& image) {
  std::string signed_by;
  const Status status = CheckSignatures(name, image.digest, image.signatures, &signed_by);
  return status.ok() ? OkStatus() : OfField("image.reference", status);
}

Result<LayerHold> ImageStore::Use(const CellKey& key, uint32_t owner_uid, bool lasts,
                                  policy::ImageRoot* root) {
  const std::lock_guard lock(mutex_);
  const auto known = uses_.find(key);
  const StoredImage* image = nullptr;
  if (lasts && known != uses_.end() && known->second.reference == root->reference &&
      known->second.owner_uid == owner_uid) {
    const auto same = images_.find({known->second.image_owner_uid, known->second.digest});
    if (same != images_.end()) image = &same->second;
  }
  if (image == nullptr) {
    ODY_ASSIGN_OR_RETURN(image, Resolve(owner_uid, "image.reference", root->reference));
  }
  ODY_RETURN_IF_ERROR(CheckGivenName(root->reference, *image));
  if (lasts && known != uses_.end() && known->second.digest != image->digest) {
    return Refused(Code::kFailedPrecondition, "image.reference", root->reference,
                   "it is " + image->digest + ", and the cell's directories are of the image " +
                       known->second.digest + "; name that one, or remove the cell");
  }
  if (lasts) {
    const ImageUse use = {key, owner_uid, root->reference, image->owner_uid, image->digest};
    if (known == uses_.end() || !(known->second == use)) ODY_RETURN_IF_ERROR(index_.Save(use));
    uses_[key] = use;
  }
  root->reference = image->digest;
  return HoldOf(image->layers);
}

Result<ImageUse> ImageStore::UseOf(const CellKey& key) {
  const std::lock_guard lock(mutex_);
  const auto use = uses_.find(key);
  if (use != uses_.end()) return use->second;
  return Refused(Code::kFailedPrecondition, "key", "",
                 "the cell has no image, or no directories that last");
}

void ImageStore::ForgetUse(const CellKey& key) {
  const std::lock_guard lock(mutex_);
  const auto use = uses_.find(key);
  if (use == uses_.end() || !index_.Erase(use->second).ok()) return;
  uses_.erase(use);
}

Result<std::vector<std::string>> ImageStore::LayersOf(const CellKey& key, LayerHold* hold) {
  ODY_ASSIGN_OR_RETURN(const ImageUse use, UseOf(key));
  const std::lock_guard lock(mutex_);
  ODY_ASSIGN_OR_RETURN(const StoredImage* const image, ImageOf(use));
  *hold = HoldOf(image->layers);
  return LayerNames(*image);
}

Result<const StoredImage*> ImageStore::ImageOf(const ImageUse& use) const {
  const auto found = images_.find({use.image_owner_uid, use.digest});
  if (found != images_.end()) return &found->second;
  return Refused(Code::kNotFound, "key", "", "its image " + use.digest + " is not there");
}

// ── What goes ───────────────────────────────────────────────────────────────────────────────────

Result<v1::RemoveImageResponse> ImageStore::Remove(uint32_t owner_uid,
                                                   const std::string& reference) {
  const std::lock_guard lock(mutex_);
  ODY_ASSIGN_OR_RETURN(const StoredImage* const found, Resolve(owner_uid, "reference", reference));
  const StoredImage image = *found;
  const ImageReference asked = *ParseImageReference(reference);
  if (!asked.name.empty() && !asked.digest.empty()) {
    return Refused(Code::kInvalidArgument, "reference", reference,
                   "give the name, or the digest, which forgets all names of the image");
  }
  if (image.owner_uid != owner_uid) {
    return Refused(Code::kPermissionDenied, "reference", reference,
                   "it is an image of " + UserText(image.owner_uid) + ", which alone removes it");
  }
  ImageNames left = names_[owner_uid];
  v1::RemoveImageResponse response;
  for (const std::string& name : NamesOf(image)) {
    if (!asked.name.empty() && name != asked.name) continue;
    left.erase(name);
    response.add_removed_names(name);
  }
  ODY_RETURN_IF_ERROR(index_.SaveNames(owner_uid, left));
  names_[owner_uid] = std::move(left);
  ODY_ASSIGN_OR_RETURN(const bool gone, RemoveUnlessNamed({owner_uid, image.digest}));
  if (gone) response.set_removed_image(image.digest);
  return response;
}

// Collect erases its record, once no cell has it.
Result<bool> ImageStore::RemoveUnlessNamed(const ImageKey& key) {
  const auto image = images_.find(key);
  if (image == images_.end() || !NamesOf(image->second).empty()) return false;
  StoredImage removed = image->second;
  removed.removed = true;
  ODY_RETURN_IF_ERROR(index_.Save(removed));
  image->second = std::move(removed);
  return true;
}

Result<v1::CollectImagesResponse> ImageStore::Collect(
    const std::function<std::set<std::string>()>& live) {
  std::set<std::string> digests, names;
  {
    const std::lock_guard lock(mutex_);
    names = live();
    std::set<ImageKey> used;
    for (const auto& [key, use] : uses_) used.emplace(use.image_owner_uid, use.digest);
    std::set<std::string> blobs;
    for (auto image = images_.begin(); image != images_.end();) {
      if (image->second.removed && used.count(image->first) == 0) {
        ODY_RETURN_IF_ERROR(index_.Erase(image->second));
        image = images_.erase(image);
        continue;
      }
      digests.insert(image->second.layers.begin(), image->second.layers.end());
      blobs.insert({image->second.digest, image->second.config_digest});
      ++image;
    }
    digests.insert(held_.begin(), held_.end());
    ODY_ASSIGN_OR_RETURN(const std::set<std::string> stored, index_.Blobs());
    for (const std::string& blob : stored) {
      if (blobs.count(blob) == 0) ODY_RETURN_IF_ERROR(index_.EraseBlob(blob));
    }
  }
  ODY_ASSIGN_OR_RETURN(const LayerTable::Collected collected, layers_->Collect(digests, names));
  v1::CollectImagesResponse response;
  response.set_layers(collected.layers);
  response.set_bytes(collected.bytes);
  return response;
}

}  // namespace odyssey::supervisor
