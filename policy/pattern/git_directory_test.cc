#include "policy/pattern/git_directory.h"

#include <string>

#include <gtest/gtest.h>

namespace odyssey::pattern {
namespace {

TEST(GitDirectoryTest, KnowsWhatGitObeys) {
  for (const ObeyedName& obeyed : ObeyedNames()) {
    const std::string name(obeyed.name);
    for (const std::string& path :
         {name, name + "/below/it", "worktrees/w/" + name + "/x", "modules/lib/" + name,
          "modules/a/b/" + name, "modules/a/modules/b/" + name + "/x"}) {
      EXPECT_EQ(NameInGitDirectory(path), GitName::kObeyed) << path;
    }
  }
}

TEST(GitDirectoryTest, LeavesTheRestToGit) {
  for (const std::string path : {"index",
                                 "index.lock",
                                 "ORIG_HEAD",
                                 "configs",
                                 "refs/heads/config",
                                 "refs/heads/hooks/x",
                                 "logs/HEAD",
                                 "objects/ab",
                                 "objects/pack/x",
                                 "info/exclude",
                                 "worktrees",
                                 "worktrees/w",
                                 "worktrees/w/HEAD",
                                 "worktrees/w/gitdir",
                                 "worktrees/config",
                                 "modules/lib/HEAD",
                                 "modules",
                                 "x/config",
                                 "HEAD/x",
                                 "refs/HEAD"}) {
    EXPECT_EQ(NameInGitDirectory(path), GitName::kData) << path;
  }
}

TEST(GitDirectoryTest, KnowsWhatMakesARepository) {
  EXPECT_EQ(NameInGitDirectory("HEAD"), GitName::kHead);
  EXPECT_EQ(NameInGitDirectory("HEAD.lock"), GitName::kHeadLock);
  for (const std::string path : {"", "objects", "refs"}) {
    EXPECT_EQ(NameInGitDirectory(path), GitName::kNeeded) << path;
  }
  EXPECT_EQ(NameInGitDirectory("worktrees/w/commondir"), GitName::kLeadsBack);
}

TEST(GitDirectoryTest, KnowsDirectoriesThatNamesDependOn) {
  for (const std::string path : {"worktrees", "worktrees/w", "modules", "modules/a/b"}) {
    EXPECT_TRUE(GivesNamesTheirMeaning(path)) << path;
  }
  for (const std::string path : {"", "objects", "refs/heads/x", "worktrees/w/logs", "worktree"}) {
    EXPECT_FALSE(GivesNamesTheirMeaning(path)) << path;
  }
}

TEST(GitDirectoryTest, TakesForHeadWhatGitDoes) {
  const std::string sha1(40, 'a');
  for (const std::string& text :
       {std::string("ref: refs/heads/main\n"), std::string("ref: refs/heads/m"), sha1, sha1 + "\n",
        std::string(64, '0') + "\n", "ref: refs/heads/" + std::string(300, 'x')}) {
    EXPECT_TRUE(IsValidHead(text)) << text;
  }
  for (const std::string& text :
       {std::string(), std::string("\n"), std::string("ref: refs/"), std::string("ref: heads/main"),
        std::string("ref: "), std::string(39, 'a'), std::string(41, 'a'), std::string(40, 'g'),
        sha1 + "\n\n", "x" + sha1, std::string("ref: refs/heads/a\nb"),
        std::string("ref: refs/heads/a\0b", 19), "ref: refs/" + std::string(2000, 'x')}) {
    EXPECT_FALSE(IsValidHead(text)) << text;
  }
}

TEST(GitDirectoryTest, KnowsTheStepsOfARebase) {
  const std::string steps = "rebase-merge/git-rebase-todo";
  for (const std::string& path :
       {steps, "worktrees/w/" + steps, "modules/a/b/" + steps, "modules/a/worktrees/w/" + steps}) {
    EXPECT_EQ(NameInGitDirectory(path), GitName::kSteps) << path;
  }
  for (const std::string& path : {steps + "/x", steps + ".lock", "x/" + steps, "worktrees/" + steps,
                                  std::string("rebase-merge/done")}) {
    EXPECT_EQ(NameInGitDirectory(path), GitName::kData) << path;
  }
  EXPECT_TRUE(GivesNamesTheirMeaning("rebase-merge"));
  EXPECT_TRUE(GivesNamesTheirMeaning("worktrees/w/rebase-merge"));
  EXPECT_FALSE(GivesNamesTheirMeaning("rebase-merge/x"));
  EXPECT_FALSE(GivesNamesTheirMeaning("worktrees/w/rebase-merge/x"));
}

TEST(GitDirectoryTest, KnowsStepsThatRunCommands) {
  for (const std::string& text :
       {std::string("exec make"), std::string("x make\n"), std::string(" \tx\tmake"),
        std::string("pick 1\n\nexec\r\n"), std::string("x\0", 2), std::string("x"),
        std::string("pick 1\nx y")}) {
    EXPECT_TRUE(RunsCommands(text)) << text;
  }
  for (const std::string text :
       {"", "\n", "pick 1 exec x\n", "# x, exec <command> = run\n", "execute 1", "xx y", "edit 1\n",
        "break", "fixup -C 12", "label x", "merge -C 12 x"}) {
    EXPECT_FALSE(RunsCommands(text)) << text;
  }
}

}  // namespace
}  // namespace odyssey::pattern
