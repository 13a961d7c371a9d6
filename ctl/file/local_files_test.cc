#include "ctl/file/local_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace odyssey::ctl {
namespace {

namespace fs = std::filesystem;

class LocalFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "local_files_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    base_ = name;
  }
  void TearDown() override { fs::remove_all(base_); }

  std::string In(const std::string& name) const { return base_ + "/" + name; }
  static void Put(const std::string& path, const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
  }
  static std::string Get(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::string base_;
};

TEST_F(LocalFilesTest, ChoosesRegularFilesAndSaysWhatItSkips) {
  Put(In("a.txt"), "text");
  fs::create_directory(In("d"));
  fs::create_symlink("a.txt", In("link"));
  ASSERT_EQ(mkfifo(In("fifo").c_str(), 0600), 0);
  const auto chosen = ChooseFiles({In("none"), In("a.txt"), In("link"), In("d"), In("fifo"), ""});
  ASSERT_TRUE(chosen.ok());
  ASSERT_EQ(chosen->files.size(), 1u);
  EXPECT_EQ(chosen->files[0].name, "a.txt");
  EXPECT_EQ(chosen->skipped,
            (std::vector<std::string>{"file \"" + In("none") + "\" not found, skipping it",
                                      "file \"" + In("link") + "\" is a symlink, skipping it",
                                      "file \"" + In("d") + "\" is a directory, skipping it",
                                      "file \"" + In("fifo") + "\" is no regular file, skipping it",
                                      "file \"\" not found, skipping it"}));
}

// A command of an earlier cell may have made one in a directory that it could write.
TEST_F(LocalFilesTest, NothingIsReadOrWrittenThroughALink) {
  fs::create_directory(In("secret"));
  Put(In("secret/key"), "text");
  fs::create_directory_symlink("secret", In("up"));
  const auto chosen = ChooseFiles({In("up/key")});
  ASSERT_TRUE(chosen.ok());
  EXPECT_TRUE(chosen->files.empty());
  ASSERT_EQ(chosen->skipped.size(), 1u);
  EXPECT_NE(chosen->skipped[0].find(In("up") + ": is a symbolic link"), std::string::npos);
  for (const std::string name : {"up", "up/", "up/new", "up/new/"}) {
    const Status status = Destination::Open(In(name)).status();
    EXPECT_EQ(status.code(), Code::kFailedPrecondition) << name;
    EXPECT_NE(status.message().find(In("up") + ": is a symbolic link"), std::string::npos);
  }
  EXPECT_FALSE(fs::exists(In("secret/new")));
}

TEST_F(LocalFilesTest, WhatWasChosenIsSentWhateverItsPathLeadsToThen) {
  fs::create_directory(In("d"));
  Put(In("d/key"), "mine");
  fs::create_directory(In("secret"));
  Put(In("secret/key"), "text");
  const auto chosen = ChooseFiles({In("d/key")});
  ASSERT_EQ(chosen->files.size(), 1u);
  fs::rename(In("d"), In("old"));
  fs::create_directory_symlink("secret", In("d"));
  uint32_t mode = 0;
  const auto fd = OpenFileToPut(chosen->files[0], &mode);
  ASSERT_TRUE(fd.ok());
  char read_bytes[8] = {};
  EXPECT_EQ(read(fd->get(), read_bytes, sizeof(read_bytes)), 4);
  EXPECT_STREQ(read_bytes, "mine");
}

TEST_F(LocalFilesTest, ARelativePathIsKeptInTheInbox) {
  for (const auto& [path, name] : {std::pair("f", "f"),
                                   {"sub/dir/f", "sub/dir/f"},
                                   {"./sub//dir/./f", "sub/dir/f"},
                                   {"../sub/f", "f"},
                                   {"sub/../f", "f"},
                                   {"/etc/fstab", "fstab"}}) {
    EXPECT_EQ(InboxName(path), name) << path;
  }
}

TEST_F(LocalFilesTest, TwoFilesOfOneNameAreAnError) {
  fs::create_directory(In("d"));
  Put(In("f"), "one");
  Put(In("d/f"), "two");
  const Status status = ChooseFiles({In("f"), In("d/f")}).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find("would both be f in the inbox"), std::string::npos);
}

TEST_F(LocalFilesTest, AFileHasItsModeInTheInbox) {
  Put(In("f"), "text");
  fs::permissions(In("f"), fs::perms::owner_all);
  const auto chosen = ChooseFiles({In("f")});
  ASSERT_EQ(chosen->files.size(), 1u);
  uint32_t mode = 0;
  EXPECT_TRUE(OpenFileToPut(chosen->files[0], &mode).ok());
  EXPECT_EQ(mode, 0700u);
}

TEST_F(LocalFilesTest, WritesBelowTheDestinationWithTheMode) {
  auto destination = Destination::Open(In("out"));
  ASSERT_TRUE(destination.ok());
  ASSERT_TRUE(destination->Begin("a/b/f", 04776).ok());
  ASSERT_TRUE(destination->Add("one ").ok());
  ASSERT_TRUE(destination->Add("two").ok());
  ASSERT_TRUE(destination->Finish().ok());
  EXPECT_EQ(Get(In("out/a/b/f")), "one two");
  struct stat info {};
  ASSERT_EQ(stat(In("out/a/b/f").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0754u) << "no special bits, and nobody else may write";
}

TEST_F(LocalFilesTest, ADestinationThatNothingCameToIsRemovedIfItWasMadeHere) {
  Destination::Open(In("out"))->Discard();
  EXPECT_NE(access(In("out").c_str(), F_OK), 0);
  ASSERT_EQ(mkdir(In("out").c_str(), 0700), 0);
  Destination::Open(In("out"))->Discard();
  EXPECT_EQ(access(In("out").c_str(), F_OK), 0) << "it was there";
  auto destination = Destination::Open(In("other"));
  Put(In("other/f"), "x");
  destination->Discard();
  EXPECT_EQ(Get(In("other/f")), "x");
}

TEST_F(LocalFilesTest, OverwritesNothing) {
  auto destination = Destination::Open(In("out"));
  Put(In("out/f"), "before");
  EXPECT_EQ(destination->Begin("f", 0600).code(), Code::kAlreadyExists);
  destination->Abandon();
  EXPECT_EQ(Get(In("out/f")), "before");
}

TEST_F(LocalFilesTest, LeavesTheDestinationByNoPath) {
  auto destination = Destination::Open(In("out"));
  for (const char* path : {"", "/etc/f", "../f", "a/../../f", "a//f", ".", "..", "a/", "./f"}) {
    EXPECT_EQ(destination->Begin(path, 0600).code(), Code::kInvalidArgument) << path;
  }
  EXPECT_FALSE(fs::exists(In("f")));
}

TEST_F(LocalFilesTest, LeavesTheDestinationByNoLink) {
  fs::create_directory(In("outside"));
  auto destination = Destination::Open(In("out"));
  fs::create_directory_symlink(In("outside"), In("out/d"));
  fs::create_symlink(In("outside/f"), In("out/f"));
  EXPECT_FALSE(destination->Begin("d/f", 0600).ok());
  EXPECT_EQ(destination->Begin("f", 0600).code(), Code::kAlreadyExists);
  EXPECT_TRUE(fs::is_empty(In("outside")));
}

TEST_F(LocalFilesTest, AFileThatIsAbandonedIsGone) {
  auto destination = Destination::Open(In("out"));
  ASSERT_TRUE(destination->Begin("f", 0600).ok());
  ASSERT_TRUE(destination->Add("part").ok());
  destination->Abandon();
  EXPECT_TRUE(fs::is_empty(In("out")));
}

}  // namespace
}  // namespace odyssey::ctl
