#include "policy/elf/elf.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace odyssey::elf {
namespace {

// The layout of elf(5) for 64-bit files, by offset, so that no structure of the build's machine is
// laid over bytes of another.
constexpr uint64_t kHeaderSize = 64;
constexpr uint64_t kSegmentSize = 56;
constexpr uint64_t kDynamicSize = 16;
constexpr uint8_t kClass64 = 2;
constexpr uint8_t kLeastByteFirst = 1;
constexpr uint16_t kExecutableFile = 2;
constexpr uint16_t kSharedFile = 3;
constexpr uint32_t kLoadSegment = 1;
constexpr uint32_t kDynamicSegment = 2;
constexpr uint32_t kInterpreterSegment = 3;
constexpr uint64_t kEnd = 0;
constexpr uint64_t kNeeded = 1;
constexpr uint64_t kStringTable = 5;
constexpr uint64_t kStringTableSize = 10;
constexpr uint64_t kRpath = 15;
constexpr uint64_t kRunpath = 29;

struct Segment {
  uint32_t type = 0;
  uint64_t offset = 0;
  uint64_t address = 0;
  uint64_t size = 0;  // in the file
};

struct Dynamic {
  std::vector<uint64_t> needed;  // offsets into the string table
  std::vector<uint64_t> rpath, runpath;
  uint64_t strings = 0;  // address
  uint64_t strings_size = 0;
};

template <typename T>
T Little(const char* bytes) {
  T value = 0;
  for (size_t i = sizeof(T); i-- > 0;) {
    value = static_cast<T>(value << 8 | static_cast<unsigned char>(bytes[i]));
  }
  return value;
}

Status Malformed(const std::string& what) {
  return InvalidArgument("not a usable ELF file: " + what);
}

class Parser final {
 public:
  Parser(uint64_t file_size, const ReadAt& read) : file_size_(file_size), read_(read) {}

  Result<Image> Run() {
    Image image;
    image.kind = Kind::kElf;
    ODY_RETURN_IF_ERROR(ReadSegments());
    for (const Segment& segment : segments_) {
      if (segment.type == kInterpreterSegment) {
        ODY_ASSIGN_OR_RETURN(image.interpreter, ReadInterpreter(segment));
      } else if (segment.type == kDynamicSegment) {
        ODY_RETURN_IF_ERROR(ReadDynamic(segment));
      }
    }
    ODY_RETURN_IF_ERROR(ReadNames(&image));
    return image;
  }

 private:
  Result<std::string> Read(uint64_t offset, uint64_t size, const char* what) {
    std::string bytes(size, '\0');
    const bool inside = offset <= file_size_ && size <= file_size_ - offset;
    if (!inside || !read_(offset, size, bytes.data())) {
      return Malformed(std::string(what) + " lies outside the file");
    }
    return bytes;
  }

  Status ReadSegments() {
    ODY_ASSIGN_OR_RETURN(const std::string header, Read(0, kHeaderSize, "the header"));
    if (header[4] != kClass64 || header[5] != kLeastByteFirst) {
      return Malformed("only 64-bit files, least significant byte first, run here");
    }
    const auto type = Little<uint16_t>(&header[16]);
    if (type != kExecutableFile && type != kSharedFile) {
      return Malformed("neither a program nor a library");
    }
    const auto count = Little<uint16_t>(&header[56]);
    if (Little<uint16_t>(&header[54]) != kSegmentSize || count == 0 || count > kMaxSegments) {
      return Malformed("its program headers are of another size, none, or too many");
    }
    ODY_ASSIGN_OR_RETURN(
        const std::string table,
        Read(Little<uint64_t>(&header[32]), count * kSegmentSize, "the program headers"));
    for (size_t at = 0; at < table.size(); at += kSegmentSize) {
      segments_.push_back({.type = Little<uint32_t>(&table[at]),
                           .offset = Little<uint64_t>(&table[at + 8]),
                           .address = Little<uint64_t>(&table[at + 16]),
                           .size = Little<uint64_t>(&table[at + 32])});
    }
    return OkStatus();
  }

  Result<std::string> ReadInterpreter(const Segment& segment) {
    if (segment.size < 2 || segment.size > kMaxString) return Malformed("its interpreter's length");
    ODY_ASSIGN_OR_RETURN(std::string name, Read(segment.offset, segment.size, "the interpreter"));
    if (name.back() != '\0') return Malformed("its interpreter's name does not end");
    name.resize(name.find('\0'));
    return name;
  }

  Status ReadDynamic(const Segment& segment) {
    if (segment.size > kMaxDynamicBytes) return Malformed("its dynamic section is too long");
    ODY_ASSIGN_OR_RETURN(const std::string table,
                         Read(segment.offset, segment.size, "the dynamic section"));
    for (size_t at = 0; at + kDynamicSize <= table.size(); at += kDynamicSize) {
      const auto tag = Little<uint64_t>(&table[at]);
      const auto value = Little<uint64_t>(&table[at + 8]);
      if (tag == kEnd) break;
      if (tag == kNeeded) dynamic_.needed.push_back(value);
      if (tag == kRpath) dynamic_.rpath = {value};
      if (tag == kRunpath) dynamic_.runpath = {value};
      if (tag == kStringTable) dynamic_.strings = value;
      if (tag == kStringTableSize) dynamic_.strings_size = value;
    }
    if (dynamic_.needed.size() > kMaxNeeded) return Malformed("it names too many libraries");
    return OkStatus();
  }

  // An address as the loader sees it → where that is in the file.
  Result<uint64_t> OffsetOf(uint64_t address) {
    for (const Segment& segment : segments_) {
      if (segment.type != kLoadSegment || address < segment.address) continue;
      const uint64_t into = address - segment.address;
      const bool inside = segment.offset <= file_size_ && into < file_size_;
      if (inside && into < segment.size) return segment.offset + into;
    }
    return Malformed("its string table is in no segment");
  }

  Result<std::string> ReadString(uint64_t table, uint64_t at) {
    if (at >= dynamic_.strings_size) return Malformed("a name lies outside the string table");
    const uint64_t begin = table + at;
    if (begin < table || begin >= file_size_) return Malformed("a name lies outside the file");
    const uint64_t most =
        std::min({uint64_t{kMaxString}, dynamic_.strings_size - at, file_size_ - begin});
    ODY_ASSIGN_OR_RETURN(std::string bytes, Read(begin, most, "a name"));
    const size_t end = bytes.find('\0');
    if (end == std::string::npos) return Malformed("a name does not end");
    bytes.resize(end);
    return bytes;
  }

  Result<std::vector<std::string>> ReadDirectories(uint64_t table,
                                                   const std::vector<uint64_t>& lists) {
    std::vector<std::string> out;
    for (const uint64_t list : lists) {
      ODY_ASSIGN_OR_RETURN(const std::string text, ReadString(table, list));
      for (size_t begin = 0; begin <= text.size();) {
        const size_t end = std::min(text.find(':', begin), text.size());
        // An empty one would be the working directory.
        if (end > begin) out.push_back(text.substr(begin, end - begin));
        begin = end + 1;
      }
    }
    return out;
  }

  Status ReadNames(Image* image) {
    if (dynamic_.needed.empty() && dynamic_.rpath.empty() && dynamic_.runpath.empty()) {
      return OkStatus();
    }
    ODY_ASSIGN_OR_RETURN(const uint64_t table, OffsetOf(dynamic_.strings));
    for (const uint64_t at : dynamic_.needed) {
      ODY_ASSIGN_OR_RETURN(std::string name, ReadString(table, at));
      if (!name.empty()) image->needed.push_back(std::move(name));
    }
    ODY_ASSIGN_OR_RETURN(image->rpath, ReadDirectories(table, dynamic_.rpath));
    ODY_ASSIGN_OR_RETURN(image->runpath, ReadDirectories(table, dynamic_.runpath));
    return OkStatus();
  }

  const uint64_t file_size_;
  const ReadAt& read_;
  std::vector<Segment> segments_;
  Dynamic dynamic_;
};

bool IsBlank(char c) { return c == ' ' || c == '\t'; }

// As the kernel's binfmt_script reads it: the interpreter up to a blank, the rest as one argument.
// `cut`: the file goes on after `line`.
Image ReadScript(std::string_view line, bool cut) {
  line.remove_prefix(2);
  const size_t end = line.find_first_of(std::string_view("\n\0", 2));
  cut = cut && end == std::string_view::npos;
  line = line.substr(0, end);
  const auto begin = std::find_if_not(line.begin(), line.end(), IsBlank);
  const auto blank = std::find_if(begin, line.end(), IsBlank);
  // A name that may go on past what the kernel reads is none to it.
  if (begin == blank || (cut && blank == line.end())) return {};
  Image image;
  image.kind = Kind::kScript;
  image.interpreter.assign(begin, blank);
  image.argument.assign(std::find_if_not(blank, line.end(), IsBlank), line.end());
  while (!image.argument.empty() && IsBlank(image.argument.back())) image.argument.pop_back();
  return image;
}

}  // namespace

Result<Image> ReadImage(uint64_t file_size, const ReadAt& read) {
  std::string start(std::min(file_size, uint64_t{kMaxScriptLine}), '\0');
  if (start.size() < 4 || !read(0, start.size(), start.data())) return Image{};
  if (start.compare(0, 2, "#!") == 0) return ReadScript(start, file_size > start.size());
  if (start.compare(0, 4, "\177ELF") != 0) return Image{};
  return Parser(file_size, read).Run();
}

}  // namespace odyssey::elf
