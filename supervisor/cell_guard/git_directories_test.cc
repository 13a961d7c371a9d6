#include "supervisor/cell_guard/git_directories.h"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>

#include "policy/pattern/git_index.h"
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
    const bool elsewhere = change == Change::kMakeLink || change == Change::kMakeNode;
    EXPECT_EQ(git.Refusal("r/.git/ORIG_HEAD", change), elsewhere ? EPERM : 0);
    EXPECT_EQ(git.Refusal("r/.git/index", change), change == Change::kRemove ? 0 : EROFS);
    EXPECT_EQ(git.Refusal("r/.git/rr-cache/x", change), EACCES);
  }
  EXPECT_EQ(git.Refusal("r/.git/refs", Change::kTimes), 0);
  EXPECT_EQ(git.Refusal("r/.git/config", Change::kTimes), EROFS);
}

// While HEAD is what a host's git or another cell makes of it, git may take the repository for none
// and look for one in its place, and further up.
TEST_F(GitDirectoriesTest, LetNothingBeMadeThatWouldBeFoundInstead) {
  const GitDirectories git = Open();
  for (const Change change :
       {Change::kMake, Change::kMakeNode, Change::kMakeDirectory, Change::kMakeLink}) {
    for (const char* path : {"r/HEAD", "HEAD", ".git"}) EXPECT_EQ(git.Refusal(path, change), EROFS);
    for (const char* path : {"r/sub/HEAD", "r/sub/.git", "other/.git", "r/HEADS", "r/x.git"}) {
      EXPECT_EQ(git.Refusal(path, change), 0) << path;
    }
  }
  EXPECT_EQ(git.Refusal("r/HEAD", Change::kContent), 0) << "what the host has put there";
  EXPECT_EQ(git.Refusal("r/HEAD", Change::kRemove), 0);
  EXPECT_EQ(Rename("other/HEAD", "r/HEAD"), EROFS);
  EXPECT_EQ(Rename("other", ".git"), EROFS);
  EXPECT_EQ(git.LinkRefusal("other/HEAD", At("other/HEAD"), "HEAD"), EROFS);
}

TEST_F(GitDirectoriesTest, KnowWhatGitChangesWhileItWorks) {
  const GitDirectories git = Open();
  for (const char* path : {"r/.git", "r/.git/HEAD", "r/.git/refs/heads/x", "r/.git/index.lock"}) {
    EXPECT_TRUE(git.ChangesUnderneath(path)) << path;
  }
  for (const char* path : {"r/.git/objects/ab/cd", "r/file", "r/.gitignore"}) {
    EXPECT_FALSE(git.ChangesUnderneath(path)) << path;
  }
}

TEST_F(GitDirectoriesTest, LetTheCellsOwnLockBecomeHead) {
  constexpr char kLock[] = "r/.git/HEAD.lock";
  constexpr char kName[] = "r/.git/HEAD";
  const std::string host = directory_.path() + "/" + kLock;
  GitDirectories git = Open();
  const auto rename = [&](const std::string& from, const std::string& to, unsigned flags = 0) {
    return git.RenameRefusal(from, At(from), to, At(to), flags);
  };
  const auto make = [&](const char* text) {
    fs::remove(host);
    directory_.Write(kLock, text);
    git.HoldLock(UniqueFd(open(host.c_str(), O_RDONLY | O_CLOEXEC)).get());
  };
  EXPECT_EQ(git.Refusal(kLock, Change::kMake), 0);
  make(kHead);
  EXPECT_EQ(rename(kLock, kName), 0);
  for (const Change change : {Change::kContent, Change::kLayout, Change::kMode, Change::kRemove}) {
    EXPECT_EQ(git.Refusal(kLock, change), 0);
  }
  EXPECT_EQ(rename(kLock, kName, RENAME_EXCHANGE), EROFS);
  EXPECT_EQ(rename(kLock, "r/.git/else"), 0) << "as git stash does with that of the index";
  EXPECT_EQ(rename("r/.git/new", kLock), EROFS);
  EXPECT_EQ(git.LinkRefusal("r/.git/new", At("r/.git/new"), kLock), EROFS);
  fs::create_hard_link(host, directory_.path() + "/r/.git/second");
  EXPECT_EQ(rename(kLock, kName), EROFS);
  make("nothing");
  EXPECT_EQ(rename(kLock, kName), EROFS);
  EXPECT_EQ(rename("r/.git/new", "r/.git/worse"), 0);
  for (const char* other : {"r/.git/new", "r/.git/objects", "r/.git/missing"}) {
    EXPECT_EQ(rename(other, kName), EROFS) << other;
  }
  EXPECT_EQ(rename(kName, "r/.git/new"), EROFS);
  for (const Change change : {Change::kMakeNode, Change::kMakeDirectory, Change::kMakeLink}) {
    EXPECT_EQ(git.Refusal(kLock, change), EROFS);
  }
}

// git writes it also where nothing is to be changed. An empty one is not as good as none.
TEST_F(GitDirectoriesTest, LetTheConfigurationBeReplacedByWhatItIs) {
  constexpr char kLock[] = "r/.git/config.lock";
  constexpr char kName[] = "r/.git/config";
  GitDirectories git = Open();
  const auto rename = [&](const std::string& from, const std::string& to, unsigned flags = 0) {
    return git.RenameRefusal(from, At(from), to, At(to), flags);
  };
  const auto become = [&](const char* text) {
    directory_.Write(kLock, text);
    git.HoldLock(UniqueFd(open((directory_.path() + "/" + kLock).c_str(), O_RDONLY)).get());
    return rename(kLock, kName);
  };
  EXPECT_EQ(become("[core]\n"), EROFS) << "there is none";
  EXPECT_EQ(become(""), EROFS) << "there is none";
  directory_.Write(kName, "[core]\n");
  EXPECT_EQ(become("[core]\n"), 0);
  EXPECT_EQ(rename(kLock, kName, RENAME_EXCHANGE), EROFS);
  EXPECT_EQ(rename(kLock, "r/.git/hooks"), EROFS);
  for (const char* other : {"[core]\n\tpager = evil\n", "[core]", ""}) {
    EXPECT_EQ(become(other), EROFS) << other;
  }
  directory_.Write("r/.git/same", "[core]\n");
  EXPECT_EQ(rename("r/.git/same", kName), EROFS) << "no lock of this cell";
  EXPECT_EQ(rename(kName, "r/.git/aside"), EROFS);
  for (const Change change : {Change::kMake, Change::kContent, Change::kMode, Change::kRemove}) {
    EXPECT_EQ(git.Refusal(kName, change), EROFS);
  }
}

// The configuration says how an index is to be read; without an answer there is none.
TEST_F(GitDirectoriesTest, JudgeAnIndexOnlyIfTheConfigurationCanBeRead) {
  constexpr char kLock[] = "r/.git/index.lock";
  constexpr char kConfig[] = "r/.git/config";
  const auto index = [](size_t object_name_bytes) {
    return std::string("DIRC\0\0\0\2\0\0\0\0", 12) + std::string(object_name_bytes, '\0');
  };
  GitDirectories git = Open();
  const auto rename = [&](const std::string& text) {
    directory_.Write(kLock, text);
    git.HoldLock(UniqueFd(open((directory_.path() + "/" + kLock).c_str(), O_RDONLY)).get());
    return git.RenameRefusal(kLock, At(kLock), "r/.git/index", At("r/.git/index"), 0);
  };
  EXPECT_EQ(rename(index(pattern::kSha1Bytes)), 0) << "git's own default";
  directory_.Write(kConfig, "[extensions]\n\tobjectFormat = sha256\n");
  EXPECT_EQ(rename(index(pattern::kSha256Bytes)), 0);
  EXPECT_EQ(rename(index(pattern::kSha1Bytes)), EROFS);
  fs::remove(directory_.path() + "/" + kConfig);
  fs::create_directory(directory_.path() + "/" + kConfig);
  EXPECT_EQ(rename(index(pattern::kSha1Bytes)), EROFS);
}

// Also if it comes to lie where the cell's own was: no file gets the number of one that is held.
TEST_F(GitDirectoriesTest, TouchNoLockOfAnother) {
  constexpr char kLock[] = "r/.git/HEAD.lock";
  const std::string host = directory_.path() + "/" + kLock;
  GitDirectories git = Open();
  directory_.Write(kLock, kHead);
  git.HoldLock(UniqueFd(open(host.c_str(), O_RDONLY | O_CLOEXEC)).get());
  for (int i = 0; i < 20; ++i) {
    fs::remove(host);
    directory_.Write(kLock, kHead);
    for (const Change change :
         {Change::kContent, Change::kLayout, Change::kMode, Change::kRemove}) {
      ASSERT_EQ(git.Refusal(kLock, change), EROFS);
    }
    ASSERT_EQ(git.RenameRefusal(kLock, At(kLock), "r/.git/HEAD", At("r/.git/HEAD"), 0), EROFS);
  }
}

// A repository without a working tree may hold others.
TEST_F(GitDirectoriesTest, LieInEachOther) {
  directory_.Write("HEAD", kHead);
  const GitDirectories git(root_.get(), {"", "r/.git"});
  EXPECT_EQ(git.Refusal("r/.git/config", Change::kContent), EROFS);
  EXPECT_EQ(git.Refusal("config", Change::kContent), EROFS);
  EXPECT_EQ(git.Refusal("r/config", Change::kContent), 0);
}

TEST_F(GitDirectoriesTest, KeepLinksOut) {
  fs::create_symlink("elsewhere", directory_.path() + "/r/.git/link");
  EXPECT_EQ(Rename("r/.git/link", "r/.git/FETCH_HEAD"), EPERM);
  EXPECT_EQ(Open().LinkRefusal("r/.git/link", At("r/.git/link"), "r/.git/l"), EPERM);
  EXPECT_EQ(Open().LinkRefusal("r/.git/HEAD", At("r/.git/HEAD"), "r/.git/l"), EROFS);
  EXPECT_EQ(Open().LinkRefusal("r/.git/new", At("r/.git/new"), "r/.git/config"), EROFS);
  EXPECT_EQ(Open().LinkRefusal("r/.git/new", At("r/.git/new"), "r/.git/l"), 0);
}

TEST_F(GitDirectoriesTest, KeepPipesOut) {
  ASSERT_EQ(mkfifo((directory_.path() + "/r/pipe").c_str(), 0644), 0);
  EXPECT_EQ(Rename("r/pipe", "r/.git/ORIG_HEAD"), EPERM);
  EXPECT_EQ(Open().LinkRefusal("r/pipe", At("r/pipe"), "r/.git/ORIG_HEAD"), EPERM);
  EXPECT_EQ(Open().Refusal("r/.git/COMMIT_EDITMSG", Change::kMakeNode), EPERM);
  EXPECT_EQ(Open().Refusal("r/pipe2", Change::kMakeNode), 0);
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

TEST_F(GitDirectoriesTest, LetARebaseGoOnWithCommitsOnly) {
  const std::string steps = "r/.git/rebase-merge/git-rebase-todo";
  directory_.Write("r/.git/good", "pick 1234\n");
  directory_.Write("r/.git/bad", "x evil\n");
  directory_.Write(steps, "pick 5678\n");
  EXPECT_EQ(Rename("r/.git/good", steps), 0);
  EXPECT_EQ(Rename("r/.git/bad", steps), EROFS);
  EXPECT_EQ(Rename("r/.git/good", steps, RENAME_EXCHANGE), EROFS);
  EXPECT_EQ(Rename(steps, "r/.git/good", RENAME_EXCHANGE), EROFS);
  EXPECT_EQ(Rename(steps, "r/.git/aside"), 0);
  EXPECT_EQ(Rename(steps, "r/.git/HEAD"), EROFS);
  directory_.Write("r/.git/good", std::string(pattern::kMaxStateBytes + 1, '#'));
  EXPECT_EQ(Rename("r/.git/good", steps), EROFS);
  const GitDirectories git = Open();
  const UniqueFd fd(open((directory_.path() + "/" + steps).c_str(), O_WRONLY | O_CLOEXEC));
  EXPECT_EQ(git.WriteRefusal(steps, fd.get(), "drop", 0), 0);
  EXPECT_EQ(git.WriteRefusal(steps, fd.get(), "exec", 0), EROFS);
  EXPECT_EQ(git.WriteRefusal(steps, fd.get(), "x y", 10), EROFS);
  EXPECT_EQ(git.WriteRefusal(steps, fd.get(), "pick", pattern::kMaxStateBytes + 1), EROFS);
  EXPECT_EQ(git.WriteRefusal(steps, -1, "pick", 0), EROFS);
  EXPECT_EQ(git.WriteRefusal("r/.git/config", fd.get(), "x", 0), EROFS);
  EXPECT_EQ(git.WriteRefusal("r/.git/index", fd.get(), "x", 0), EROFS);
  EXPECT_EQ(git.WriteRefusal("r/.git/ORIG_HEAD", fd.get(), "x", 0), 0);
  for (const Change change :
       {Change::kMakeNode, Change::kMakeDirectory, Change::kMakeLink, Change::kLayout}) {
    EXPECT_EQ(git.Refusal(steps, change), EROFS);
  }
  for (const Change change : {Change::kMake, Change::kRemove, Change::kContent, Change::kMode}) {
    EXPECT_EQ(git.Refusal(steps, change), 0);
  }
}

TEST_F(GitDirectoriesTest, KnowAFileBySeveralNames) {
  const auto kept = [this](const std::string& path) {
    struct stat file;
    EXPECT_EQ(stat((directory_.path() + "/" + path).c_str(), &file), 0);
    return Open().HasKeptName(file);
  };
  for (const char* name : {"HEAD", "config", "config.worktree", "commondir"}) {
    fs::remove(directory_.path() + "/second");
    directory_.Write(std::string("r/.git/") + name, kHead);
    fs::create_hard_link(directory_.path() + "/r/.git/" + name, directory_.path() + "/second");
    EXPECT_TRUE(kept("second")) << name;
  }
  EXPECT_FALSE(kept("r/.git/new"));
}

TEST_F(GitDirectoriesTest, AFileOfWhichTheNamesCannotBeKnownIsKept) {
  const GitDirectories git = Open();
  struct stat file;
  ASSERT_EQ(stat((directory_.path() + "/r/.git/new").c_str(), &file), 0);
  EXPECT_FALSE(git.HasKeptName(file));
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const bool kept = git.HasKeptName(file);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(kept);
}

}  // namespace
}  // namespace odyssey::cell_guard
