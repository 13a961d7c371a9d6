#include "ctl/view/change_view.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

namespace odyssey::ctl {
namespace {

using supervisor::v1::Change;

Change Make(supervisor::v1::ChangeKind kind, const std::string& path) {
  Change change;
  change.set_kind(kind);
  change.set_path(path);
  change.set_new_mode(S_IFREG | 0644);
  return change;
}

std::string Line(const Change& change) { return ChangeLine(change, false); }

TEST(ChangeViewTest, ALineNamesKindAndPath) {
  EXPECT_EQ(Line(Make(supervisor::v1::CHANGE_KIND_ADDED, "/workspace/src/a.c")), "A  src/a.c");
  EXPECT_EQ(Line(Make(supervisor::v1::CHANGE_KIND_MODIFIED, "/srv/x")), "M  /srv/x");
  Change directory = Make(supervisor::v1::CHANGE_KIND_DELETED, "/workspace/d");
  directory.set_new_mode(0);
  directory.set_old_mode(S_IFDIR | 0755);
  EXPECT_EQ(Line(directory), "D  d/");
  Change renamed = Make(supervisor::v1::CHANGE_KIND_RENAMED, "/workspace/new");
  renamed.set_from("/workspace/old");
  EXPECT_EQ(Line(renamed), "R  old → new");
  Change mode = Make(supervisor::v1::CHANGE_KIND_MODE, "/workspace/run.sh");
  mode.set_old_mode(S_IFREG | 0644);
  mode.set_new_mode(S_IFREG | 0755);
  EXPECT_EQ(Line(mode), "m  run.sh (0644 → 0755)");
}

TEST(ChangeViewTest, MarksAndConflictsHaveTheirReasons) {
  Change change = Make(supervisor::v1::CHANGE_KIND_ADDED, "/workspace/.envrc");
  change.set_mark("direnv runs it");
  EXPECT_EQ(Line(change), "A  .envrc  MARKED: direnv runs it");
  change.set_conflict("the host changed it");
  EXPECT_EQ(Line(change), "A  .envrc  MARKED: direnv runs it  CONFLICT: the host changed it");
}

TEST(ChangeViewTest, NamesOfACellDoNotActOnTheTerminal) {
  EXPECT_EQ(Line(Make(supervisor::v1::CHANGE_KIND_ADDED, "/workspace/a\x1b]0;x\x07\nb\r")),
            "A  a\\e]0;x\\x07\\nb\\r");
}

TEST(ChangeViewTest, CountsSayWhatThereIs) {
  supervisor::v1::ChangeCounts counts;
  EXPECT_EQ(CountsText(counts), "no changes");
  counts.set_added(1);
  EXPECT_EQ(CountsText(counts), "1 added");
  counts.set_modified(2);
  counts.set_other(1);
  counts.set_marked(1);
  counts.set_conflicts(2);
  EXPECT_EQ(CountsText(counts),
            "1 added, 2 modified, 1 of mode, link or type (1 marked, 2 in conflict with the host)");
}

// The line is there to be pasted into a shell.
TEST(ChangeViewTest, ANameOfACellIsOneWordOfTheCommandThatIsAdvised) {
  supervisor::v1::RefusedChange refused;
  refused.set_path("/workspace/a'; touch b; '");
  refused.set_reason("direnv runs it");
  refused.set_marked(true);
  EXPECT_EQ(RefusalLine(refused, "mine"),
            "odyssey-ctl: left out, marked: a'; touch b; ': direnv runs it\n"
            "  to take it all the same: odyssey-ctl commit mine --marked "
            R"('a'\''; touch b; '\''')");
  refused.set_marked(false);
  EXPECT_EQ(RefusalLine(refused, "mine"), "odyssey-ctl: not done: a'; touch b; ': direnv runs it");
}

}  // namespace
}  // namespace odyssey::ctl
