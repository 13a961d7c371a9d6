#include "common/oci/entry_codec.h"

#include <algorithm>
#include <utility>

#include "common/base/utf8.h"
#include "common/oci/digest.h"

namespace odyssey::oci {
namespace {

constexpr size_t kCountBytes = 4;
constexpr size_t kDataLengthBytes = 8;

uint64_t LittleEndian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i > 0; --i) {
    value = value << 8 | static_cast<unsigned char>(bytes[i - 1]);
  }
  return value;
}

std::string LittleEndian(uint64_t value, size_t size) {
  std::string out;
  for (size_t i = 0; i < size; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
  return out;
}

}  // namespace

Status CheckEntryPath(const EntryFormat& format, const std::string& path) {
  const std::string entry(format.entry);
  if (path.empty()) return InvalidBundle(entry + " path cannot be empty");
  if (!IsValidUtf8(path) || path.find('\0') != std::string::npos) {
    return InvalidBundle(entry + " path is not UTF-8 text: " + SanitizeUtf8(path));
  }
  const bool layer = &format == &kLayerFormat;
  const std::string what = entry + (layer ? " path" : "");
  if (path[0] == '/') {
    return InvalidBundle(what + (layer ? " must be relative: " : " escapes destination: ") + path);
  }
  for (size_t start = 0; start <= path.size();) {
    const size_t slash = std::min(path.find('/', start), path.size());
    const std::string_view component = std::string_view(path).substr(start, slash - start);
    if (component == "..") return InvalidBundle(what + " escapes destination: " + path);
    if (component.empty() || component == ".") {
      return InvalidBundle(what + " is not normalised: " + path);
    }
    start = slash + 1;
  }
  return OkStatus();
}

EntryDecoder::EntryDecoder(const EntryFormat& format, EntrySink* sink)
    : format_(format), sink_(sink) {}

Status EntryDecoder::Exceeds(std::string_view what, const std::string& maximum) const {
  return InvalidBundle(std::string(what) + " exceeds maximum " + maximum);
}

// Bytes of the field that the step reads.
size_t EntryDecoder::Wanted() const {
  switch (step_) {
    case Step::kMagic:
      return format_.magic.size();
    case Step::kPath:
      return path_bytes_;
    case Step::kDataLength:
      return kDataLengthBytes;
    default:
      return kCountBytes;
  }
}

Status EntryDecoder::Feed(std::string_view bytes) {
  while (!bytes.empty()) {
    if (step_ == Step::kDone) return InvalidBundle(std::string(format_.trailing));
    if (step_ == Step::kData) {
      ODY_RETURN_IF_ERROR(TakeData(&bytes));
      continue;
    }
    const size_t taken = std::min(Wanted() - field_.size(), bytes.size());
    field_.append(bytes.substr(0, taken));
    bytes.remove_prefix(taken);
    if (field_.size() < Wanted()) break;
    ODY_RETURN_IF_ERROR(TakeField());
  }
  return OkStatus();
}

Status EntryDecoder::TakeField() {
  const std::string field = std::exchange(field_, "");
  switch (step_) {
    case Step::kMagic:
      if (field != format_.magic) return InvalidBundle(std::string(format_.bad_magic));
      step_ = Step::kCount;
      return OkStatus();
    case Step::kCount:
      return TakeCount(LittleEndian(field));
    case Step::kPathLength:
      return TakePathLength(LittleEndian(field));
    case Step::kPath:
      path_ = field;
      step_ = Step::kDataLength;
      return CheckEntryPath(format_, path_);
    case Step::kDataLength:
      return TakeDataLength(LittleEndian(field));
    case Step::kData:
    case Step::kDone:
      break;
  }
  return OkStatus();
}

Status EntryDecoder::TakeCount(uint64_t count) {
  if (count > kMaxEntries) return Exceeds(format_.count, std::to_string(kMaxEntries));
  entries_left_ = count;
  step_ = count == 0 ? Step::kDone : Step::kPathLength;
  return OkStatus();
}

Status EntryDecoder::TakePathLength(uint64_t length) {
  if (length > kMaxPathBytes) {
    return Exceeds(format_.path, std::to_string(kMaxPathBytes) + " bytes");
  }
  if (length == 0) return CheckEntryPath(format_, "");
  path_bytes_ = length;
  step_ = Step::kPath;
  return OkStatus();
}

Status EntryDecoder::TakeDataLength(uint64_t length) {
  if (length > kMaxEntryBytes) {
    return Exceeds(format_.data, std::to_string(kMaxEntryBytes) + " bytes");
  }
  if (!seen_.insert(path_).second) {
    return InvalidBundle(std::string(format_.entry) + " comes twice: " + path_);
  }
  ODY_RETURN_IF_ERROR(sink_->Begin(path_, length));
  data_left_ = length;
  step_ = Step::kData;
  return length == 0 ? EndEntry() : OkStatus();
}

Status EntryDecoder::TakeData(std::string_view* bytes) {
  const size_t taken = static_cast<size_t>(std::min<uint64_t>(data_left_, bytes->size()));
  ODY_RETURN_IF_ERROR(sink_->Data(bytes->substr(0, taken)));
  bytes->remove_prefix(taken);
  data_left_ -= taken;
  return data_left_ == 0 ? EndEntry() : OkStatus();
}

Status EntryDecoder::EndEntry() {
  step_ = --entries_left_ == 0 ? Step::kDone : Step::kPathLength;
  return sink_->End();
}

Status EntryDecoder::Finish() const {
  if (step_ == Step::kDone) return OkStatus();
  if (step_ == Step::kMagic) return InvalidBundle(std::string(format_.bad_magic));
  return InvalidBundle("bundle entry is truncated");
}

Result<std::string> EncodeHeader(const EntryFormat& format, size_t count) {
  if (count > kMaxEntries) {
    return InvalidBundle(std::string(format.count) + " exceeds maximum " +
                         std::to_string(kMaxEntries));
  }
  return std::string(format.magic) + LittleEndian(count, kCountBytes);
}

Result<std::string> EncodeEntry(const EntryFormat& format, const std::string& path,
                                uint64_t bytes) {
  ODY_RETURN_IF_ERROR(CheckEntryPath(format, path));
  if (path.size() > kMaxPathBytes) {
    return InvalidBundle(std::string(format.path) + " exceeds maximum " +
                         std::to_string(kMaxPathBytes) + " bytes");
  }
  if (bytes > kMaxEntryBytes) {
    return InvalidBundle(std::string(format.data) + " exceeds maximum " +
                         std::to_string(kMaxEntryBytes) + " bytes: " + path);
  }
  return LittleEndian(path.size(), kCountBytes) + path + LittleEndian(bytes, kDataLengthBytes);
}

}  // namespace odyssey::oci
