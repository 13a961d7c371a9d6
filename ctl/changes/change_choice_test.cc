#include "ctl/changes/change_choice.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>
#include <vector>

namespace odyssey::ctl {
namespace {

ChangeSet Listed(const std::vector<std::string>& paths) {
  ChangeSet list;
  for (std::string path : paths) {
    supervisor::v1::Change change;
    change.set_new_mode(S_IFREG | 0644);
    if (path.back() == '/') {
      path.pop_back();
      change.set_new_mode(S_IFDIR | 0755);
    }
    change.set_path("/workspace/" + path);
    list.changes.push_back(change);
  }
  return list;
}

std::string Shown(const ChangeChoice& choice) {
  std::string out;
  for (const auto& selection : choice.ToSelections()) {
    out += ShownPath(selection.path());
    if (selection.marked()) out += "!";
    for (const uint32_t hunk : selection.hunks()) out += "#" + std::to_string(hunk);
    out += " ";
  }
  return out;
}

TEST(ChangeChoiceTest, AnswersAreLettersOrWords) {
  EXPECT_EQ(ParseChoice(" y\r\n"), Answer::kYes);
  EXPECT_EQ(ParseChoice("yes"), Answer::kYes);
  EXPECT_EQ(ParseChoice("n"), Answer::kNo);
  EXPECT_EQ(ParseChoice("a"), Answer::kAllHunks);
  EXPECT_EQ(ParseChoice("d"), Answer::kNoHunk);
  EXPECT_EQ(ParseChoice("q"), Answer::kQuit);
  EXPECT_EQ(ParseChoice("?"), Answer::kHelp);
  for (const char* other : {"", " ", "yy", "Y", "yes please"}) {
    EXPECT_EQ(ParseChoice(other), Answer::kUnknown) << other;
  }
}

TEST(ChangeChoiceTest, NamesWhatWasTaken) {
  ChangeSet list = Listed({"a", "b", "c"});
  list.changes[1].set_mark("git runs it");
  ChangeChoice choice(list);
  EXPECT_TRUE(choice.empty());
  choice.Take(0);
  choice.Take(1);
  EXPECT_FALSE(choice.empty());
  EXPECT_EQ(Shown(choice), "a b! ");
}

TEST(ChangeChoiceTest, AllHunksAreTheWholeChange) {
  const ChangeSet list = Listed({"a", "b", "c"});
  ChangeChoice choice(list);
  choice.TakeHunks(0, {1, 2, 3}, 3);
  choice.TakeHunks(1, {2, 3}, 3);
  choice.TakeHunks(2, {}, 3);
  EXPECT_EQ(Shown(choice), "a b#2#3 ");
}

TEST(ChangeChoiceTest, ADirectoryGoesWithTheLastOfWhatIsBelow) {
  const ChangeSet list = Listed({"d/", "d/sub/x", "d-e", "d/y", "d/sub/", "empty/"});
  ChangeChoice choice(list);
  EXPECT_TRUE(choice.HasChangesBelow(0));
  EXPECT_TRUE(choice.HasChangesBelow(4));
  EXPECT_FALSE(choice.HasChangesBelow(2)) << "its name begins like the directory's";
  EXPECT_FALSE(choice.HasChangesBelow(5));
  choice.Take(1);
  EXPECT_EQ(Shown(choice), "d/sub/x d/sub ");
  choice.Take(3);
  EXPECT_EQ(Shown(choice), "d d/sub/x d/y d/sub ");
}

TEST(ChangeChoiceTest, SomeHunksOfAFileLeaveItsDirectory) {
  const ChangeSet list = Listed({"d/", "d/x"});
  ChangeChoice choice(list);
  choice.TakeHunks(1, {1}, 2);
  EXPECT_EQ(Shown(choice), "d/x#1 ");
}

}  // namespace
}  // namespace odyssey::ctl
