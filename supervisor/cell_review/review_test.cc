// Lists, commits, undoes and discards on plain directories that are laid out as an overlay's layers
// are. tests/integration/review_test.cc has a real overlay.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include "supervisor/cell_review/commit.h"
#include "supervisor/cell_review/compare.h"
#include "supervisor/cell_review/diff_text.h"
#include "supervisor/cell_review/discard.h"
#include "supervisor/cell_review/fork.h"
#include "tests/fakes/temporary_directory.h"

namespace odyssey::cell_review {
namespace {

namespace fs = std::filesystem;
using review::ChangeKind;
using review::Selection;

class ReviewTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* layer : {"host", "upper", "store"}) fs::create_directory(Path(layer));
  }

  std::string Path(const std::string& path) const { return directory_.path() + "/" + path; }

  void Write(const std::string& path, const std::string& text, mode_t mode = 0644) {
    fs::create_directories(fs::path(Path(path)).parent_path());
    std::ofstream(Path(path)) << text;
    chmod(Path(path).c_str(), mode);
  }

  // As the overlay leaves them: the cell's are younger than the host's.
  void Host(const std::string& path, const std::string& text, mode_t mode = 0644) {
    Write("host/" + path, text, mode);
  }
  void Upper(const std::string& path, const std::string& text, mode_t mode = 0644) {
    usleep(8000);  // the kernel's clock of files has ticks
    Write("upper/" + path, text, mode);
  }
  void Delete(const std::string& path) {
    fs::create_directories(fs::path(Path("upper/" + path)).parent_path());
    fs::remove_all(Path("upper/" + path));
    ASSERT_EQ(mknod(Path("upper/" + path).c_str(), S_IFCHR, makedev(0, 0)), 0);
  }
  void MakeOpaque(const std::string& path) {
    fs::create_directories(Path("upper/" + path));
    ASSERT_EQ(setxattr(Path("upper/" + path).c_str(), "user.overlay.opaque", "y", 1, 0), 0);
  }
  // What the host wrote before the cell was made.
  void StartCell() {
    usleep(8000);
    fs::remove_all(Path("store"));
    fs::create_directory(Path("store"));
  }

  Reviewed Open() {
    auto reviewed = OpenReviewed(directory_.path(), directory_.path() + "/host");
    EXPECT_TRUE(reviewed.ok()) << reviewed.status().ToString();
    return std::move(*reviewed);
  }
  ChangeList List(const std::vector<Selection>& selections = {}) {
    Reviewed reviewed = Open();
    auto list = ListChanges(&reviewed, 0, selections, review::kMaxChanges);
    EXPECT_TRUE(list.ok()) << list.status().ToString();
    return std::move(*list);
  }
  // "added a", "conflict b", in order.
  std::string Summary() {
    static const char* const kNames[] = {"added", "modified", "deleted", "renamed",
                                         "mode",  "link",     "type"};
    std::string out;
    for (const Listed& listed : List().changes) {
      const review::Change& change = listed.change;
      out += change.conflict.empty() ? kNames[static_cast<int>(change.kind)] : "conflict";
      out += (change.mark.empty() ? " " : "! ") + change.path + "\n";
    }
    return out;
  }
  Outcome Commit(const std::vector<Selection>& selections = {}) {
    Reviewed reviewed = Open();
    auto list = ListChanges(&reviewed, 0, selections, review::kMaxChanges);
    EXPECT_TRUE(list.ok());
    const auto newest = NewestCommit(&reviewed);
    EXPECT_TRUE(newest.ok());
    auto outcome = CommitChanges(&reviewed, *newest + 1, *list, selections);
    EXPECT_TRUE(outcome.ok()) << outcome.status().ToString();
    return std::move(*outcome);
  }
  Outcome Undo(uint32_t commits = 1) {
    Reviewed reviewed = Open();
    Outcome last;
    for (; commits > 0; --commits) {
      const auto newest = NewestCommit(&reviewed);
      EXPECT_TRUE(newest.ok());
      auto outcome = UndoCommit(&reviewed, *newest);
      EXPECT_TRUE(outcome.ok()) << outcome.status().ToString();
      last = std::move(*outcome);
    }
    return last;
  }

  // Path → mode and content, of everything below.
  std::map<std::string, std::string> Tree(const std::string& layer) const {
    std::map<std::string, std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(Path(layer))) {
      struct stat info;
      EXPECT_EQ(lstat(entry.path().c_str(), &info), 0);
      std::string what = std::to_string(info.st_mode) + " ";
      if (entry.is_symlink()) {
        what += fs::read_symlink(entry.path()).string();
      } else if (entry.is_regular_file()) {
        std::ifstream file(entry.path());
        what += std::string(std::istreambuf_iterator<char>(file), {}) + " " +
                std::to_string(info.st_mtim.tv_sec) + "." + std::to_string(info.st_mtim.tv_nsec);
      }
      out[fs::relative(entry.path(), Path(layer))] = what;
    }
    return out;
  }
  std::string Content(const std::string& path) const {
    std::ifstream file(Path(path));
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fakes::TemporaryDirectory directory_;
};

TEST_F(ReviewTest, ListsWhatTheCellDidAndNothingElse) {
  for (const char* name : {"same", "edit", "gone", "mode", "dir/gone", "dir/stays", "old name"}) {
    Host(name, std::string("content of ") + name + "\n");
  }
  fs::create_symlink("edit", Path("host/link"));
  StartCell();
  Upper("edit", "edited\n");
  Upper("same", "content of same\n");  // opened for writing, and left
  Upper("new/file", "new\n");
  Upper("mode", "content of mode\n", 0755);
  Upper("new name", "content of old name\n");
  Delete("old name");
  Delete("gone");
  Delete("dir");
  fs::create_symlink("mode", Path("upper/link"));
  EXPECT_EQ(Summary(),
            "deleted dir\ndeleted dir/gone\ndeleted dir/stays\nmodified edit\ndeleted gone\n"
            "link link\nmode mode\nadded new\nrenamed new name\nadded new/file\n");
  const review::Counts counts = List().counts;
  EXPECT_EQ(counts,
            (review::Counts{.added = 2, .modified = 1, .deleted = 4, .renamed = 1, .other = 2}));
}

TEST_F(ReviewTest, ACommitMakesTheHostWhatTheCellSeesAndUndoTakesItBack) {
  for (const char* name : {"edit", "gone", "dir/a", "dir/sub/b", "becomes directory", "keep"}) {
    Host(name, std::string("content of ") + name + "\n", 0640);
  }
  StartCell();
  Upper("edit", "edited\n", 0755);
  Upper("new/deep/file", "new\n");
  Delete("gone");
  MakeOpaque("dir");
  Upper("dir/c", "c\n");
  Upper("becomes directory/x", "x\n");
  fs::create_symlink("edit", Path("upper/link"));
  const auto before = Tree("host");
  const Outcome outcome = Commit();
  EXPECT_EQ(outcome.commit, 1u);
  EXPECT_TRUE(outcome.refused.empty()) << outcome.refused.front().why;
  auto expected = Tree("upper");
  expected.erase("gone");
  expected["keep"] = before.at("keep");
  EXPECT_EQ(Tree("host"), expected);
  EXPECT_EQ(Summary(), "");

  const Outcome undone = Undo();
  EXPECT_TRUE(undone.refused.empty());
  EXPECT_EQ(Tree("host"), before);
  EXPECT_NE(Summary(), "") << "the cell's changes are still there";
  EXPECT_EQ(Commit().refused.size(), 0u);
  EXPECT_EQ(Tree("host"), expected);
}

TEST_F(ReviewTest, WhatTheHostChangedMeanwhileIsRefusedAndBothVersionsStay) {
  Host("both", "old\n");
  Host("touched", "old\n");
  Host("deleted by the cell", "old\n");
  StartCell();
  Upper("both", "the cell's\n");
  Upper("touched", "the cell's\n");
  Delete("deleted by the cell");
  List();  // as at the end of a turn
  usleep(8000);
  Host("both", "the host's\n");
  Host("touched", "old\n");  // written again, the same
  Host("deleted by the cell", "the host's\n");
  EXPECT_EQ(Summary(), "conflict both\nconflict deleted by the cell\nmodified touched\n");
  const Outcome outcome = Commit();
  EXPECT_EQ(outcome.refused.size(), 2u);
  EXPECT_EQ(Content("host/both"), "the host's\n");
  EXPECT_EQ(Content("upper/both"), "the cell's\n");
  EXPECT_EQ(Content("host/touched"), "the cell's\n");
}

TEST_F(ReviewTest, WhatWasNeverListedIsJudgedByTime) {
  Host("edited later", "old\n");
  StartCell();
  Upper("edited later", "the cell's\n");
  Upper("added by both", "the cell's\n");
  usleep(8000);
  Host("edited later", "the host's\n");
  Host("added by both", "the host's\n");
  EXPECT_EQ(Summary(), "conflict added by both\nconflict edited later\n");
}

TEST_F(ReviewTest, TheHostsLaterChangesOfACommittedFileAreNoChangesOfTheCell) {
  Host("file", "old\n");
  StartCell();
  Upper("file", "the cell's\n");
  Commit();
  usleep(8000);
  Host("file", "the host's, later\n");
  EXPECT_EQ(Summary(), "");
  usleep(8000);
  Upper("file", "the cell's, later\n");
  EXPECT_EQ(Summary(), "conflict file\n");
}

TEST_F(ReviewTest, MarkedChangesAreCommittedOnlyByName) {
  StartCell();
  Upper(".git/hooks/post-checkout", "#!/bin/sh\n", 0755);
  Upper("src/.envrc", "evil\n");
  Upper("src/main.c", "int main;\n");
  Upper("bare/HEAD", "ref: refs/heads/x\n");
  Upper("bare/objects/x", "");
  Upper("bare/refs/x", "");
  Upper("bare/config", "[core]\n");
  fs::create_symlink("/etc", Path("upper/out"));
  ASSERT_EQ(mkfifo(Path("upper/pipe").c_str(), 0600), 0);
  Commit();
  EXPECT_FALSE(fs::exists(Path("host/.git/hooks/post-checkout")));
  EXPECT_FALSE(fs::exists(Path("host/src/.envrc")));
  EXPECT_FALSE(fs::exists(Path("host/bare/config")));
  EXPECT_FALSE(fs::exists(Path("host/bare/HEAD")));
  EXPECT_FALSE(fs::is_symlink(Path("host/out")));
  EXPECT_FALSE(fs::exists(Path("host/pipe")));
  EXPECT_TRUE(fs::exists(Path("host/src/main.c")));
  const Outcome outcome = Commit({{.path = "src/.envrc", .marked = true}});
  EXPECT_EQ(outcome.done, 1u);
  EXPECT_EQ(Content("host/src/.envrc"), "evil\n");
}

TEST_F(ReviewTest, CommitsByPathAndByHunk) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "line " + std::to_string(i) + "\n";
  Host("file", text);
  StartCell();
  std::string edited = text;
  edited.replace(edited.find("line 3\n"), 7, "LINE 3\n");
  edited.replace(edited.find("line 35\n"), 8, "LINE 35\n");
  Upper("file", edited);
  Upper("other", "x\n");
  Commit({{.path = "file", .hunks = {2}}});
  EXPECT_FALSE(fs::exists(Path("host/other")));
  EXPECT_EQ(Content("host/file").find("LINE 3\n"), std::string::npos);
  EXPECT_NE(Content("host/file").find("LINE 35\n"), std::string::npos);
  EXPECT_EQ(Summary(), "modified file\nadded other\n");
  Commit({{.path = "file"}});
  EXPECT_EQ(Content("host/file"), edited);
  Undo(2);
  EXPECT_EQ(Content("host/file"), text);
}

TEST_F(ReviewTest, TheDigestIsOfWhatWasLookedAt) {
  Host("file", "old\n");
  StartCell();
  Upper("file", "one\n");
  const std::string digest = List().digest;
  EXPECT_EQ(List().digest, digest);
  usleep(8000);
  Upper("file", "two\n");
  EXPECT_NE(List().digest, digest);
}

TEST_F(ReviewTest, UndoLeavesWhatTheHostChangedSince) {
  Host("a", "old a\n");
  Host("b", "old b\n");
  StartCell();
  Upper("a", "new a\n");
  Upper("b", "new b\n");
  Commit();
  Host("a", "the host's\n");
  const Outcome undone = Undo();
  ASSERT_EQ(undone.refused.size(), 1u);
  EXPECT_EQ(undone.refused[0].path, "a");
  EXPECT_EQ(Content("host/a"), "the host's\n");
  EXPECT_EQ(Content("host/b"), "old b\n");
}

TEST_F(ReviewTest, DiscardShowsTheHostsAgain) {
  for (const char* name : {"edit", "gone", "dir/a", "dir/b"}) Host(name, "old\n");
  StartCell();
  Upper("edit", "new\n");
  Upper("added/x", "new\n");
  Delete("gone");
  MakeOpaque("dir");
  Upper("dir/a", "new\n");
  Reviewed reviewed = Open();
  const std::vector<Selection> some = {{.path = "edit"}, {.path = "gone"}, {.path = "dir"}};
  auto list = ListChanges(&reviewed, 0, some, 100);
  ASSERT_TRUE(list.ok());
  const auto outcome = DiscardChanges(&reviewed, *list, some);
  ASSERT_TRUE(outcome.ok());
  EXPECT_TRUE(outcome->refused.empty());
  EXPECT_EQ(Summary(), "added added\nadded added/x\n");
  EXPECT_FALSE(fs::exists(Path("upper/edit")));
  EXPECT_EQ(Content("upper/dir/a"), "old\n") << "below an opaque directory it is put back";
  ASSERT_TRUE(DiscardChanges(&reviewed, *list, {}).ok());
  EXPECT_TRUE(fs::is_empty(Path("upper")));
}

TEST_F(ReviewTest, SettlingShowsTheHostsLaterVersionOfWhatTheCellLeftAlone) {
  for (const char* name : {"committed", "opened", "gone", "same"}) Host(name, "old\n");
  StartCell();
  Upper("committed", "new\n");
  Upper("opened", "old\n");  // for writing, and nothing was written
  Upper("same", "new\n");
  Upper("kept", "new\n");
  Delete("gone");
  Commit({{.path = "committed"}, {.path = "gone"}, {.path = "same"}});
  usleep(8000);
  Host("committed", "the host's, later\n");
  Host("opened", "the host's, later\n");
  Host("gone", "made again\n");
  Reviewed reviewed = Open();
  ASSERT_TRUE(Settle(&reviewed, review::kMaxChanges).ok());
  for (const char* name : {"committed", "opened", "gone"}) {
    EXPECT_FALSE(fs::exists(fs::symlink_status(Path(std::string("upper/") + name)))) << name;
  }
  EXPECT_TRUE(fs::exists(Path("upper/same"))) << "an undo shows it again";
  EXPECT_EQ(Summary(), "added kept\n");
}

TEST_F(ReviewTest, ALinkOnTheHostLeadsNoCommitOut) {
  fs::create_directory(Path("outside"));
  Host("dir/file", "old\n");
  StartCell();
  Upper("dir/file", "the cell's\n");
  List();
  fs::rename(Path("host/dir"), Path("moved"));
  fs::create_directory_symlink(Path("outside"), Path("host/dir"));
  Write("outside/file", "old\n");
  Commit();
  EXPECT_EQ(Content("outside/file"), "old\n");
}

TEST_F(ReviewTest, NamesThatLinesCannotHoldAndClosedFiles) {
  StartCell();
  Upper("a\nb\x1b[31m", "x\n");
  Upper("closed", "x\n", 0);
  Upper(std::string(255, 'n'), "x\n");
  Reviewed reviewed = Open();
  const ChangeList list = List();
  ASSERT_EQ(list.changes.size(), 3u);
  for (const Listed& listed : list.changes) {
    EXPECT_EQ(DiffText({&reviewed.host, listed.found.host}, {&reviewed.upper, listed.found.upper},
                       listed.change)
                  .find('\x1b'),
              std::string::npos);
  }
  Commit();
  EXPECT_EQ(Content("host/a\nb\x1b[31m"), "x\n");
}

// The other cell's layer is `against`: both begin with what the host has.
TEST_F(ReviewTest, ComparesWhatTwoCellsMadeOfADirectory) {
  for (const char* name : {"same", "both", "mine", "gone", "dir/a", "dir/b", "old/a"}) {
    Host(name, std::string(name) + "\n");
  }
  fs::create_directory(Path("against"));
  Upper("both", "both 2\n");
  Write("against/both", "both 1\n");
  Upper("mine", "mine\n");  // as the host's: written, and the same
  Upper("equal", "equal\n");
  Write("against/equal", "equal\n");
  Write("against/theirs", "theirs\n");
  Delete("gone");
  Delete("dir");
  Write("against/dir/a", "a of theirs\n");
  MakeOpaque("old");
  Upper("blob", std::string("x\0y", 3));
  auto layers = OpenCompared(directory_.path());
  ASSERT_TRUE(layers.ok());
  std::string text;
  const auto tell = [&](const std::string& one) {
    text += one;
    return OkStatus();
  };
  ASSERT_TRUE(Compare(&*layers, {}, tell).ok());
  std::string lines;
  for (size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    const std::string line = text.substr(at, end - at);
    const bool head = line.rfind("diff", 0) == 0 || line[0] == '#';
    const bool shown = line.rfind("+++", 0) != 0 && line.rfind("---", 0) != 0 &&
                       (line[0] == '+' || line[0] == '-');
    if (head || shown) lines += line + "\n";
  }
  EXPECT_EQ(lines,
            "diff --git a/blob b/blob\n"
            "diff --git a/both b/both\n-both 1\n+both 2\n"
            "# directory deleted: dir\n"
            "diff --git a/dir/a b/dir/a\n-a of theirs\n"
            "diff --git a/dir/b b/dir/b\n-dir/b\n"
            "diff --git a/gone b/gone\n-gone\n"
            "diff --git a/old/a b/old/a\n-old/a\n"
            "diff --git a/theirs b/theirs\n-theirs\n");
  EXPECT_NE(text.find("Binary files"), std::string::npos);
  text.clear();
  ASSERT_TRUE(Compare(&*layers, {{.path = "dir"}}, tell).ok());
  EXPECT_EQ(text.find("theirs b/theirs"), std::string::npos);
  EXPECT_NE(text.find("a/dir/b"), std::string::npos);
}

TEST_F(ReviewTest, ASelectionWithoutAChangeIsTold) {
  Host("a", "a\n");
  StartCell();
  Upper("a", "b\n");
  Upper("dir/new", "x\n");
  const std::vector<Selection> selections = {
      {.path = "a"}, {.path = "dir"}, {.path = "no/such"}, {.path = ""}, {.path = "dir/ne"}};
  EXPECT_EQ(List(selections).unmatched, (std::vector<std::string>{"dir/ne", "no/such"}));
}

TEST_F(ReviewTest, ForksCopyWhiteoutsMarksAndModes) {
  Write("from/changes/1/upper/file", "x\n", 0755);
  Write("from/changes/1/work/work/x", "x\n");
  ASSERT_EQ(mknod(Path("from/changes/1/upper/gone").c_str(), S_IFCHR, makedev(0, 0)), 0);
  fs::create_directory(Path("from/changes/1/upper/opaque"));
  ASSERT_EQ(setxattr(Path("from/changes/1/upper/opaque").c_str(), "user.overlay.opaque", "y", 1, 0),
            0);
  fs::create_directories(Path("to/changes"));
  EXPECT_TRUE(CheckEmpty(Path("to")).ok());
  ASSERT_TRUE(CopyTree(Path("from"), Path("to")).ok());
  const Status full = CheckEmpty(Path("to"));
  EXPECT_EQ(full.code(), Code::kFailedPrecondition);
  EXPECT_NE(full.message().find("changes/1/upper/file"), std::string::npos) << full.message();
  char value = 0;
  EXPECT_EQ(getxattr(Path("to/changes/1/upper/opaque").c_str(), "user.overlay.opaque", &value, 1),
            1);
  struct stat info;
  ASSERT_EQ(lstat(Path("to/changes/1/upper/gone").c_str(), &info), 0);
  EXPECT_TRUE(S_ISCHR(info.st_mode) && info.st_rdev == 0);
  ASSERT_EQ(lstat(Path("to/changes/1/upper/file").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0755u);
  EXPECT_TRUE(fs::is_empty(Path("to/changes/1/work")));
}

// Ended at 200 points of its work, each commit and undo leaves every file old or new; the next
// operation takes back what was cut off, and no file of its own stays.
TEST_F(ReviewTest, KilledAnywhereEveryFileIsOldOrNewAndNothingIsLost) {
  constexpr int kFiles = 60;
  const auto name = [](int i) { return "d" + std::to_string(i % 7) + "/f" + std::to_string(i); };
  for (int i = 0; i < kFiles; i += 2) Host(name(i), "old " + std::to_string(i) + "\n");
  StartCell();
  usleep(8000);
  for (int i = 0; i < kFiles; ++i) {
    if (i % 10 == 4) {
      Delete(name(i));
    } else {
      Write("upper/" + name(i), "new " + std::to_string(i) + "\n");
    }
  }
  const auto before = Tree("host");
  Commit();
  const auto after = Tree("host");
  Undo();
  ASSERT_EQ(Tree("host"), before);

  std::mt19937 random(11);
  int cut_off = 0;
  for (int round = 0; round < 200; ++round) {
    const bool undo = round % 2 == 1;
    if (undo) Commit();
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      if (undo) {
        Undo();
      } else {
        Commit();
      }
      _exit(0);
    }
    usleep(random() % 12000);
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) ++cut_off;
    for (const auto& [path, what] : Tree("host")) {
      if (fs::path(path).filename().string().rfind(".odyssey-commit-", 0) == 0) continue;
      const bool old_one = before.count(path) != 0 && before.at(path) == what;
      const bool new_one = after.count(path) != 0 && after.at(path) == what;
      const bool directory = fs::is_directory(Path("host/" + path));
      ASSERT_TRUE(old_one || new_one || directory) << path << ": " << what;
    }
    Reviewed reviewed = Open();
    const Status status_of_recovery = Recover(&reviewed);
    ASSERT_TRUE(status_of_recovery.ok()) << round << ": " << status_of_recovery.ToString();
    const auto recovered = Tree("host");
    ASSERT_TRUE(recovered == before || recovered == after) << "round " << round;
    if (recovered == after) Undo();
    ASSERT_EQ(Tree("host"), before) << "round " << round;
  }
  EXPECT_GT(cut_off, 50) << "most rounds ended before they were cut off";
}

}  // namespace
}  // namespace odyssey::cell_review
