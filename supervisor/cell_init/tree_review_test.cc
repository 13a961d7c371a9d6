#include "supervisor/cell_init/tree_review.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <filesystem>

#include "common/os/unique_fd.h"
#include "tests/fakes/temporary_directory.h"

namespace odyssey::cell_init {
namespace {

namespace fs = std::filesystem;

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using Found = std::vector<std::string>;

class TreeReviewTest : public ::testing::Test {
 protected:
  void Put(const std::string& path) { directory_.Write(path, "x\n"); }
  std::string At(const std::string& path) const { return directory_.path() + "/" + path; }
  void Git(const std::string& path) {
    fs::create_directories(At(path + "/objects/pack"));
    fs::create_directories(At(path + "/refs/heads"));
    directory_.Write(path + "/HEAD", "ref: refs/heads/main\n");
  }
  // The cell starts: what is there by now was there.
  void Start(const std::vector<std::string>& repositories = {}) {
    // Later than the last stamp by more than the clock's grain, however busy the machine is.
    struct stat last;
    Put("stamp");
    ASSERT_EQ(stat(At("stamp").c_str(), &last), 0);
    const int64_t stamp = last.st_ctim.tv_sec * 1'000'000'000LL + last.st_ctim.tv_nsec;
    do {
      start_.time = StartTime::Now();
    } while (start_.time.real_ns <= stamp);
    start_.trees = {directory_.path()};
    start_.names = {".git/hooks", ".envrc", ".vscode", ".yarn/releases"};
    start_.repositories.clear();
    for (const std::string& path : repositories) start_.repositories.push_back(At(path));
  }
  // "type path", relative to the tree.
  Found Review(const ReviewBounds& bounds = {}, const Found& places = {}) const {
    Found out;
    for (const auto& entry : ReviewTrees(start_, places, bounds).entries) {
      const std::string below = entry.path.substr(directory_.path().size());
      out.push_back(entry.type + " " + (below.empty() ? "." : below.substr(1)));
    }
    return out;
  }

  fakes::TemporaryDirectory directory_;
  TreesAtStart start_;
};

TEST_F(TreeReviewTest, TellsNamesThatWereMadeAnywhereAndNotThoseThatWereThere) {
  Put("old/.envrc");
  Put("old/.vscode/tasks.json");
  Put("old/.yarn/releases/yarn.cjs");
  Start();
  EXPECT_THAT(Review(), IsEmpty());
  Put(".envrc");
  Put("a/b/.vscode/tasks.json");
  Put("a/.yarn/releases/yarn.cjs");
  Put("a/envrc");
  EXPECT_THAT(Review(),
              UnorderedElementsAre("name .envrc", "name a/b/.vscode", "name a/.yarn/releases"));
}

TEST_F(TreeReviewTest, TellsWhatWasThereAndWasChangedOrMovedThere) {
  Put("old/.envrc");
  Put("old/.vscode/deep/er/tasks.json");
  Put("old/other");
  Start();
  Put("old/.envrc");
  Put("old/.vscode/deep/er/tasks.json");
  fs::rename(At("old/other"), At(".envrc"));
  EXPECT_THAT(Review(), UnorderedElementsAre("name .envrc", "name old/.envrc", "name old/.vscode"));
}

TEST_F(TreeReviewTest, ALinkIsTheNameAndIsNotFollowed) {
  fakes::TemporaryDirectory outside;
  Start();
  outside.Write(".envrc", "x\n");
  outside.Write("releases/yarn.cjs", "x\n");
  fs::create_directory_symlink(outside.path(), At("out"));
  fs::create_symlink(outside.path() + "/.envrc", At(".envrc"));
  fs::create_directory_symlink(outside.path(), At(".yarn"));
  EXPECT_THAT(Review(), UnorderedElementsAre("name .envrc", "name .yarn"));
}

TEST_F(TreeReviewTest, WhatToolsFillHasNoNamesOfAnybodys) {
  Start();
  Put("node_modules/x/.vscode/settings.json");
  Git("node_modules/y/.git");
  EXPECT_THAT(Review(), ElementsAre("repository node_modules/y/.git"));
}

TEST_F(TreeReviewTest, TellsRepositoriesThatWereMade) {
  Git(".git");
  Git("vendor/old/.git");
  Git("mirror");
  Start({".git", "vendor/old/.git", "mirror"});
  EXPECT_THAT(Review(), IsEmpty());
  Git("vendor/new/.git");
  Git("notes");
  directory_.Write("leaf/.git", "gitdir: ../notes\n");
  fs::create_directories(At("l"));
  fs::create_directory_symlink("../notes", At("l/.git"));
  EXPECT_THAT(Review(), UnorderedElementsAre("repository vendor/new/.git", "bare notes",
                                             "repository leaf/.git", "repository l/.git"));
}

// git takes a directory for a repository by its HEAD, and the rest from where `commondir` leads.
TEST_F(TreeReviewTest, TellsADirectoryThatLeadsGitToTheRestOfARepository) {
  for (const char* file : {"old/HEAD", "old/commondir"}) Put(file);
  Start();
  for (const char* file : {"new/HEAD", "new/commondir", "other/commondir"}) Put(file);
  EXPECT_THAT(Review(), ElementsAre("bare new/commondir"));
}

TEST_F(TreeReviewTest, TellsRebasesThatWereBegunOrChangedInWhatWasThere) {
  for (const char* git : {".git", "old/.git", "bare"}) Git(git);
  Put("old/.git/rebase-merge/git-rebase-todo");
  Start({".git", "old/.git", "bare"});
  EXPECT_THAT(Review(), IsEmpty());
  Put(".git/rebase-merge/git-rebase-todo");
  Put(".git/worktrees/w/rebase-apply/next");
  Put(".git/modules/m/rebase-merge/git-rebase-todo");
  Put("bare/rebase-merge/git-rebase-todo");
  EXPECT_THAT(Review(), UnorderedElementsAre("rebase .git/rebase-merge", "rebase bare/rebase-merge",
                                             "rebase .git/worktrees/w/rebase-apply",
                                             "rebase .git/modules/m/rebase-merge"));
  Put("old/.git/rebase-merge/git-rebase-todo");
  EXPECT_THAT(Review(), Contains("rebase old/.git/rebase-merge"));
}

TEST_F(TreeReviewTest, LooksAtPlacesThatThePolicyNames) {
  Put("deploy/old.sh");
  Start();
  const Found places = {At("deploy/old.sh"), At("deploy/new.sh"), At("none")};
  EXPECT_THAT(Review({}, places), IsEmpty());
  Put("deploy/new.sh");
  EXPECT_THAT(Review({}, places), ElementsAre("name deploy/new.sh"));
}

TEST_F(TreeReviewTest, SaysWhenABoundWasReached) {
  for (int i = 0; i < 8; ++i) Put("old/.vscode/" + std::to_string(i));
  Start();
  for (int i = 0; i < 8; ++i) Put("d" + std::to_string(i) + "/.envrc");
  EXPECT_THAT(Review(), SizeIs(8));
  EXPECT_THAT(Review({.search = {.directories = 4}}), Contains("unfinished ."));
  EXPECT_THAT(Review({.search = {.entries = 4}}), Contains("unfinished ."));
  EXPECT_THAT(Review({.inside = 4}), Contains("unfinished ."));
  EXPECT_THAT(Review({.time = std::chrono::milliseconds(-1)}), ElementsAre("unfinished ."));
  const Found three = Review({.findings = 3});
  ASSERT_THAT(three, SizeIs(4));
  EXPECT_EQ(three.back(), "unfinished .");
}

TEST(StartTimeTest, AClockThatWasSetBackHidesNothing) {
  constexpr int64_t kSecond = 1'000'000'000;
  const StartTime start = {.real_ns = 1000 * kSecond, .boot_ns = 10 * kSecond};
  EXPECT_EQ(start.FirstChange({1005 * kSecond, 15 * kSecond}), 1000 * kSecond);
  EXPECT_EQ(start.FirstChange({1004 * kSecond + 1, 15 * kSecond}), 1000 * kSecond);  // disciplined
  EXPECT_EQ(start.FirstChange({405 * kSecond, 15 * kSecond}), 400 * kSecond);
  EXPECT_EQ(start.FirstChange({5005 * kSecond, 15 * kSecond}), 1000 * kSecond);  // and forward
}

TEST_F(TreeReviewTest, PipesAndSocketsAtWhichSomebodyListens) {
  fs::create_directories(At("a/node_modules"));
  ASSERT_EQ(mkfifo(At("a/before").c_str(), 0600), 0);
  Start();
  EXPECT_THAT(Review(), IsEmpty());
  ASSERT_EQ(mkfifo(At("a/node_modules/pipe").c_str(), 0600), 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  snprintf(address.sun_path, sizeof(address.sun_path), "%s", At("a/socket").c_str());
  UniqueFd listener(socket(AF_UNIX, SOCK_STREAM, 0));
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_THAT(Review(), UnorderedElementsAre("endpoint a/node_modules/pipe", "endpoint a/socket"));
  listener.reset();  // a name that leads nowhere
  EXPECT_THAT(Review(), ElementsAre("endpoint a/node_modules/pipe"));
}

}  // namespace
}  // namespace odyssey::cell_init
