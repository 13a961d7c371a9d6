#include "ctl/backup/tar_stream.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>

#include "common/os/file.h"

namespace odyssey::ctl {
namespace {

constexpr size_t kBlock = 512;
constexpr size_t kPiece = 64 * 1024;
constexpr char kLongNameType = 'L';

// POSIX.1-1988 with ustar's magic; numbers are octal digits.
struct Block {
  char name[100];
  char mode[8], uid[8], gid[8];
  char size[12], mtime[12];
  char checksum[8];
  char type;
  char link[100];
  char magic[6], version[2];
  char user[32], group[32];
  char device_major[8], device_minor[8];
  char prefix[155];
  char unused[12];
};
static_assert(sizeof(Block) == kBlock);

uint64_t PaddingOf(uint64_t size) { return (kBlock - size % kBlock) % kBlock; }

// The sum of all bytes, those of the checksum itself as spaces.
unsigned ChecksumOf(Block block) {
  memset(block.checksum, ' ', sizeof(block.checksum));
  unsigned sum = 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(&block);
  for (size_t i = 0; i < kBlock; ++i) sum += bytes[i];
  return sum;
}

template <size_t N>
std::string TextOf(const char (&field)[N]) {
  return {field, strnlen(field, N)};
}

template <size_t N>
std::optional<uint64_t> NumberOf(const char (&field)[N]) {
  uint64_t value = 0;
  size_t i = 0;
  while (i < N && field[i] == ' ') ++i;
  const size_t begin = i;
  for (; i < N && field[i] >= '0' && field[i] <= '7'; ++i) {
    value = value * 8 + static_cast<uint64_t>(field[i] - '0');
  }
  const bool ended = i == N || field[i] == '\0' || field[i] == ' ';
  return ended && i > begin ? std::optional(value) : std::nullopt;
}

const char* KindOf(char type) {
  switch (type) {
    case '1':
      return "a hard link";
    case '2':
      return "a symbolic link";
    case '3':
    case '4':
      return "a device";
    case '6':
      return "a FIFO";
    default:
      return "of a kind that no backup has";
  }
}

}  // namespace

Status CheckTarName(const std::string& name) {
  const auto refused = [&](const char* why) { return InvalidArgument(name + ": " + why); };
  if (name.empty() || name.size() > kMaxTarName) return refused("an empty or too long name");
  if (name[0] == '/') return refused("an absolute path");
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('/', begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return refused("a path with . or .. in it");
    begin = end + 1;
  }
  const bool control =
      std::any_of(name.begin(), name.end(), [](unsigned char c) { return c < 32; });
  return control ? refused("a control character in the name") : OkStatus();
}

Status TarWriter::Header(const TarEntry& entry, char type, const std::string& name) {
  Block block{};
  memcpy(block.name, name.data(), std::min(name.size(), sizeof(block.name)));
  snprintf(block.mode, sizeof(block.mode), "%07o", static_cast<unsigned>(entry.mode & 0777));
  snprintf(block.uid, sizeof(block.uid), "%07o", 0U);
  snprintf(block.gid, sizeof(block.gid), "%07o", 0U);
  snprintf(block.size, sizeof(block.size), "%011llo", static_cast<unsigned long long>(entry.size));
  snprintf(block.mtime, sizeof(block.mtime), "%011llo",
           static_cast<unsigned long long>(std::max<int64_t>(entry.mtime, 0)) & 077777777777ULL);
  block.type = type;
  memcpy(block.magic, "ustar", 6);
  memcpy(block.version, "00", 2);
  const unsigned sum = ChecksumOf(block);
  snprintf(block.checksum, sizeof(block.checksum), "%06o", sum);
  block.checksum[7] = ' ';
  return WriteAll(fd_, {reinterpret_cast<const char*>(&block), kBlock});
}

Status TarWriter::Begin(const TarEntry& entry) {
  ODY_RETURN_IF_ERROR(CheckTarName(entry.name));
  if (entry.size > kMaxTarFileBytes) {
    return InvalidArgument(entry.name + ": more than 8 GiB do not fit into a backup");
  }
  const std::string name = entry.name + (entry.directory ? "/" : "");
  if (name.size() > sizeof(Block::name)) {
    const TarEntry holder{.size = name.size() + 1};
    ODY_RETURN_IF_ERROR(Header(holder, kLongNameType, "././@LongLink"));
    std::string text = name + '\0';
    text.append(PaddingOf(text.size()), '\0');
    ODY_RETURN_IF_ERROR(WriteAll(fd_, text));
  }
  left_ = written_ = entry.size;
  return Header(entry, entry.directory ? '5' : '0', name);
}

Status TarWriter::Data(std::string_view bytes) {
  ODY_CHECK(bytes.size() <= left_);
  left_ -= bytes.size();
  return WriteAll(fd_, bytes);
}

Status TarWriter::End() {
  ODY_CHECK(left_ == 0);
  return WriteAll(fd_, std::string(PaddingOf(written_), '\0'));
}

Status TarWriter::Finish() { return WriteAll(fd_, std::string(2 * kBlock, '\0')); }

Result<std::string> TarReader::Read(size_t bytes) {
  std::string out(bytes, '\0');
  for (size_t got = 0; got < bytes;) {
    const ssize_t n = read(fd_, &out[got], bytes - got);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "read the backup");
    if (n == 0) return Status(Code::kDataLoss, "the backup ends too early: it was cut off");
    got += static_cast<size_t>(n);
  }
  return out;
}

Status TarReader::SkipPadding() {
  ODY_CHECK(left_ == 0);
  const auto padding = static_cast<size_t>(padding_);
  padding_ = 0;
  return Read(padding).status();
}

Result<std::optional<TarEntry>> TarReader::Next() {
  std::string long_name;
  for (;;) {
    ODY_RETURN_IF_ERROR(SkipPadding());
    ODY_ASSIGN_OR_RETURN(const std::string bytes, Read(kBlock));
    if (bytes.find_first_not_of('\0') == bytes.npos) return std::optional<TarEntry>();
    Block block;
    memcpy(&block, bytes.data(), kBlock);
    const auto checksum = NumberOf(block.checksum);
    const auto size = NumberOf(block.size);
    if (!checksum || *checksum != ChecksumOf(block) || !size || *size > kMaxTarFileBytes) {
      return Status(Code::kDataLoss, "this is no backup, or it is damaged: a header is wrong");
    }
    if (block.type == kLongNameType && long_name.empty() && *size <= kMaxTarName + 2) {
      ODY_ASSIGN_OR_RETURN(long_name, Read(static_cast<size_t>(*size)));
      padding_ = PaddingOf(*size);
      long_name.resize(strnlen(long_name.data(), long_name.size()));
      continue;
    }
    TarEntry entry;
    const std::string prefix = TextOf(block.prefix);
    entry.name = !long_name.empty() ? long_name
                 : prefix.empty()   ? TextOf(block.name)
                                    : prefix + "/" + TextOf(block.name);
    entry.directory = block.type == '5';
    if (block.type != '0' && block.type != '\0' && !entry.directory) {
      return InvalidArgument(entry.name + ": " + KindOf(block.type) +
                             "; a backup has files and directories alone");
    }
    if (entry.directory && entry.name.size() > 1 && entry.name.back() == '/') entry.name.pop_back();
    ODY_RETURN_IF_ERROR(CheckTarName(entry.name));
    entry.mode = static_cast<mode_t>(NumberOf(block.mode).value_or(0) & 0777);
    entry.mtime = static_cast<int64_t>(NumberOf(block.mtime).value_or(0));
    entry.size = *size;
    left_ = *size;
    padding_ = PaddingOf(*size);
    return std::optional(std::move(entry));
  }
}

Result<std::string> TarReader::Data() {
  const auto piece = static_cast<size_t>(std::min<uint64_t>(left_, kPiece));
  ODY_ASSIGN_OR_RETURN(std::string bytes, Read(piece));
  left_ -= piece;
  return bytes;
}

}  // namespace odyssey::ctl
