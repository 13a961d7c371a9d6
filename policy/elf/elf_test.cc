#include "policy/elf/elf.h"

#include <cstring>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

namespace odyssey::elf {
namespace {

Result<Image> Read(const std::string& bytes) {
  return ReadImage(bytes.size(), [&](uint64_t offset, size_t size, char* out) {
    if (offset > bytes.size() || size > bytes.size() - offset) return false;
    std::memcpy(out, bytes.data() + offset, size);
    return true;
  });
}

template <typename T>
void Put(std::string* bytes, size_t at, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) {
    (*bytes)[at + i] = static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
  }
}

// A file of four parts at fixed places: header, three program headers, the interpreter's name, the
// dynamic section, and the string table, which is loaded at another address than its offset.
constexpr size_t kSegments = 64, kInterpreter = 256, kDynamic = 512, kStrings = 1024;
constexpr size_t kFile = 2048;
constexpr uint64_t kLoadedAt = 0x400000;

class File {
 public:
  File() : bytes(kFile, '\0') {
    bytes.replace(0, 6, std::string("\177ELF\2\1", 6));
    Put<uint16_t>(&bytes, 16, 3);
    Put<uint64_t>(&bytes, 32, kSegments);
    Put<uint16_t>(&bytes, 54, 56);
    Put<uint16_t>(&bytes, 56, 3);
    Segment(0, 1, 0, kLoadedAt, kFile);
    Segment(1, 2, kDynamic, 0, 256);
    Tag(5, kLoadedAt + kStrings);
    Tag(10, strings.size());
  }
  void Segment(size_t index, uint32_t type, uint64_t offset, uint64_t address, uint64_t size) {
    const size_t at = kSegments + index * 56;
    Put<uint32_t>(&bytes, at, type);
    Put<uint64_t>(&bytes, at + 8, offset);
    Put<uint64_t>(&bytes, at + 16, address);
    Put<uint64_t>(&bytes, at + 32, size);
  }
  void Tag(uint64_t tag, uint64_t value) {
    Put<uint64_t>(&bytes, kDynamic + 16 * tags, tag);
    Put<uint64_t>(&bytes, kDynamic + 16 * tags + 8, value);
    ++tags;
  }
  void String(uint64_t tag, const std::string& text) {
    Tag(tag, strings.size());
    strings += text + '\0';
    bytes.replace(kStrings, strings.size(), strings);
    Put<uint64_t>(&bytes, kDynamic + 16 + 8, strings.size());
  }
  void Interpreter(const std::string& name) {
    bytes.replace(kInterpreter, name.size(), name);
    Segment(2, 3, kInterpreter, 0, name.size() + 1);
  }

  std::string bytes;
  std::string strings = std::string(1, '\0');
  size_t tags = 0;
};

TEST(ElfTest, ReadsWhatTheLoaderWillOpen) {
  File file;
  file.Interpreter("/lib64/ld.so");
  file.String(1, "liba.so.1");
  file.String(1, "/opt/libb.so");
  file.String(15, "/old:$ORIGIN/../lib::");
  file.String(29, "/new");
  const Result<Image> image = Read(file.bytes);
  ASSERT_TRUE(image.ok()) << image.status().ToString();
  EXPECT_EQ(*image, (Image{.kind = Kind::kElf,
                           .interpreter = "/lib64/ld.so",
                           .needed = {"liba.so.1", "/opt/libb.so"},
                           .rpath = {"/old", "$ORIGIN/../lib"},
                           .runpath = {"/new"}}));
}

TEST(ElfTest, AStaticProgramNamesNothing) {
  File file;
  const Result<Image> image = Read(file.bytes);
  ASSERT_TRUE(image.ok()) << image.status().ToString();
  EXPECT_EQ(*image, Image{.kind = Kind::kElf});
}

TEST(ElfTest, ReadsItsOwnTest) {
  std::ifstream self("/proc/self/exe", std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(self), {});
  const Result<Image> image = Read(bytes);
  ASSERT_TRUE(image.ok()) << image.status().ToString();
  EXPECT_NE(image->interpreter.find("ld-linux"), std::string::npos);
  EXPECT_NE(std::find(image->needed.begin(), image->needed.end(), "libc.so.6"),
            image->needed.end());
}

TEST(ElfTest, ReadsAScriptAsTheKernelDoes) {
  const auto script = [](const std::string& text) {
    const Result<Image> image = Read(text);
    EXPECT_TRUE(image.ok());
    const bool is_script = image->kind == Kind::kScript;
    return is_script ? image->interpreter + "|" + image->argument : std::string("other");
  };
  EXPECT_EQ(script("#!/bin/sh\necho\n"), "/bin/sh|");
  EXPECT_EQ(script("#! \t/usr/bin/env \t-S python3 -u \t\nx"), "/usr/bin/env|-S python3 -u");
  EXPECT_EQ(script("#!/bin/sh"), "/bin/sh|");
  EXPECT_EQ(script(std::string("#!/bin/sh\0 -x\n", 14)), "/bin/sh|");
  EXPECT_EQ(script("#!\n/bin/sh\n"), "other");
  EXPECT_EQ(script("#!   "), "other");
  EXPECT_EQ(script("#!/" + std::string(kMaxScriptLine, 'x') + "\n"), "other");
  EXPECT_EQ(script("#!/bin/sh " + std::string(kMaxScriptLine, 'x')).substr(0, 9), "/bin/sh|x");
}

TEST(ElfTest, OtherFilesAreNoImages) {
  for (const std::string bytes : {"", "x", "#!", "\177EL", "import os\n"}) {
    const Result<Image> image = Read(bytes);
    ASSERT_TRUE(image.ok());
    EXPECT_EQ(*image, Image{}) << bytes;
  }
}

TEST(ElfTest, RefusesWhatCouldNotBeLoaded) {
  const auto refused = [](const std::function<void(File*)>& spoil) {
    File file;
    file.Interpreter("/lib64/ld.so");
    file.String(1, "liba.so.1");
    EXPECT_TRUE(Read(file.bytes).ok());
    spoil(&file);
    return Read(file.bytes).status().code() == Code::kInvalidArgument;
  };
  EXPECT_TRUE(refused([](File* f) { f->bytes[4] = 1; }));                       // 32 bits
  EXPECT_TRUE(refused([](File* f) { f->bytes[5] = 2; }));                       // big endian
  EXPECT_TRUE(refused([](File* f) { Put<uint16_t>(&f->bytes, 16, 4); }));       // a core dump
  EXPECT_TRUE(refused([](File* f) { Put<uint16_t>(&f->bytes, 54, 57); }));      // entry size
  EXPECT_TRUE(refused([](File* f) { Put<uint16_t>(&f->bytes, 56, 0); }));       // no segments
  EXPECT_TRUE(refused([](File* f) { Put<uint16_t>(&f->bytes, 56, 0xffff); }));  // too many
  EXPECT_TRUE(refused([](File* f) { Put<uint64_t>(&f->bytes, 32, ~0ULL); }));   // nowhere
  EXPECT_TRUE(refused([](File* f) { f->Segment(1, 2, ~0ULL, 0, 256); }));
  EXPECT_TRUE(refused([](File* f) { f->Segment(1, 2, 0, 0, kMaxDynamicBytes + 1); }));
  EXPECT_TRUE(refused([](File* f) { f->Segment(2, 3, kInterpreter, 0, 3); }));  // no NUL
  EXPECT_TRUE(refused([](File* f) { f->Segment(2, 3, kInterpreter, 0, 1); }));
  EXPECT_TRUE(refused([](File* f) { f->Segment(2, 3, kInterpreter, 0, ~0ULL); }));
  EXPECT_TRUE(refused([](File* f) { f->Segment(0, 1, 0, kLoadedAt, 16); }));  // strings outside
  EXPECT_TRUE(refused([](File* f) { f->Segment(0, 1, ~0ULL, kLoadedAt, kFile); }));
  EXPECT_TRUE(refused([](File* f) { f->Tag(1, 4096); }));  // name outside
  EXPECT_TRUE(refused([](File* f) { f->Tag(5, ~0ULL); }));
  EXPECT_TRUE(refused([](File* f) { f->bytes.resize(kStrings + 2); }));  // cut off
  EXPECT_TRUE(refused([](File* f) { f->bytes.resize(63); }));
}

TEST(ElfTest, ANameThatDoesNotEndIsRefused) {
  File file;
  file.String(1, "liba.so.1");
  std::fill(file.bytes.begin() + kStrings + 1, file.bytes.end(), 'x');
  Put<uint64_t>(&file.bytes, kDynamic + 16 + 8, kFile);
  EXPECT_EQ(Read(file.bytes).status().code(), Code::kInvalidArgument);
}

TEST(ElfTest, TooManyLibrariesAreRefused) {
  File file;
  file.bytes.resize(1 << 20);
  file.Segment(0, 1, 0, kLoadedAt, file.bytes.size());
  file.Segment(1, 2, 4096, 0, (kMaxNeeded + 4) * 16);
  for (size_t i = 0; i < kMaxNeeded + 1; ++i) Put<uint64_t>(&file.bytes, 4096 + 16 * i, 1);
  EXPECT_EQ(Read(file.bytes).status().message(),
            "not a usable ELF file: it names too many libraries");
}

}  // namespace
}  // namespace odyssey::elf
