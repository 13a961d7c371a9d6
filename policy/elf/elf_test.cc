#include "policy/elf/elf.h"

#include <cstring>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "tests/fakes/elf_file.h"

namespace odyssey::elf {
namespace {

Result<Image> Read(const std::string& bytes) {
  return ReadImage(bytes.size(), [&](uint64_t offset, size_t size, char* out) {
    if (offset > bytes.size() || size > bytes.size() - offset) return false;
    std::memcpy(out, bytes.data() + offset, size);
    return true;
  });
}

using fakes::ElfFile;
using fakes::kDynamicAt;
using fakes::kElfFileSize;
using fakes::kInterpreterAt;
using fakes::kLoadedAt;
using fakes::kStringsAt;
using fakes::Put;

TEST(ElfTest, ReadsWhatTheLoaderWillOpen) {
  ElfFile file;
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
  ElfFile file;
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
  const auto refused = [](const std::function<void(ElfFile*)>& spoil) {
    ElfFile file;
    file.Interpreter("/lib64/ld.so");
    file.String(1, "liba.so.1");
    EXPECT_TRUE(Read(file.bytes).ok());
    spoil(&file);
    return Read(file.bytes).status().code() == Code::kInvalidArgument;
  };
  EXPECT_TRUE(refused([](ElfFile* f) { f->bytes[4] = 1; }));                       // 32 bits
  EXPECT_TRUE(refused([](ElfFile* f) { f->bytes[5] = 2; }));                       // big endian
  EXPECT_TRUE(refused([](ElfFile* f) { Put<uint16_t>(&f->bytes, 16, 4); }));       // a core dump
  EXPECT_TRUE(refused([](ElfFile* f) { Put<uint16_t>(&f->bytes, 54, 57); }));      // entry size
  EXPECT_TRUE(refused([](ElfFile* f) { Put<uint16_t>(&f->bytes, 56, 0); }));       // no segments
  EXPECT_TRUE(refused([](ElfFile* f) { Put<uint16_t>(&f->bytes, 56, 0xffff); }));  // too many
  EXPECT_TRUE(refused([](ElfFile* f) { Put<uint64_t>(&f->bytes, 32, ~0ULL); }));   // nowhere
  EXPECT_TRUE(refused([](ElfFile* f) { f->Segment(1, 2, ~0ULL, 0, 256); }));
  EXPECT_TRUE(refused([](ElfFile* f) { f->Segment(1, 2, 0, 0, kMaxDynamicBytes + 1); }));
  EXPECT_TRUE(refused([](ElfFile* f) { f->Segment(2, 3, kInterpreterAt, 0, 3); }));  // no NUL
  EXPECT_TRUE(refused([](ElfFile* f) { f->Segment(2, 3, kInterpreterAt, 0, 1); }));
  EXPECT_TRUE(refused([](ElfFile* f) { f->Segment(2, 3, kInterpreterAt, 0, ~0ULL); }));
  EXPECT_TRUE(refused([](ElfFile* f) { f->Segment(0, 1, 0, kLoadedAt, 16); }));  // strings outside
  EXPECT_TRUE(refused([](ElfFile* f) { f->Segment(0, 1, ~0ULL, kLoadedAt, kElfFileSize); }));
  EXPECT_TRUE(refused([](ElfFile* f) { f->Tag(1, 4096); }));  // name outside
  EXPECT_TRUE(refused([](ElfFile* f) { f->Tag(5, ~0ULL); }));
  EXPECT_TRUE(refused([](ElfFile* f) { f->bytes.resize(kStringsAt + 2); }));  // cut off
  EXPECT_TRUE(refused([](ElfFile* f) { f->bytes.resize(63); }));
}

TEST(ElfTest, ANameThatDoesNotEndIsRefused) {
  ElfFile file;
  file.String(1, "liba.so.1");
  std::fill(file.bytes.begin() + kStringsAt + 1, file.bytes.end(), 'x');
  Put<uint64_t>(&file.bytes, kDynamicAt + 16 + 8, kElfFileSize);
  EXPECT_EQ(Read(file.bytes).status().code(), Code::kInvalidArgument);
}

TEST(ElfTest, TooManyLibrariesAreRefused) {
  ElfFile file;
  file.bytes.resize(1 << 20);
  file.Segment(0, 1, 0, kLoadedAt, file.bytes.size());
  file.Segment(1, 2, 4096, 0, (kMaxNeeded + 4) * 16);
  for (size_t i = 0; i < kMaxNeeded + 1; ++i) Put<uint64_t>(&file.bytes, 4096 + 16 * i, 1);
  EXPECT_EQ(Read(file.bytes).status().message(),
            "not a usable ELF file: it names too many libraries");
}

}  // namespace
}  // namespace odyssey::elf
