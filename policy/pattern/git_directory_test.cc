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
      if (name == "config" && path.substr(path.size() - name.size()) == name) {
        EXPECT_EQ(NameInGitDirectory(path), GitName::kSettings) << path;
        EXPECT_EQ(NameInGitDirectory(path + ".lock"), GitName::kLock) << path;
      } else {
        EXPECT_EQ(NameInGitDirectory(path), GitName::kObeyed) << path;
      }
    }
  }
}

TEST(GitDirectoryTest, LeavesTheRestToGit) {
  for (const std::string path : {"ORIG_HEAD",
                                 "index.stash.12",
                                 "sequencer/todo",
                                 "rebase-apply/0001",
                                 "objects/info/packs",
                                 "refs/heads/rr-cache",
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
  EXPECT_EQ(NameInGitDirectory("HEAD.lock"), GitName::kLock);
  for (const std::string path : {"", "objects", "refs"}) {
    EXPECT_EQ(NameInGitDirectory(path), GitName::kNeeded) << path;
  }
  EXPECT_EQ(NameInGitDirectory("worktrees/w/commondir"), GitName::kLeadsBack);
}

TEST(GitDirectoryTest, KnowsWhatIsJudgedByItsContentAndWhatIsHidden) {
  for (const std::string in : {"", "worktrees/w/", "modules/lib/", "modules/a/b/worktrees/w/"}) {
    for (const char* name : {"index", "sharedindex.0123"}) {
      EXPECT_EQ(NameInGitDirectory(in + name), GitName::kIndex) << in << name;
    }
    for (const char* name :
         {"index.lock", "sharedindex_a1B2c3", "sequencer/opts.lock", "MERGE_RR.lock"}) {
      EXPECT_EQ(NameInGitDirectory(in + name), GitName::kLock) << in << name;
    }
    for (const char* name :
         {"rebase-merge/git-rebase-todo", "rebase-merge/strategy", "rebase-apply/strategy",
          "rebase-apply/apply-opt", "sequencer/opts", "MERGE_RR"}) {
      EXPECT_EQ(NameInGitDirectory(in + name), GitName::kState) << in << name;
    }
    EXPECT_EQ(NameInGitDirectory(in + "rr-cache"), GitName::kNeeded) << in;
    for (const char* name : {"rr-cache/0123", "rr-cache/0123/preimage"}) {
      EXPECT_EQ(NameInGitDirectory(in + name), GitName::kHidden) << in << name;
    }
  }
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
    EXPECT_EQ(NameInGitDirectory(path), GitName::kState) << path;
  }
  for (const std::string& path : {steps + "/x", steps + ".lock", "x/" + steps, "worktrees/" + steps,
                                  std::string("rebase-merge/done")}) {
    EXPECT_EQ(NameInGitDirectory(path), GitName::kData) << path;
  }
  EXPECT_TRUE(GivesNamesTheirMeaning("rebase-merge"));
  EXPECT_TRUE(GivesNamesTheirMeaning("worktrees/w/rebase-merge"));
  EXPECT_TRUE(GivesNamesTheirMeaning("worktrees/w/sequencer"));
  EXPECT_TRUE(GivesNamesTheirMeaning("objects/info"));
  EXPECT_FALSE(GivesNamesTheirMeaning("rebase-merge/x"));
  EXPECT_FALSE(GivesNamesTheirMeaning("worktrees/w/rebase-merge/x"));
}

TEST(GitDirectoryTest, KnowsStepsThatRunCommands) {
  for (const std::string& text :
       {std::string("exec make"), std::string("x make\n"), std::string(" \tx\tmake"),
        std::string("pick 1\n\nexec\r\n"), std::string("x\0", 2), std::string("x"),
        std::string("pick 1\nx y")}) {
    EXPECT_FALSE(IsHarmlessState("worktrees/w/rebase-merge/git-rebase-todo", text)) << text;
  }
  for (const std::string text :
       {"", "\n", "pick 1 exec x\n", "# x, exec <command> = run\n", "execute 1", "xx y", "edit 1\n",
        "break", "fixup -C 12", "label x", "merge -C 12 x"}) {
    EXPECT_TRUE(IsHarmlessState("rebase-merge/git-rebase-todo", text)) << text;
  }
}

TEST(GitDirectoryTest, KnowsStrategiesThatGitHasItself) {
  for (const std::string text :
       {"", "ort", "ort\n", "recursive\n", "octopus", "ours\n", "subtree"}) {
    EXPECT_TRUE(IsHarmlessState("rebase-merge/strategy", text)) << text;
    EXPECT_TRUE(IsHarmlessState("modules/m/rebase-apply/strategy", text)) << text;
  }
  for (const std::string& text :
       {std::string("x/evil\n"), std::string("evil"), std::string("ort\n\n"), std::string(" ort"),
        std::string("ort\0", 4), std::string("-x")}) {
    EXPECT_FALSE(IsHarmlessState("rebase-merge/strategy", text)) << text;
    EXPECT_FALSE(IsHarmlessState("worktrees/w/rebase-apply/strategy", text)) << text;
  }
}

TEST(GitDirectoryTest, KnowsOptionsOfASequence) {
  const std::string opts = "sequencer/opts";
  for (const std::string text :
       {"", "[options]\n\tedit = true\n", "[options]\n\tstrategy = ort\n\tsignoff = true\n",
        "[options]\n\tstrategy-option = theirs\n\tstrategy-option = patience\n",
        "[options]\n\tstrategy = recursive"}) {
    EXPECT_TRUE(IsHarmlessState(opts, text)) << text;
  }
  for (const std::string text :
       {"[options]\n\tstrategy = x/evil\n", "[options] strategy = evil",
        "[options]\nstrategy=ort\n", "[options]\nSTRATEGY = evil\n",
        "[options]\nstrategy = ort\\\n/evil\n", "[options]\nstrategy = \"ort\"\n",
        "[options]\nstrategy\n= evil", "[options]\nstrategy = ort\nstrategy = x/evil\n",
        "[options]\nstrategy = ort \n"}) {
    EXPECT_FALSE(IsHarmlessState(opts, text)) << text;
  }
}

TEST(GitDirectoryTest, NothingIsRecordedForLater) {
  EXPECT_TRUE(IsHarmlessState("MERGE_RR", ""));
  EXPECT_FALSE(IsHarmlessState("worktrees/w/MERGE_RR", "x"));
}

TEST(GitDirectoryTest, KnowsOptionsThatAreHandedOnToApply) {
  const std::string options = "rebase-apply/apply-opt";
  for (const std::string text : {"", "\n", " '--whitespace=fix'\n", " '-C3' '-p1' '--reject'",
                                 " '--exclude=a b' '--directory=sub'\n"}) {
    EXPECT_TRUE(IsHarmlessState(options, text)) << text;
  }
  for (const std::string text :
       {" '--unsafe-paths'", " '--unsafe'", " '-p1' '--build-fake-ancestor=/root/x'", "'-p1'",
        " -p1", " '-p1", " '--build-fake-'\\''x'", " '-p1''--unsafe-paths'", " '-p1'  '-C1'",
        " '-p1'\n\n"}) {
    EXPECT_FALSE(IsHarmlessState(options, text)) << text;
  }
}

}  // namespace
}  // namespace odyssey::pattern
