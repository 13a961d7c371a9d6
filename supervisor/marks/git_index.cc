#include "supervisor/marks/git_index.h"

#include <stdint.h>

#include <algorithm>
#include <string>
#include <vector>

namespace odyssey::marks {
namespace {

constexpr size_t kHeaderBytes = 12;
constexpr size_t kStatBytes = 40;
constexpr size_t kExtensionHeaderBytes = 8;
constexpr uint16_t kLengthMask = 0xfff;
constexpr uint16_t kExtended = 0x4000;
constexpr uint32_t kCompressed = 4;  // the version whose names share what they begin with

struct Entry {
  uint32_t offset;
  bool whole;  // its name takes nothing from the entry before it
};

// Names in an index, and numbers in network order, from one place on. A read beyond the end gives
// nothing, and nothing after it either.
class Reader final {
 public:
  Reader(std::string_view bytes, size_t at) : bytes_(bytes), at_(at) {}

  size_t at() const { return at_; }
  size_t left() const { return bytes_.size() - at_; }
  bool failed() const { return failed_; }

  std::string_view Take(size_t size) {
    if (failed_ || size > left()) {
      failed_ = true;
      return {};
    }
    const std::string_view out = bytes_.substr(at_, size);
    at_ += size;
    return out;
  }
  uint32_t Number(size_t size) {
    uint32_t out = 0;
    for (const char c : Take(size)) out = out << 8 | static_cast<unsigned char>(c);
    return out;
  }
  // As git encodes offsets: seven bits a byte, and one more for each byte that follows.
  size_t Varint() {
    size_t out = 0;
    for (bool first = true;; first = false) {
      const uint32_t byte = Number(1);
      if (!first) ++out;
      if (failed_ || out > bytes_.size()) {
        failed_ = true;
        return 0;
      }
      out = out << 7 | (byte & 0x7f);
      if ((byte & 0x80) == 0) return out;
    }
  }
  // Up to a NUL, which is taken too.
  std::string_view TakeName() {
    const size_t end = failed_ ? std::string_view::npos : bytes_.find('\0', at_);
    if (end == std::string_view::npos) {
      failed_ = true;
      return {};
    }
    const std::string_view out = Take(end - at_);
    Take(1);
    return out;
  }

 private:
  const std::string_view bytes_;
  size_t at_;
  bool failed_ = false;
};

class Index final {
 public:
  // `bytes` without the checksum at the end.
  Index(std::string_view bytes, size_t object_name_bytes)
      : bytes_(bytes), object_name_bytes_(object_name_bytes) {}

  bool StaysInTree() {
    Reader reader(bytes_, 0);
    if (reader.Take(4) != "DIRC") return false;
    version_ = reader.Number(4);
    const uint32_t entries = reader.Number(4);
    if (reader.failed() || version_ < 2 || version_ > kCompressed) return false;
    for (uint32_t i = 0; i < entries; ++i) {
      if (!ReadEntry(&reader) || !marks::StaysInTree(name_)) return false;
    }
    end_ = reader.at();
    return IsEndWhereItSays() && ReadExtensions(reader);
  }

 private:
  bool ReadEntry(Reader* reader) {
    const size_t begin = reader->at();
    reader->Take(kStatBytes + object_name_bytes_);
    const uint32_t flags = reader->Number(2);
    if ((flags & kExtended) != 0) reader->Number(2);
    const bool whole = TakeShared(reader);
    const size_t name_begin = reader->at();
    const std::string_view suffix = reader->TakeName();
    name_ += suffix;
    if (reader->failed()) return false;
    // The length is said as well, up to a bound; git goes by it.
    if (std::min<size_t>(name_.size(), kLengthMask) != (flags & kLengthMask)) return false;
    entries_.push_back({static_cast<uint32_t>(begin), whole});
    if (version_ == kCompressed) return true;
    const size_t size = (name_begin - begin + suffix.size() + 8) / 8 * 8;
    reader->Take(begin + size - reader->at());
    return !reader->failed();
  }

  // Leaves in name_ what the entry's name begins with.
  bool TakeShared(Reader* reader) {
    const size_t without = version_ == kCompressed ? reader->Varint() : name_.size();
    name_.resize(name_.size() - std::min(without, name_.size()));
    return name_.empty();
  }

  // The extension that tells where entries end is looked for at a fixed distance from the end. git
  // takes it to have a SHA-1 in it, even where it writes another one.
  bool IsEndWhereItSays() const {
    return IsEndWhereItSays(4 + kSha1Bytes) && IsEndWhereItSays(4 + kSha256Bytes);
  }
  bool IsEndWhereItSays(size_t size) const {
    if (bytes_.size() < size + kExtensionHeaderBytes + kHeaderBytes) return true;
    Reader reader(bytes_, bytes_.size() - size - kExtensionHeaderBytes);
    if (reader.Take(4) != "EOIE" || reader.Number(4) != size) return true;
    return reader.Number(4) == end_;
  }

  bool ReadExtensions(Reader reader) const {
    while (reader.left() >= kExtensionHeaderBytes) {
      const std::string_view name = reader.Take(4);
      const std::string_view data = reader.Take(reader.Number(4));
      if (reader.failed() || (name == "IEOT" && !AreBlocksTrue(data))) return false;
    }
    return true;
  }

  // The blocks of entries that threads read: from where the first is, how many.
  bool AreBlocksTrue(std::string_view data) const {
    Reader reader(data, 0);
    reader.Number(4);
    size_t next = 0;
    while (reader.left() >= 8) {
      const uint32_t offset = reader.Number(4);
      const uint32_t count = reader.Number(4);
      if (count > entries_.size() - next) return false;
      if (count > 0 && (entries_[next].offset != offset || !entries_[next].whole)) return false;
      next += count;
    }
    return next == entries_.size();
  }

  const std::string_view bytes_;
  const size_t object_name_bytes_;
  uint32_t version_ = 0;
  size_t end_ = 0;    // of the entries
  std::string name_;  // of the latest entry
  std::vector<Entry> entries_;
};

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// `.git` to a file system that ignores case, what follows a colon, or spaces and dots at the end,
// or that knows it by its short name.
bool IsGitDirectory(std::string_view name) {
  name = name.substr(0, name.find(':'));
  while (!name.empty() && (name.back() == ' ' || name.back() == '.')) name.remove_suffix(1);
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(), Lower);
  return lower == ".git" || lower == "git~1";
}

}  // namespace

bool StaysInTree(std::string_view path) {
  while (!path.empty()) {
    const std::string_view name = path.substr(0, path.find('/'));
    if (name.empty() || name == "." || name == ".." || IsGitDirectory(name)) return false;
    path.remove_prefix(std::min(name.size() + 1, path.size()));
  }
  return true;
}

bool IndexStaysInTree(std::string_view bytes, size_t object_name_bytes) {
  if (bytes.size() < object_name_bytes || bytes.size() > UINT32_MAX) return false;
  bytes.remove_suffix(object_name_bytes);
  return Index(bytes, object_name_bytes).StaysInTree();
}

}  // namespace odyssey::marks
