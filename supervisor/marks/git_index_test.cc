#include "supervisor/marks/git_index.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace odyssey::marks {
namespace {

std::string Number(size_t value, int bytes) {
  std::string out;
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(value >> (8 * i) & 0xff);
  return out;
}

std::string Varint(size_t value) {
  std::string out(1, static_cast<char>(value & 0x7f));
  while ((value >>= 7) != 0) out.insert(0, 1, static_cast<char>(0x80 | (--value & 0x7f)));
  return out;
}

// As git writes it. What is wrong in a test is put in by hand.
class Builder final {
 public:
  explicit Builder(unsigned version, size_t object_name_bytes = kSha1Bytes)
      : version_(version), object_name_bytes_(object_name_bytes) {}

  // Version 4: `shared` bytes of the name come from the entry before it.
  Builder& Add(const std::string& name, size_t shared = 0) {
    return AddRaw(name.size(), name, shared);
  }
  Builder& AddRaw(size_t length, const std::string& name, size_t shared = 0) {
    offsets_.push_back(kHeader + entries_.size());
    const size_t begin = entries_.size();
    entries_ += std::string(40 + object_name_bytes_, 'x') + Number(length, 2);
    if (version_ == 4) {
      entries_ += Varint(before_.size() - shared) + name.substr(shared) + '\0';
    } else {
      entries_ += name + std::string(8 - (entries_.size() - begin + name.size()) % 8, '\0');
    }
    before_ = name;
    return *this;
  }
  Builder& Extension(const std::string& name, const std::string& data) {
    extensions_ += name + Number(data.size(), 4) + data;
    return *this;
  }
  // Where entries end, by what it says itself; last.
  Builder& End(size_t offset, size_t hash_bytes = kSha1Bytes) {
    return Extension("EOIE", Number(offset, 4) + std::string(hash_bytes, 'h'));
  }

  size_t end() const { return kHeader + entries_.size(); }
  size_t offset(size_t entry) const { return offsets_[entry]; }
  std::string Text() const {
    return "DIRC" + Number(version_, 4) + Number(offsets_.size(), 4) + entries_ + extensions_ +
           std::string(object_name_bytes_, 'c');
  }
  bool Stays() const { return IndexStaysInTree(Text(), object_name_bytes_); }

 private:
  static constexpr size_t kHeader = 12;

  const unsigned version_;
  const size_t object_name_bytes_;
  std::string entries_, extensions_, before_;
  std::vector<size_t> offsets_;
};

std::string Blocks(const std::vector<std::pair<size_t, size_t>>& blocks) {
  std::string out = Number(1, 4);
  for (const auto& [offset, count] : blocks) out += Number(offset, 4) + Number(count, 4);
  return out;
}

TEST(GitIndexTest, KnowsPathsThatStay) {
  for (const std::string path : {"a", "a/b.c", ".gitignore", ".github/x", "a/.gitmodules", "...",
                                 "a/...", "git", "a/", "", "..a", "a..", "git~2", ".git-x"}) {
    EXPECT_TRUE(StaysInTree(path)) << path;
  }
  for (const std::string path :
       {"..",      "../x",  "a/../b",       ".",        "a/./b",    "/etc/passwd", "a//b",
        "a//",     "/",     ".git/hooks/x", "a/.git/x", ".git",     ".GIT/x",      "a/.Git",
        "git~1/x", "GIT~1", ".git./x",      ".git /x",  ".git:x/y", ".git::$INDEX"}) {
    EXPECT_FALSE(StaysInTree(path)) << path;
  }
}

TEST(GitIndexTest, LooksAtEachPathOfEachVersion) {
  const std::string longest(5000, 'n');
  for (const unsigned version : {2u, 3u, 4u}) {
    for (const size_t bytes : {kSha1Bytes, kSha256Bytes}) {
      Builder good(version, bytes);
      good.Add("a")
          .Add("ab/c")
          .Add("d1234")
          .AddRaw(0xfff, longest)
          .Add("z")
          .Extension("TREE", "data");
      EXPECT_TRUE(good.Stays()) << version << " " << bytes;
      for (const std::string evil : {".git/hooks/x", "../x"}) {
        EXPECT_FALSE(Builder(version, bytes).Add("a").Add(evil).Add("z").Stays()) << evil;
        EXPECT_FALSE(Builder(version, bytes).Add(evil).Stays()) << evil;
      }
      EXPECT_TRUE(Builder(version, bytes).Stays());
    }
  }
  EXPECT_FALSE(Builder(1).Add("a").Stays());
  EXPECT_FALSE(Builder(5).Add("a").Stays());
}

TEST(GitIndexTest, PutsSharedNamesTogether) {
  EXPECT_TRUE(Builder(4).Add("dir/a").Add("dir/b", 4).Add("dir/bc", 5).Stays());
  EXPECT_FALSE(Builder(4).Add(".gitignore").Add(".git/x", 4).Stays());
  EXPECT_FALSE(Builder(4).Add("..a").Add("../x", 2).Stays());
}

TEST(GitIndexTest, ReadsExtendedFlags) {
  std::string text = Builder(3).Add("a").Text();
  constexpr size_t kFlags = 12 + 40 + kSha1Bytes;
  text[kFlags] = 0x40;
  // Two more bytes of flags, of the eight after the name.
  const std::string moved = text.substr(0, kFlags + 2) + std::string("\x40\0", 2) + "a" +
                            std::string(7, '\0') + text.substr(text.size() - kSha1Bytes);
  EXPECT_TRUE(IndexStaysInTree(moved, kSha1Bytes));
  std::string evil = moved;
  evil[kFlags + 4] = '.';
  EXPECT_FALSE(IndexStaysInTree(evil, kSha1Bytes));
}

TEST(GitIndexTest, AnOddLengthIsRefused) {
  for (const unsigned version : {2u, 4u}) {
    // git goes by the length, and would take what is behind for more of the name, or for less.
    EXPECT_FALSE(Builder(version).AddRaw(2, ".git/hooks/x").Stays());
    EXPECT_FALSE(Builder(version).AddRaw(12, "a").Stays());
    EXPECT_FALSE(Builder(version).AddRaw(0xfff, "a").Stays());
  }
}

TEST(GitIndexTest, EveryCutIsRefused) {
  const std::string whole = Builder(4).Add("dir/a").Add("dir/b", 4).Text();
  ASSERT_TRUE(IndexStaysInTree(whole, kSha1Bytes));
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(IndexStaysInTree(whole.substr(0, size), kSha1Bytes)) << size;
  }
}

TEST(GitIndexTest, ThreadsBeginWhereEntriesDo) {
  Builder index(4);
  index.Add("a").Add("b").Add("c");
  const auto with = [&](const std::vector<std::pair<size_t, size_t>>& blocks) {
    Builder out = index;
    return out.Extension("IEOT", Blocks(blocks)).End(index.end()).Stays();
  };
  EXPECT_TRUE(with({{index.offset(0), 2}, {index.offset(2), 1}}));
  EXPECT_TRUE(with({{index.offset(0), 3}}));
  EXPECT_FALSE(with({{index.offset(0), 2}, {index.offset(2) + 1, 1}}));
  EXPECT_FALSE(with({{index.end() + 20, 3}}));
  EXPECT_FALSE(with({{index.offset(0), 2}}));
  EXPECT_FALSE(with({{index.offset(0), 2}, {index.offset(2), 2}}));
  // To a thread that begins with it this is "../x".
  Builder shared(4);
  shared.Add("a../x").Add("a../y", 1);
  EXPECT_FALSE(
      shared.Extension("IEOT", Blocks({{shared.offset(0), 1}, {shared.offset(1), 1}})).Stays());
}

TEST(GitIndexTest, EntriesEndWhereItSays) {
  for (const size_t bytes : {kSha1Bytes, kSha256Bytes}) {
    for (const size_t hash : {kSha1Bytes, kSha256Bytes}) {
      const Builder index = Builder(2, bytes).Add("a");
      Builder right = index;
      EXPECT_TRUE(right.End(index.end(), hash).Stays());
      Builder wrong = index;
      // Behind it another list of blocks could stand, within what is skipped.
      const std::string inner = "IEOT" + Number(12, 4) + Blocks({{12, 1}});
      EXPECT_FALSE(wrong.Extension("XTRA", inner).End(index.end() + 8, hash).Stays());
    }
  }
}

}  // namespace
}  // namespace odyssey::marks
