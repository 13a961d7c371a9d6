#include "supervisor/cell_guard/repository_search.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "common/os/unique_fd.h"
#include "tests/fakes/temporary_directory.h"

namespace odyssey::cell_guard {
namespace {

namespace fs = std::filesystem;

using Kind = RepositoryKind;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr char kHead[] = "ref: refs/heads/main\n";

class RepositorySearchTest : public ::testing::Test {
 protected:
  void Directory(const std::string& path) { fs::create_directories(At(path)); }
  std::string At(const std::string& path) const { return directory_.path() + "/" + path; }
  // A git directory, as git makes it; "" is the tree.
  void Git(const std::string& path) {
    Directory(path + "/objects/pack");
    Directory(path + "/refs/heads");
    directory_.Write(fs::path(path) / "HEAD", kHead);
  }
  SearchResult Find(const SearchBounds& bounds = {}) const {
    const UniqueFd root(open(directory_.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    return FindRepositories(root.get(), bounds);
  }

  fakes::TemporaryDirectory directory_;
};

TEST_F(RepositorySearchTest, FindsThemAtAnyDepthAndInEachOther) {
  for (const char* path : {".git", "vendor/lib/.git", "vendor/lib/deps/x/.git"}) Git(path);
  Directory("a/b/c");
  const SearchResult result = Find();
  EXPECT_THAT(result.found,
              UnorderedElementsAre(FoundRepository{".git", Kind::kDirectory},
                                   FoundRepository{"vendor/lib/.git", Kind::kDirectory},
                                   FoundRepository{"vendor/lib/deps/x/.git", Kind::kDirectory}));
  EXPECT_TRUE(result.finished);
}

TEST_F(RepositorySearchTest, FindsThoseWithoutAWorkingTreeByWhatIsInThem) {
  Git("mirrors/one.git");
  Git("bare");
  Directory("src/objects/x");
  Directory("src/refs/x");
  directory_.Write("src/HEAD", "not one of git's\n");
  EXPECT_THAT(Find().found,
              UnorderedElementsAre(FoundRepository{"mirrors/one.git", Kind::kDirectory},
                                   FoundRepository{"bare", Kind::kDirectory}));
}

// As Android's repo lays them: several share their objects.
TEST_F(RepositorySearchTest, FindsThoseWhoseDirectoriesAreLinks) {
  Git("shared");
  for (const char* path : {"one/refs", "two"}) Directory(path);
  fs::create_directory_symlink("../shared/refs", At("two/refs"));
  for (const char* path : {"one", "two"}) {
    directory_.Write(fs::path(path) / "HEAD", kHead);
    fs::create_directory_symlink("../shared/objects", At(path) + "/objects");
  }
  EXPECT_THAT(Find().found, UnorderedElementsAre(FoundRepository{"shared", Kind::kDirectory},
                                                 FoundRepository{"one", Kind::kDirectory},
                                                 FoundRepository{"two", Kind::kDirectory}));
}

TEST_F(RepositorySearchTest, TheTreeItselfMayBeOneAndHidesNoOther) {
  Git("");
  Git("objects/x/.git");
  EXPECT_THAT(Find().found,
              UnorderedElementsAre(FoundRepository{"", Kind::kDirectory},
                                   FoundRepository{"objects/x/.git", Kind::kDirectory}));
}

TEST_F(RepositorySearchTest, FindsFilesThatLeadToOneInDirectoriesWithoutDirectoriesToo) {
  Directory("leaf");
  directory_.Write("leaf/.git", "gitdir: /elsewhere\n");
  Directory("w/d/d");
  directory_.Write("w/.git", "gitdir: ../.git/worktrees/w\n");
  EXPECT_THAT(Find().found, UnorderedElementsAre(FoundRepository{"leaf/.git", Kind::kFile},
                                                 FoundRepository{"w/.git", Kind::kFile}));
}

TEST_F(RepositorySearchTest, WhatIsNoRepositoryIsNotOne) {
  Directory("a/.git/hooks");
  Directory("b/.git");
  for (const char* lacking : {"c/objects", "d/refs"}) {
    Git(fs::path(lacking).parent_path());
    fs::remove_all(At(lacking));
  }
  EXPECT_THAT(Find().found, IsEmpty());
}

TEST_F(RepositorySearchTest, FollowsNoLink) {
  Git("real/.git");
  fs::create_directory_symlink("real", At("link"));
  Directory("other/d/d");
  fs::create_directory_symlink("../real/.git", At("other/.git"));
  EXPECT_THAT(Find().found, UnorderedElementsAre(FoundRepository{"real/.git", Kind::kDirectory},
                                                 FoundRepository{"other/.git", Kind::kLink}));
}

// Git directories of submodules lie in that of the repository around them.
TEST_F(RepositorySearchTest, FindsSubmodulesBeforeItsBoundsAreReached) {
  Git(".git");
  Git(".git/modules/third/party");
  Directory("third/party/x/y");
  directory_.Write("third/party/.git", "gitdir: ../../.git/modules/third/party\n");
  EXPECT_THAT(Find().found, UnorderedElementsAre(FoundRepository{".git", Kind::kDirectory},
                                                 FoundRepository{"third/party/.git", Kind::kFile}));
  for (int i = 0; i < 40; ++i) Directory("d" + std::to_string(i) + "/x/y");
  const SearchResult result = Find({.directories = 60});
  EXPECT_FALSE(result.finished);
  EXPECT_THAT(result.found, Contains(FoundRepository{"third/party/.git", Kind::kFile}));
}

TEST_F(RepositorySearchTest, LooksLastIntoWhatToolsMade) {
  for (int i = 0; i < 40; ++i) Directory("node_modules/p" + std::to_string(i) + "/x/y");
  Git("a/b/c/.git");
  const SearchResult result = Find({.directories = 20});
  EXPECT_FALSE(result.finished);
  EXPECT_THAT(result.found, Contains(FoundRepository{"a/b/c/.git", Kind::kDirectory}));
}

TEST_F(RepositorySearchTest, LooksLastOrNotIntoWhatGitMade) {
  Git("");
  Git("p/.git");
  for (int i = 0; i < 40; ++i) {
    Directory("objects/" + std::to_string(i) + "/x/y");
    Directory("p/.git/" + std::to_string(i) + "/x/y");
  }
  Git("p/a/b/c/.git");
  const SearchResult result = Find({.directories = 20});
  EXPECT_FALSE(result.finished);
  EXPECT_THAT(result.found, Contains(FoundRepository{"p/a/b/c/.git", Kind::kDirectory}));
}

TEST_F(RepositorySearchTest, LooksLaterIntoWhatIsWide) {
  for (int i = 0; i < 200; ++i) Directory("0/" + std::to_string(i));
  Directory("0/0/x/y");
  for (const char* path : {"a/b/c/.git", "z/.git", "0/7/.git", "0/.git"}) Git(path);
  const SearchResult result = Find({.directories = 100});
  EXPECT_FALSE(result.finished);
  EXPECT_THAT(result.found, Contains(FoundRepository{"0/.git", Kind::kDirectory}));
  EXPECT_THAT(result.found, Contains(FoundRepository{"a/b/c/.git", Kind::kDirectory}));
  EXPECT_THAT(result.found, Contains(FoundRepository{"z/.git", Kind::kDirectory}));
  EXPECT_THAT(Find().found, Contains(FoundRepository{"0/7/.git", Kind::kDirectory}));
}

TEST_F(RepositorySearchTest, ADirectoryOfManyFilesIsReadInPartAndHidesNoOther) {
  for (int i = 0; i < 100; ++i) directory_.Write("full/d/" + std::to_string(i), "");
  for (const char* path : {"full/d/.git", "z/.git"}) Git(path);
  const SearchResult result = Find({.entries_of_one = 20});
  EXPECT_FALSE(result.finished);
  EXPECT_THAT(result.found, UnorderedElementsAre(FoundRepository{"full/d/.git", Kind::kDirectory},
                                                 FoundRepository{"z/.git", Kind::kDirectory}));
}

TEST_F(RepositorySearchTest, SaysWhenItReachedABound) {
  Git("a/b/c/.git");
  Git("d/.git");
  directory_.Write("file", "");
  EXPECT_TRUE(Find().finished);
  EXPECT_FALSE(Find({.directories = 2}).finished);
  EXPECT_FALSE(Find({.entries = 3}).finished);
  EXPECT_FALSE(Find({.path_bytes = 2}).finished);
  EXPECT_FALSE(Find({.depth = 1}).finished);
  EXPECT_THAT(Find({.entries = 5}).found, IsEmpty()) << "the root has as many";
  const SearchResult one = Find({.repositories = 1});
  EXPECT_FALSE(one.finished);
  EXPECT_EQ(one.found.size(), 1u);
}

TEST_F(RepositorySearchTest, KnowsAHeadOfAnOldKindAndNoOther) {
  Git("old");
  fs::remove(At("old/HEAD"));
  fs::create_symlink("refs/heads/main", At("old/HEAD"));
  Git("pipe");
  fs::remove(At("pipe/HEAD"));
  ASSERT_EQ(mkfifo(At("pipe/HEAD").c_str(), 0644), 0);
  Git("directory");
  fs::remove(At("directory/HEAD"));
  Directory("directory/HEAD");
  EXPECT_THAT(Find().found, UnorderedElementsAre(FoundRepository{"old", Kind::kDirectory}));
}

// As a user, who cannot look into everything.
TEST_F(RepositorySearchTest, SaysWhatIsClosedToItAndNotToWhoeverTries) {
  constexpr uid_t kUser = 5000;
  const bool root = geteuid() == 0;
  Directory("own/x");
  const auto find = [&] {
    EXPECT_TRUE(!root || seteuid(kUser) == 0);
    const SearchResult result = Find();
    EXPECT_TRUE(!root || seteuid(0) == 0);
    EXPECT_TRUE(result.finished);
    return result.closed;
  };
  if (root) {
    for (const char* path : {"", "own", "own/x"}) {
      ASSERT_EQ(chown(At(path).c_str(), kUser, kUser), 0);
    }
    Directory("strange/x");
    ASSERT_EQ(chmod(At("strange").c_str(), 0700), 0);
  }
  EXPECT_THAT(find(), IsEmpty());
  if (root) {
    ASSERT_EQ(chmod(At("strange").c_str(), 0711), 0);
    EXPECT_THAT(find(), ElementsAre("strange"));
    ASSERT_EQ(chmod(At("strange").c_str(), 0700), 0);
    ASSERT_EQ(chmod(At("own").c_str(), 0), 0);
    EXPECT_THAT(find(), ElementsAre("own"));
  }
  ASSERT_EQ(chmod(At("own").c_str(), 0700), 0);
}

// Its owner has closed it, and may open it again.
TEST_F(RepositorySearchTest, AHeadThatCannotBeReadMayBeOne) {
  constexpr uid_t kUser = 5000;
  const bool root = geteuid() == 0;
  Git("closed");
  ASSERT_EQ(chmod(At("closed/HEAD").c_str(), 0), 0);
  ASSERT_EQ(chmod(directory_.path().c_str(), 0755), 0);
  ASSERT_TRUE(!root || seteuid(kUser) == 0);
  const SearchResult result = Find();
  ASSERT_TRUE(!root || seteuid(0) == 0);
  EXPECT_THAT(result.found, ElementsAre(FoundRepository{"closed", Kind::kDirectory}));
}

TEST_F(RepositorySearchTest, NamesThatAreNotAsExpectedEndNothing) {
  Directory(".git");
  Git("a/HEAD/x/.git");
  Directory("a/objects/x");
  Directory("a/refs/x");
  Git("b/.git");
  EXPECT_THAT(Find().found,
              UnorderedElementsAre(FoundRepository{"b/.git", Kind::kDirectory},
                                   FoundRepository{"a/HEAD/x/.git", Kind::kDirectory}));
}

TEST_F(RepositorySearchTest, TellsWhatItSeesOnItsWayInLeavesTooAndStopsWhenTold) {
  directory_.Write("leaf/.envrc", "");
  directory_.Write("node_modules/x/.envrc", "");
  fs::create_directory_symlink("leaf", At("link"));
  std::vector<std::string> seen;
  const UniqueFd root(open(directory_.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const auto note = [&](const SeenEntry& entry) {
    if (entry.name == ".envrc")
      seen.push_back(entry.path + (entry.made_by_tools ? " (tools)" : ""));
    return true;
  };
  EXPECT_TRUE(FindRepositories(root.get(), {}, note).finished);
  EXPECT_THAT(seen, UnorderedElementsAre("leaf", "node_modules/x (tools)"));

  // Past the bound of leaves what is in directories with directories is told all the same.
  directory_.Write("wide/dir/inner/x", "");
  directory_.Write("wide/.envrc", "");
  seen.clear();
  EXPECT_FALSE(FindRepositories(root.get(), {.leaf_entries = 20}, note).finished);
  EXPECT_THAT(seen, UnorderedElementsAre("leaf", "wide"));
  EXPECT_TRUE(FindRepositories(root.get(), {.leaf_entries = 1}).finished) << "nobody is told";

  int told = 0;
  const auto stop = [&](const SeenEntry&) { return ++told < 2; };
  EXPECT_FALSE(FindRepositories(root.get(), {}, stop).finished);
  EXPECT_EQ(told, 2);
}

}  // namespace
}  // namespace odyssey::cell_guard
