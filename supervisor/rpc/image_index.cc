#include "supervisor/rpc/image_index.h"

#include <charconv>
#include <optional>

#include "common/base/field_codec.h"
#include "common/base/sha256.h"
#include "image/spec/image_spec.h"

namespace odyssey::supervisor {
namespace {

constexpr uint32_t kMaxText = 4096;
constexpr uint32_t kMaxUids = 1 << 20;
constexpr uint32_t kMaxSignatures = 64;
constexpr uint32_t kMaxPayload = 64 * 1024;
constexpr uint32_t kMaxNames = 1 << 16;
constexpr size_t kMaxRecord = size_t{16} << 20;
constexpr uint8_t kVersion = 1;
constexpr std::string_view kDigestPrefix = "sha256:";

}  // namespace

void VisitFields(auto& v, layer::AccountFile& m) {
  v.Enum("state", m.state, layer::FileState::kText);
  v.Text("text", m.text, layer::kMaxAccounts);
}

void VisitFields(auto& v, StoredLayer& m) {
  v.Text("name", m.name, kMaxText);
  v.Text("digest", m.digest, kMaxText);
  v.Bool("whole", m.whole);
  v.U64("bytes", m.bytes);
  v.U64("unpacked_bytes", m.unpacked_bytes);
  v.U64("entries", m.entries);
  v.U64("set_id_files", m.set_id_files);
  std::vector<uint32_t> senders(m.senders.begin(), m.senders.end());
  v.List("senders", senders, kMaxUids);
  m.senders = {senders.begin(), senders.end()};
  VisitFields(v, m.passwd);
  VisitFields(v, m.group);
}

void VisitFields(auto& v, ImageSignature& m) {
  v.Text("payload", m.payload, kMaxPayload);
  v.Text("signature", m.signature, kMaxPayload);
}

void VisitFields(auto& v, StoredImage& m) {
  v.Text("digest", m.digest, kMaxText);
  v.U32("owner_uid", m.owner_uid);
  v.Text("config_digest", m.config_digest, kMaxText);
  v.Texts("layers", m.layers, image::kMaxLayers, kMaxText);
  v.Text("created_at", m.created_at, kMaxText);
  v.List("signatures", m.signatures, kMaxSignatures);
  v.Bool("removed", m.removed);
}

void VisitFields(auto& v, ImageUse& m) {
  v.Text("session_id", m.key.session_id, kMaxText);
  v.Text("agent_id", m.key.agent_id, kMaxText);
  v.Text("kind", m.key.kind, kMaxText);
  v.Text("component", m.key.component, kMaxText);
  v.U32("owner_uid", m.owner_uid);
  v.Text("reference", m.reference, kMaxText);
  v.U32("image_owner_uid", m.image_owner_uid);
  v.Text("digest", m.digest, kMaxText);
}

namespace {

struct Name {
  std::string name, digest;
};
void VisitFields(auto& v, Name& m) {
  v.Text("name", m.name, kMaxText);
  v.Text("digest", m.digest, kMaxText);
}

struct NameList {
  std::vector<Name> names;
};
void VisitFields(auto& v, NameList& m) { v.List("names", m.names, kMaxNames); }

template <typename M>
std::string EncodeRecord(const M& record) {
  Writer out;
  out.U8(kVersion);
  return out.Take() + EncodeFields(record);
}

template <typename M>
Result<M> DecodeRecord(const std::string& name, std::string_view bytes) {
  M record;
  Reader in(bytes);
  const bool known = in.U8() == kVersion;
  GetFields get(&in);
  VisitFields(get, record);
  if (known && in.Done()) return record;
  return Status(Code::kDataLoss, "audit/images/" + name + " cannot be read");
}

template <typename M>
Result<M> ReadRecord(const RecordFiles& files, const char* directory, const std::string& name) {
  ODY_ASSIGN_OR_RETURN(const std::string bytes, files.Read(name, kMaxRecord));
  return DecodeRecord<M>(directory + ("/" + name), bytes);
}

template <typename M>
Result<std::vector<M>> ReadAll(const RecordFiles& files, const char* directory) {
  ODY_ASSIGN_OR_RETURN(const std::vector<std::string> names, files.Names());
  std::vector<M> all;
  for (const std::string& name : names) {
    ODY_ASSIGN_OR_RETURN(all.emplace_back(), ReadRecord<M>(files, directory, name));
  }
  return all;
}

std::string HexOf(const std::string& digest) { return digest.substr(kDigestPrefix.size()); }

std::string NameOf(const StoredImage& image) {
  return std::to_string(image.owner_uid) + "-" + HexOf(image.digest);
}

std::string NameOf(const CellKey& key) {
  Sha256 hash;
  for (const std::string* part : {&key.session_id, &key.agent_id, &key.kind, &key.component}) {
    hash.Update(*part);
    hash.Update(std::string_view("\0", 1));
  }
  return hash.Hex();
}

}  // namespace

Result<ImageIndex> ImageIndex::Open(int directory) {
  // The directory around the others; it has no files.
  ODY_RETURN_IF_ERROR(RecordFiles::Open(directory, "images", "the image store").status());
  const auto open = [&](const char* name) {
    return RecordFiles::Open(directory, name, "a record of the image store");
  };
  ODY_ASSIGN_OR_RETURN(RecordFiles layers, open("images/layers"));
  ODY_ASSIGN_OR_RETURN(RecordFiles images, open("images/images"));
  ODY_ASSIGN_OR_RETURN(RecordFiles names, open("images/names"));
  ODY_ASSIGN_OR_RETURN(RecordFiles blobs, open("images/blobs"));
  ODY_ASSIGN_OR_RETURN(RecordFiles uses, open("images/uses"));
  return ImageIndex(std::move(layers), std::move(images), std::move(names), std::move(blobs),
                    std::move(uses));
}

Status ImageIndex::Save(const StoredLayer& layer) const {
  return layers_.Write(layer.name, EncodeRecord(layer));
}

Status ImageIndex::Save(const StoredImage& image) const {
  return images_.Write(NameOf(image), EncodeRecord(image));
}

Status ImageIndex::Save(const ImageUse& use) const {
  return uses_.Write(NameOf(use.key), EncodeRecord(use));
}

Status ImageIndex::SaveNames(uint32_t owner_uid, const ImageNames& names) const {
  NameList list;
  for (const auto& [name, digest] : names) list.names.push_back({name, digest});
  return names_.Write(std::to_string(owner_uid), EncodeRecord(list));
}

Status ImageIndex::SaveBlob(const std::string& digest, std::string_view bytes) const {
  return blobs_.Write(HexOf(digest), bytes);
}

Status ImageIndex::Erase(const StoredLayer& layer) const { return layers_.Remove(layer.name); }
Status ImageIndex::Erase(const StoredImage& image) const { return images_.Remove(NameOf(image)); }
Status ImageIndex::Erase(const ImageUse& use) const { return uses_.Remove(NameOf(use.key)); }
Status ImageIndex::EraseBlob(const std::string& digest) const {
  return blobs_.Remove(HexOf(digest));
}

Result<StoredLayer> ImageIndex::ReadLayer(const std::string& name) const {
  return ReadRecord<StoredLayer>(layers_, "layers", name);
}

Result<std::string> ImageIndex::ReadBlob(const std::string& digest) const {
  return blobs_.Read(HexOf(digest), kMaxRecord);
}

Result<std::vector<StoredLayer>> ImageIndex::Layers() const {
  return ReadAll<StoredLayer>(layers_, "layers");
}

Result<std::vector<StoredImage>> ImageIndex::Images() const {
  return ReadAll<StoredImage>(images_, "images");
}

Result<std::vector<ImageUse>> ImageIndex::Uses() const { return ReadAll<ImageUse>(uses_, "uses"); }

Result<std::map<uint32_t, ImageNames>> ImageIndex::Names() const {
  ODY_ASSIGN_OR_RETURN(const std::vector<std::string> files, names_.Names());
  std::map<uint32_t, ImageNames> all;
  for (const std::string& file : files) {
    uint32_t uid = 0;
    const auto [end, error] = std::from_chars(file.data(), file.data() + file.size(), uid);
    if (error != std::errc() || end != file.data() + file.size()) {
      return Status(Code::kDataLoss, "audit/images/names/" + file + " is of no uid");
    }
    ODY_ASSIGN_OR_RETURN(const NameList list, ReadRecord<NameList>(names_, "names", file));
    for (const Name& name : list.names) all[uid][name.name] = name.digest;
  }
  return all;
}

Result<std::set<std::string>> ImageIndex::Blobs() const {
  ODY_ASSIGN_OR_RETURN(const std::vector<std::string> names, blobs_.Names());
  std::set<std::string> digests;
  for (const std::string& name : names) digests.insert(std::string(kDigestPrefix) + name);
  return digests;
}

}  // namespace odyssey::supervisor
