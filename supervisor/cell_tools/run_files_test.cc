#include "supervisor/cell_tools/run_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <thread>

#include "supervisor/cell_tools/test_tree.h"

namespace odyssey::cell_tools {
namespace {

namespace fs = std::filesystem;
using tool::Op;
using tool::Response;

constexpr char kRun[] = "run_0000000000000abc";

class RunFilesTest : public TestTree {
 protected:
  void SetUp() override {
    TestTree::SetUp();
    fs::create_directory(cell() + "/runs");
    ASSERT_EQ(Do({.op = Op::kMakeRun, .path = kRun}).code, Code::kOk);
  }
  std::string Run(const std::string& path) const { return cell() + "/runs/" + kRun + "/" + path; }

  Response Do(const tool::Request& request) const { return Perform(MakeReach(), request); }
  Response Make(const std::string& path, const std::string& content, uint32_t mode = 0) const {
    return Do({.op = Op::kCreate,
               .path = std::string(kRun) + "/" + path,
               .content = content,
               .mode = mode});
  }
  Response Add(const std::string& path, uint64_t offset, const std::string& content,
               uint32_t mode = 0) const {
    return Do({.op = Op::kAppend,
               .path = std::string(kRun) + "/" + path,
               .offset = offset,
               .content = content,
               .mode = mode});
  }
  Response Fetch(const std::string& path, uint64_t offset = 0, uint64_t max = 0) const {
    return Do({.op = Op::kFetch,
               .path = std::string(kRun) + "/" + path,
               .offset = offset,
               .max_bytes = max});
  }
  // "path type size mode" of everything in the outbox.
  std::vector<std::string> Outbox() const {
    std::vector<std::string> lines;
    for (const auto& e : Do({.op = Op::kTree, .path = std::string(kRun) + "/outbox"}).entries) {
      char mode[16];
      snprintf(mode, sizeof(mode), " %o", e.mode);
      lines.push_back(e.path + " " + e.type +
                      (e.type == "file" ? " " + std::to_string(e.size) + mode : ""));
    }
    return lines;
  }
};

TEST_F(RunFilesTest, MakesTheFourDirectoriesAndLeavesWhatIsThere) {
  for (const char* directory : {"inbox", "outbox", "work", "tmp"}) {
    EXPECT_TRUE(fs::is_directory(Run(directory))) << directory;
  }
  Put(Run("work/f"), "kept");
  fs::remove(Run("tmp"));
  EXPECT_EQ(Do({.op = Op::kMakeRun, .path = kRun}).code, Code::kOk);
  EXPECT_EQ(Get(Run("work/f")), "kept");
  EXPECT_TRUE(fs::is_directory(Run("tmp")));
}

TEST_F(RunFilesTest, CreatesOnlyWhatIsNotThere) {
  EXPECT_EQ(Make("inbox/a", "one", 0600).code, Code::kOk);
  EXPECT_EQ(Make("inbox/a", "two").code, Code::kAlreadyExists);
  EXPECT_EQ(Get(Run("inbox/a")), "one");
  struct stat info {};
  ASSERT_EQ(stat(Run("inbox/a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  EXPECT_EQ(Make("inbox/s", "", 04755).code, Code::kInvalidArgument);
}

TEST_F(RunFilesTest, MakesDirectoriesOnTheWayAndTakesThemAwayAgain) {
  EXPECT_EQ(Make("inbox/x/y/f", "text").directories, 2u);
  EXPECT_EQ(Make("inbox/x/y/g", "text").directories, 0u);
  const std::string path = std::string(kRun) + "/inbox/x/y/";
  EXPECT_EQ(Do({.op = Op::kDiscard, .path = path + "g"}).code, Code::kOk);
  EXPECT_EQ(Do({.op = Op::kDiscard, .path = path + "f", .directories = 2}).code, Code::kOk);
  EXPECT_TRUE(fs::is_empty(Run("inbox")));
}

TEST_F(RunFilesTest, AFileThatCannotBeMadeLeavesNoDirectories) {
  EXPECT_NE(Make("inbox/x/y/" + std::string(300, 'n'), "text").code, Code::kOk);
  EXPECT_TRUE(fs::is_empty(Run("inbox")));
}

TEST_F(RunFilesTest, AppendsAtTheEndOnlyAndSetsTheModeAtLast) {
  Make("inbox/f", "one", 0600);
  EXPECT_EQ(Add("inbox/f", 3, " two").code, Code::kOk);
  EXPECT_EQ(Add("inbox/f", 3, "lost").code, Code::kAborted);
  EXPECT_EQ(Add("inbox/f", 7, "", 0400).code, Code::kOk);
  EXPECT_EQ(Get(Run("inbox/f")), "one two");
  EXPECT_EQ(Add("inbox/none", 0, "x").code, Code::kNotFound);
}

// ODEK-021: the cell plants a link where files are about to be put.
TEST_F(RunFilesTest, FollowsNoLinkWhereverItLeads) {
  fs::create_directory(Run("work/inside"));
  fs::create_symlink(outside(), Run("inbox/out"));
  fs::create_symlink(Run("work/inside"), Run("inbox/in"));
  fs::create_symlink(outside() + "/f", Run("inbox/file"));
  Put(outside() + "/secret", "secret");
  for (const char* path : {"inbox/out/f", "inbox/in/f", "inbox/out/x/f"}) {
    EXPECT_EQ(Make(path, "x").code, Code::kPermissionDenied) << path;
    EXPECT_NE(Make(path, "x").error.find("a symbolic link is in the way"), std::string::npos);
  }
  EXPECT_EQ(Make("inbox/file", "x").code, Code::kAlreadyExists);
  EXPECT_FALSE(fs::exists(outside() + "/f"));
  EXPECT_TRUE(fs::is_empty(Run("work/inside")));

  fs::create_symlink(outside() + "/secret", Run("outbox/secret"));
  EXPECT_NE(Fetch("outbox/secret").code, Code::kOk);
  EXPECT_NE(Add("outbox/secret", 6, "x").code, Code::kOk);
  EXPECT_NE(Fetch("inbox/out/secret").code, Code::kOk);
  EXPECT_EQ(Get(outside() + "/secret"), "secret");
}

TEST_F(RunFilesTest, ARunThatIsALinkIsNone) {
  fs::create_symlink(outside(), cell() + "/runs/run_0000000000000fff");
  EXPECT_EQ(Do({.op = Op::kMakeRun, .path = "run_0000000000000fff"}).code, Code::kPermissionDenied);
  EXPECT_TRUE(fs::is_empty(outside()));
}

// The inbox is swapped for a link, over and over, while files are put into it.
TEST_F(RunFilesTest, PutsNothingThroughADirectorySwappedForALink) {
  fs::create_symlink(outside(), Run("link"));
  std::atomic<bool> stop = false;
  std::atomic<int> swaps = 0;
  std::thread swapper([&] {
    while (!stop) {
      if (renameat2(AT_FDCWD, Run("inbox").c_str(), AT_FDCWD, Run("link").c_str(),
                    RENAME_EXCHANGE) == 0) {
        ++swaps;
      }
    }
  });
  int made = 0;
  int refused = 0;
  for (int i = 0; i < 100'000 && (made == 0 || refused == 0 || swaps < 100); ++i) {
    const Code code = Make("inbox/f" + std::to_string(i), "x").code;
    made += code == Code::kOk ? 1 : 0;
    refused += code == Code::kPermissionDenied ? 1 : 0;
  }
  stop = true;
  swapper.join();
  EXPECT_GT(made, 0);
  EXPECT_GT(refused, 0);
  EXPECT_TRUE(fs::is_empty(outside()));
}

TEST_F(RunFilesTest, RefusesPathsThatAreNone) {
  for (const char* path : {"", "inbox/", "inbox//f", "inbox/../../f", "./f", "inbox/."}) {
    EXPECT_EQ(Make(path, "x").code, Code::kInvalidArgument) << path;
  }
}

TEST_F(RunFilesTest, TakesOtherPlacesOfTheCellByTheirWholePath) {
  const std::string path = cell() + "/elsewhere/d/f";
  EXPECT_EQ(Do({.op = Op::kCreate, .path = path, .content = "one", .mode = 0750}).directories, 2u);
  EXPECT_EQ(Do({.op = Op::kAppend, .path = path, .offset = 3, .content = " two"}).code, Code::kOk);
  EXPECT_EQ(Do({.op = Op::kFetch, .path = path}).content, "one two");
  const Response tree = Do({.op = Op::kTree, .path = cell() + "/elsewhere"});
  ASSERT_EQ(tree.entries.size(), 1u);
  EXPECT_EQ(tree.entries[0].path, "d/f");
  const Response file = Do({.op = Op::kTree, .path = path});
  ASSERT_EQ(file.entries.size(), 1u);
  EXPECT_EQ(file.entries[0].path, "");
  EXPECT_EQ(file.entries[0].type, "file");
  EXPECT_EQ(file.entries[0].mode, 0750u);
  EXPECT_EQ(Do({.op = Op::kTree, .path = cell() + "/none"}).code, Code::kNotFound);

  fs::create_directory_symlink(cell() + "/elsewhere", cell() + "/link");
  for (const Op op : {Op::kCreate, Op::kFetch, Op::kTree}) {
    EXPECT_EQ(Do({.op = op, .path = cell() + "/link/d/f"}).code, Code::kPermissionDenied);
  }
  EXPECT_EQ(Do({.op = Op::kTree, .path = cell() + "/link"}).code, Code::kPermissionDenied);
}

TEST_F(RunFilesTest, ReplacesOnlyWhenItIsToldToAndNeverThroughALink) {
  Put(Run("tmp/f"), "before");
  Put(Run("tmp/target"), "stays");
  fs::create_symlink("target", Run("tmp/link"));
  const auto make = [&](const std::string& name, bool replace) {
    return Do({.op = Op::kCreate,
               .path = std::string(kRun) + "/tmp/" + name,
               .content = "after",
               .replace_all = replace})
        .code;
  };
  EXPECT_EQ(make("f", false), Code::kAlreadyExists);
  EXPECT_EQ(make("f", true), Code::kOk);
  EXPECT_EQ(Get(Run("tmp/f")), "after");
  EXPECT_EQ(make("link", true), Code::kOk);
  EXPECT_FALSE(fs::is_symlink(Run("tmp/link")));
  EXPECT_EQ(Get(Run("tmp/target")), "stays");
  fs::create_directory(Run("tmp/directory"));
  EXPECT_EQ(make("directory", true), Code::kAlreadyExists);
}

TEST_F(RunFilesTest, FetchesPiecesOfRegularFilesOnly) {
  Put(Run("outbox/f"), "0123456789");
  const Response first = Fetch("outbox/f", 0, 4);
  EXPECT_EQ(first.content, "0123");
  EXPECT_EQ(first.total_bytes, 10u);
  EXPECT_EQ(first.next_offset, 4u);
  EXPECT_EQ(Fetch("outbox/f", 4).content, "456789");
  ASSERT_EQ(mkfifo(Run("outbox/fifo").c_str(), 0600), 0);
  EXPECT_EQ(Fetch("outbox/fifo").code, Code::kFailedPrecondition);
  EXPECT_EQ(Add("outbox/fifo", 0, "x").code, Code::kFailedPrecondition);
  EXPECT_EQ(Fetch("outbox").code, Code::kFailedPrecondition);
}

TEST_F(RunFilesTest, ListsATreeWithWhatIsNoFile) {
  fs::create_directories(Run("outbox/b/c"));
  Put(Run("outbox/b/c/f"), "xyz");
  Put(Run("outbox/a"), "");
  fs::permissions(Run("outbox/a"), fs::perms::owner_all);
  fs::create_symlink("/etc", Run("outbox/b/link"));
  ASSERT_EQ(mkfifo(Run("outbox/fifo").c_str(), 0600), 0);
  Put(Run("outbox/bad\xFF"), "x");
  EXPECT_EQ(Outbox(),
            (std::vector<std::string>{"a file 0 700", "b/c/f file 3 644", "b/link symbolic link",
                                      "bad\xEF\xBF\xBD name not UTF-8", "fifo named pipe"}));
}

TEST_F(RunFilesTest, AListOfATreeIsBounded) {
  for (uint32_t i = 0; i < tool::kMaxListEntries + 5; ++i) {
    UniqueFd(open((Run("outbox/f") + std::to_string(i)).c_str(), O_CREAT | O_CLOEXEC, 0600));
  }
  const Response listed = Do({.op = Op::kTree, .path = std::string(kRun) + "/outbox"});
  EXPECT_EQ(listed.entries.size(), tool::kMaxListEntries);
  EXPECT_TRUE(listed.truncated);
}

TEST_F(RunFilesTest, AListOfADeepTreeIsBounded) {
  // Deeper than a path may be long: made step by step, from within.
  UniqueFd at(open(Run("outbox").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const std::string name(200, 'd');
  for (int depth = 0; depth < 100; ++depth) {
    ASSERT_EQ(mkdirat(at.get(), name.c_str(), 0700), 0);
    at.reset(openat(at.get(), name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  const Response listed = Do({.op = Op::kTree, .path = std::string(kRun) + "/outbox"});
  EXPECT_EQ(listed.code, Code::kOk);
  EXPECT_TRUE(listed.truncated);
}

TEST_F(RunFilesTest, RenamesASpareRunUnlessTheRunIsThere) {
  const RunTree runs(cell() + "/runs");
  ASSERT_TRUE(runs.Make(".next-1").ok());
  EXPECT_EQ(runs.Rename(".next-1", kRun).code(), Code::kAlreadyExists);
  EXPECT_TRUE(runs.Rename(".next-1", "run_0000000000000def").ok());
  EXPECT_TRUE(fs::is_directory(cell() + "/runs/run_0000000000000def/outbox"));
  EXPECT_EQ(runs.Rename(".next-1", "run_0000000000000aaa").code(), Code::kNotFound);
  EXPECT_EQ(runs.Count(10), 2u);
}

}  // namespace
}  // namespace odyssey::cell_tools
