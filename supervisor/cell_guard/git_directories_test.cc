#include "supervisor/cell_guard/git_directories.h"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <unistd.h>

#include <filesystem>

#include "tests/fakes/temporary_directory.h"

namespace odyssey::cell_guard {
namespace {

namespace fs = std::filesystem;

constexpr char kHead[] = "ref: refs/heads/main\n";

class GitDirectoriesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* path : {"r/.git/objects", "r/.git/refs", "none/.git", "other"}) {
      fs::create_directories(directory_.path() + "/" + path);
    }
    directory_.Write("r/.git/HEAD", kHead);
    directory_.Write("r/.git/new", kHead);
    directory_.Write("other/HEAD", kHead);
    root_ = UniqueFd(open(directory_.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  GitDirectories Open() const { return GitDirectories(root_.get(), {"r/.git", "none/.git", "x"}); }
  Place At(const std::string& path) const {
    Place place;
    EXPECT_EQ(FindPlace(root_.get(), path, &place), 0) << path;
    return place;
  }
  int Rename(const std::string& from, const std::string& to, unsigned flags = 0) const {
    return Open().RenameRefusal(from, At(from), to, At(to), flags);
  }

  fakes::TemporaryDirectory directory_;
  UniqueFd root_;
};

TEST_F(GitDirectoriesTest, AreThoseWithAHead) {
  EXPECT_FALSE(Open().empty());
  EXPECT_TRUE(GitDirectories(root_.get(), {"none/.git", "x", "r"}).empty());
  EXPECT_FALSE(GitDirectories(root_.get(), {"other"}).empty());
  fs::create_directory_symlink(directory_.path() + "/r/.git", directory_.path() + "/link");
  EXPECT_TRUE(GitDirectories(root_.get(), {"link"}).empty());
}

TEST_F(GitDirectoriesTest, RefuseChangesByName) {
  const GitDirectories git = Open();
  for (const Change change :
       {Change::kMake, Change::kMakeNode, Change::kMakeDirectory, Change::kMakeLink,
        Change::kRemove, Change::kContent, Change::kMode}) {
    EXPECT_EQ(git.Refusal("r/.git/commondir", change), EROFS);
    EXPECT_EQ(git.Refusal("r/.git/hooks/x", change), EROFS);
    EXPECT_EQ(git.Refusal("r/.git/HEAD", change), EROFS);
    EXPECT_EQ(git.Refusal("r/.git", change), change == Change::kMakeDirectory ? 0 : EROFS);
    for (const char* path : {"r/commondir", "none/.git/hooks", "r/.gitx/hooks", "r/.git.x"}) {
      EXPECT_EQ(git.Refusal(path, change), 0) << path;
    }
    EXPECT_EQ(git.Refusal("r/.git/index", change), change == Change::kMakeLink ? EPERM : 0);
  }
  EXPECT_EQ(git.Refusal("r/.git/refs", Change::kTimes), 0);
  EXPECT_EQ(git.Refusal("r/.git/config", Change::kTimes), EROFS);
}

TEST_F(GitDirectoriesTest, LetAValidHeadReplaceTheOldOne) {
  EXPECT_EQ(Rename("r/.git/new", "r/.git/HEAD"), 0);
  EXPECT_EQ(Rename("r/.git/new", "r/.git/HEAD", RENAME_EXCHANGE), EROFS);
  EXPECT_EQ(Rename("r/.git/HEAD", "r/.git/new"), EROFS);
  EXPECT_EQ(Rename("r/.git/missing", "r/.git/HEAD"), EROFS);
  fs::create_hard_link(directory_.path() + "/r/.git/new", directory_.path() + "/r/.git/second");
  EXPECT_EQ(Rename("r/.git/new", "r/.git/HEAD"), EROFS);
  directory_.Write("r/.git/bad", "nothing");
  EXPECT_EQ(Rename("r/.git/bad", "r/.git/HEAD"), EROFS);
  EXPECT_EQ(Rename("r/.git/bad", "r/.git/worse"), 0);
}

TEST_F(GitDirectoriesTest, KeepLinksOut) {
  fs::create_symlink("elsewhere", directory_.path() + "/r/.git/link");
  EXPECT_EQ(Rename("r/.git/link", "r/.git/FETCH_HEAD"), EPERM);
  EXPECT_EQ(Open().LinkRefusal("r/.git/link", At("r/.git/link"), "r/.git/l"), EPERM);
  EXPECT_EQ(Open().LinkRefusal("r/.git/HEAD", At("r/.git/HEAD"), "r/.git/l"), EROFS);
  EXPECT_EQ(Open().LinkRefusal("r/.git/new", At("r/.git/new"), "r/.git/config"), EROFS);
  EXPECT_EQ(Open().LinkRefusal("r/.git/new", At("r/.git/new"), "r/.git/l"), 0);
}

TEST_F(GitDirectoriesTest, KeepDirectoriesWhereNamesGetTheirMeaning) {
  fs::create_directories(directory_.path() + "/r/.git/worktrees/w");
  fs::create_directories(directory_.path() + "/r/.git/own");
  EXPECT_EQ(Rename("r/.git/own", "r/.git/worktrees/x"), EROFS);
  EXPECT_EQ(Rename("r/.git/worktrees/w", "r/.git/x"), EROFS);
  EXPECT_EQ(Rename("r/.git/own", "r/.git/x"), 0);
  EXPECT_EQ(Rename("r/.git/new", "r/.git/worktrees/w"), 0) << "a file there is nothing";
  EXPECT_EQ(Rename("r/.git/new", "r/.git/worktrees/w", RENAME_EXCHANGE), EROFS);
}

TEST_F(GitDirectoriesTest, JudgeAnOpenFileByWhatItIs) {
  const GitDirectories git = Open();
  const UniqueFd fd(open((directory_.path() + "/r/.git/new").c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_EQ(git.HandleRefusal(fd.get()), 0);
  fs::rename(directory_.path() + "/r/.git/new", directory_.path() + "/r/.git/config");
  EXPECT_EQ(git.HandleRefusal(fd.get()), EROFS);
}

}  // namespace
}  // namespace odyssey::cell_guard
