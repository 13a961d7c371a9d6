#include "image/repack/repack.h"

#include <archive_entry.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <set>
#include <tuple>

#include "image/layer/archive_reader.h"
#include "image/layer/entry_path.h"

namespace odyssey::image {
namespace {

Status ReadFailed(archive* reader) { return InvalidArgument("the archive: " + WhyUnread(reader)); }

Result<TarHeader> HeaderOf(archive_entry* entry, const Bounds& bounds) {
  TarHeader header;
  ODY_ASSIGN_OR_RETURN(header.path, NormalPath(archive_entry_pathname(entry), bounds));
  header.type = archive_entry_filetype(entry);
  header.mode = archive_entry_perm(entry) & kKeptBits;
  header.mtime = archive_entry_mtime(entry);
  const int64_t uid = archive_entry_uid(entry), gid = archive_entry_gid(entry);
  if (uid < 0 || uid > UINT32_MAX || gid < 0 || gid > UINT32_MAX) {
    return InvalidArgument("its owner is no number of 32 bits");
  }
  header.uid = static_cast<uint32_t>(uid);
  header.gid = static_cast<uint32_t>(gid);
  if (const char* const to = archive_entry_hardlink(entry); to != nullptr) {
    header.hard_link = true;
    header.type = S_IFREG;
    ODY_ASSIGN_OR_RETURN(header.link, NormalPath(to, bounds));
    return header;
  }
  switch (header.type) {
    case AE_IFREG:
      if (archive_entry_size(entry) < 0) return InvalidArgument("its size is negative");
      header.size = static_cast<uint64_t>(archive_entry_size(entry));
      return header;
    case AE_IFDIR:
    case AE_IFIFO:
      return header;
    case AE_IFLNK: {
      const char* const to = archive_entry_symlink(entry);
      if (to == nullptr || *to == '\0') return InvalidArgument("it is a link to nothing");
      header.link = to;
      return header;
    }
    default:
      return InvalidArgument("it is no file, directory, link or pipe");
  }
}

// One tar, entry by entry.
class Reading final {
 public:
  Reading(int file, TarPacking packing, const Bounds& bounds)
      : bounds_(bounds), reader_(archive_read_new(), archive_read_free) {
    ODY_CHECK(reader_ != nullptr);
    lseek(file, 0, SEEK_SET);
    archive_read_support_format_tar(reader_.get());
    if (packing == TarPacking::kAny) {
      archive_read_support_filter_gzip(reader_.get());
      archive_read_support_filter_bzip2(reader_.get());
      archive_read_support_filter_xz(reader_.get());
      archive_read_support_filter_zstd(reader_.get());
    }
    opened_ = archive_read_open_fd(reader_.get(), file, kReadBytes);
  }

  // Until `take` returns false.
  Status ForEach(const std::function<Result<bool>(const TarHeader&)>& take) {
    const Status no_tar = FailedPrecondition("it is no tar");
    if (opened_ != ARCHIVE_OK) return no_tar;
    for (archive_entry* entry = nullptr;; ++entries_) {
      const int code = archive_read_next_header(reader_.get(), &entry);
      if (code == ARCHIVE_EOF) return entries_ == 0 ? no_tar : OkStatus();
      if (code != ARCHIVE_OK) return entries_ == 0 ? no_tar : ReadFailed(reader_.get());
      if (entries_ >= bounds_.entries) {
        return ResourceExhausted("the archive has more than " + std::to_string(bounds_.entries) +
                                 " entries");
      }
      const char* const path = archive_entry_pathname(entry);
      if (path == nullptr) return InvalidArgument("an entry has no path");
      const std::string named = path;
      const auto one = [&]() -> Result<bool> {
        ODY_ASSIGN_OR_RETURN(const TarHeader header, HeaderOf(entry, bounds_));
        return take(header);
      };
      const Result<bool> more = one();
      if (!more.ok()) {
        return Status(more.status().code(), Quoted(named) + ": " + more.status().message());
      }
      if (!*more) return OkStatus();
    }
  }

  // Of the entry that was given last, holes as zeros.
  Status ForEachPiece(uint64_t size, const std::function<Status(std::string_view)>& sink) {
    static const std::string kZeros(kReadBytes, '\0');
    uint64_t at = 0;
    const auto fill = [&](uint64_t to) -> Status {
      while (at < to) {
        const uint64_t piece = std::min<uint64_t>(to - at, kZeros.size());
        ODY_RETURN_IF_ERROR(Count(piece));
        ODY_RETURN_IF_ERROR(sink(std::string_view(kZeros).substr(0, piece)));
        at += piece;
      }
      return OkStatus();
    };
    for (;;) {
      const void* data = nullptr;
      size_t count = 0;
      la_int64_t offset = 0;
      const int code = archive_read_data_block(reader_.get(), &data, &count, &offset);
      if (code == ARCHIVE_EOF) break;
      if (code != ARCHIVE_OK) return ReadFailed(reader_.get());
      const auto begin = static_cast<uint64_t>(offset);
      if (offset < 0 || begin < at || begin > size || count > size - begin) {
        return InvalidArgument("has data beyond its size");
      }
      ODY_RETURN_IF_ERROR(fill(begin));
      ODY_RETURN_IF_ERROR(Count(count));
      ODY_RETURN_IF_ERROR(sink(std::string_view(static_cast<const char*>(data), count)));
      at += count;
    }
    return fill(size);
  }

 private:
  Status Count(uint64_t count) {
    bytes_ += count;
    if (bytes_ > bounds_.bytes) {
      return ResourceExhausted("the archive has more than " + std::to_string(bounds_.bytes) +
                               " bytes");
    }
    const auto packed = static_cast<uint64_t>(archive_filter_bytes(reader_.get(), -1));
    if (bytes_ > bounds_.free_bytes && bytes_ / bounds_.ratio > packed) {
      return ResourceExhausted("the archive has more than " + std::to_string(bounds_.ratio) +
                               " bytes for each of its own");
    }
    return OkStatus();
  }

  const Bounds& bounds_;
  const Archive reader_;
  int opened_ = ARCHIVE_FATAL;
  uint64_t entries_ = 0, bytes_ = 0;
};

Status RepackPart(const TarPart& part, const RepackRules& rules, const Bounds& bounds,
                  TarWriter* out) {
  Reading reading(part.file, part.packing, bounds);
  std::set<std::string> written;  // files, which later names can be links to
  return reading.ForEach([&](const TarHeader& read) -> Result<bool> {
    const std::optional<std::string> name = NameInLayer(part, read.path);
    if (!name || name->empty()) return true;  // of the root nothing is changed
    TarHeader header = read;
    header.path = *name;
    if (read.hard_link) {
      const std::optional<std::string> target = NameInLayer(part, read.link);
      if (!target || written.count(*target) == 0) {
        return InvalidArgument("it is a hard link to \"" + read.link +
                               "\", which is not copied above it");
      }
      header.link = *target;
    }
    header = Ruled(rules, std::move(header));
    ODY_RETURN_IF_ERROR(out->Begin(header));
    if (S_ISREG(header.type)) written.insert(header.path);
    if (S_ISREG(header.type) && !header.hard_link) {
      ODY_RETURN_IF_ERROR(reading.ForEachPiece(
          header.size, [out](std::string_view bytes) { return out->Data(bytes); }));
    }
    return true;
  });
}

void AddField(std::string_view field, std::string* out) {
  *out += field;
  *out += '\0';
}

}  // namespace

Result<std::vector<TarHeader>> ListTar(int file, TarPacking packing, size_t most,
                                       const Bounds& bounds) {
  const Utf8Names names;
  std::vector<TarHeader> headers;
  Reading reading(file, packing, bounds);
  ODY_RETURN_IF_ERROR(reading.ForEach([&](const TarHeader& header) -> Result<bool> {
    headers.push_back(header);
    return headers.size() < most;
  }));
  return headers;
}

std::optional<std::string> NameInLayer(const TarPart& part, const std::string& path) {
  if (part.from.empty()) {
    if (path.empty() || part.to.empty()) return path.empty() ? part.to : path;
    return part.to + "/" + path;
  }
  if (path == part.from) return part.to;
  if (!path.starts_with(part.from + "/")) return std::nullopt;
  const std::string below = path.substr(part.from.size() + 1);
  return part.to.empty() ? below : part.to + "/" + below;
}

TarHeader Ruled(const RepackRules& rules, TarHeader header) {
  if (rules.owner) std::tie(header.uid, header.gid) = *rules.owner;
  if (rules.mode && !S_ISLNK(header.type)) header.mode = *rules.mode;
  const auto kept = rules.kept.find(header.path);
  if (kept == rules.kept.end() || !S_ISDIR(header.type)) return header;
  header.mode = kept->second.mode;
  header.uid = kept->second.uid;
  header.gid = kept->second.gid;
  return header;
}

Result<std::string> ReadOneFile(int file, size_t max_bytes) {
  const Utf8Names names;
  const Bounds bounds;
  std::string content;
  Reading reading(file, TarPacking::kPlain, bounds);
  const auto append = [&content](std::string_view bytes) {
    content += bytes;
    return OkStatus();
  };
  const Status read = reading.ForEach([&](const TarHeader& header) -> Result<bool> {
    if (!S_ISREG(header.type) || header.hard_link) return InvalidArgument("it is no file");
    if (header.size > max_bytes) {
      return ResourceExhausted("it has more than " + std::to_string(max_bytes) + " bytes");
    }
    ODY_RETURN_IF_ERROR(reading.ForEachPiece(header.size, append));
    return false;
  });
  ODY_RETURN_IF_ERROR(read);
  return content;
}

Status Repack(const std::vector<TarPart>& parts, const RepackRules& rules, const Bounds& bounds,
              TarWriter* out) {
  const Utf8Names names;
  for (const TarHeader& header : rules.above) ODY_RETURN_IF_ERROR(out->Begin(header));
  for (const TarPart& part : parts) ODY_RETURN_IF_ERROR(RepackPart(part, rules, bounds, out));
  return OkStatus();
}

std::string EncodeHeaders(const std::vector<TarHeader>& headers) {
  std::string out;
  for (const TarHeader& header : headers) {
    AddField(header.path, &out);
    AddField(header.link, &out);
    for (const uint64_t number :
         {uint64_t{header.type}, uint64_t{header.mode}, uint64_t{header.uid}, uint64_t{header.gid},
          header.size, static_cast<uint64_t>(header.mtime), uint64_t{header.hard_link}}) {
      AddField(std::to_string(number), &out);
    }
  }
  return out;
}

Result<std::vector<TarHeader>> DecodeHeaders(std::string_view text) {
  std::vector<TarHeader> headers;
  bool good = true;
  const auto field = [&] {
    const size_t end = text.find('\0');
    good = good && end != std::string_view::npos;
    const std::string_view out = text.substr(0, end);
    text.remove_prefix(good ? end + 1 : text.size());
    return out;
  };
  const auto number = [&] {
    const std::string_view digits = field();
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    good = good && error == std::errc() && end == digits.data() + digits.size();
    return value;
  };
  while (good && !text.empty()) {
    TarHeader header;
    header.path = field();
    header.link = field();
    header.type = static_cast<mode_t>(number());
    header.mode = static_cast<mode_t>(number());
    header.uid = static_cast<uint32_t>(number());
    header.gid = static_cast<uint32_t>(number());
    header.size = number();
    header.mtime = static_cast<int64_t>(number());
    header.hard_link = number() == 1;
    headers.push_back(std::move(header));
  }
  if (!good) return InvalidArgument("no list of headers");
  return headers;
}

}  // namespace odyssey::image
