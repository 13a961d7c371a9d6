#ifndef ODYSSEY_TESTS_FAKES_ELF_FILE_H_
#define ODYSSEY_TESTS_FAKES_ELF_FILE_H_

// Small ELF files, good ones and bad ones.

#include <cstddef>
#include <cstdint>
#include <string>

namespace odyssey::fakes {

template <typename T>
void Put(std::string* bytes, size_t at, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) {
    (*bytes)[at + i] = static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
  }
}

// A file of four parts at fixed places: header, three program headers, the interpreter's name, the
// dynamic section, and the string table, which is loaded at another address than its offset.
inline constexpr size_t kSegmentsAt = 64, kInterpreterAt = 256, kDynamicAt = 512, kStringsAt = 1024;
inline constexpr size_t kElfFileSize = 2048;
inline constexpr uint64_t kLoadedAt = 0x400000;

class ElfFile {
 public:
  ElfFile() : bytes(kElfFileSize, '\0') {
    bytes.replace(0, 6, std::string("\177ELF\2\1", 6));
    Put<uint16_t>(&bytes, 16, 3);
    Put<uint64_t>(&bytes, 32, kSegmentsAt);
    Put<uint16_t>(&bytes, 54, 56);
    Put<uint16_t>(&bytes, 56, 3);
    Segment(0, 1, 0, kLoadedAt, kElfFileSize);
    Segment(1, 2, kDynamicAt, 0, 256);
    Tag(5, kLoadedAt + kStringsAt);
    Tag(10, strings.size());
  }
  void Segment(size_t index, uint32_t type, uint64_t offset, uint64_t address, uint64_t size) {
    const size_t at = kSegmentsAt + index * 56;
    Put<uint32_t>(&bytes, at, type);
    Put<uint64_t>(&bytes, at + 8, offset);
    Put<uint64_t>(&bytes, at + 16, address);
    Put<uint64_t>(&bytes, at + 32, size);
  }
  void Tag(uint64_t tag, uint64_t value) {
    Put<uint64_t>(&bytes, kDynamicAt + 16 * tags, tag);
    Put<uint64_t>(&bytes, kDynamicAt + 16 * tags + 8, value);
    ++tags;
  }
  void String(uint64_t tag, const std::string& text) {
    Tag(tag, strings.size());
    strings += text + '\0';
    bytes.replace(kStringsAt, strings.size(), strings);
    Put<uint64_t>(&bytes, kDynamicAt + 16 + 8, strings.size());
  }
  void Interpreter(const std::string& name) {
    bytes.replace(kInterpreterAt, name.size(), name);
    Segment(2, 3, kInterpreterAt, 0, name.size() + 1);
  }

  std::string bytes;
  std::string strings = std::string(1, '\0');
  size_t tags = 0;
};

}  // namespace odyssey::fakes

#endif  // ODYSSEY_TESTS_FAKES_ELF_FILE_H_
