#include "supervisor/cell_tools/file_ops.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "supervisor/cell_tools/test_tree.h"

namespace odyssey::cell_tools {
namespace {

namespace fs = std::filesystem;
using tool::Op;
using tool::Request;
using tool::Response;

class FileOpsTest : public TestTree {
 protected:
  Response Do(const Request& request) const { return Perform(MakeReach(), request); }
  Response Read(const std::string& path) const { return Do({.op = Op::kRead, .path = path}); }
  Response Write(const std::string& path, const std::string& content, uint32_t mode = 0) const {
    return Do({.op = Op::kWrite, .path = path, .content = content, .mode = mode});
  }
  Response Edit(const std::string& path, const std::string& old_text, const std::string& new_text,
                bool all = false) const {
    return Do({.op = Op::kEdit,
               .path = path,
               .old_text = old_text,
               .new_text = new_text,
               .replace_all = all});
  }
  Response List(const std::string& path) const { return Do({.op = Op::kList, .path = path}); }

  // "type path size" of each entry.
  static std::vector<std::string> Lines(const Response& response) {
    std::vector<std::string> lines;
    for (const auto& e : response.entries) {
      lines.push_back(e.type + " " + e.path +
                      (e.type == "file" ? " " + std::to_string(e.size) : ""));
    }
    return lines;
  }
  static mode_t ModeOf(const std::string& path) {
    struct stat info {};
    EXPECT_EQ(stat(path.c_str(), &info), 0);
    return info.st_mode & 07777;
  }
};

// --- no_links

TEST_F(FileOpsTest, DoesNothingThroughALinkWhereNoneMayBe) {
  fs::create_directories(workspace() + "/secrets");
  Put(workspace() + "/secrets/a", "token");
  fs::create_symlink("secrets", workspace() + "/tree");
  const Request requests[] = {
      {.op = Op::kRead, .path = "tree/a", .no_links = true},
      {.op = Op::kWrite, .path = "tree/a", .content = "x", .no_links = true},
      {.op = Op::kEdit, .path = "tree/a", .old_text = "t", .new_text = "x", .no_links = true},
      {.op = Op::kMultiEdit, .path = "tree/a", .no_links = true, .edits = {{"t", "x"}}},
      {.op = Op::kList, .path = "tree/a", .no_links = true},
  };
  for (const Request& request : requests) {
    const Response response = Do(request);
    EXPECT_EQ(response.code, Code::kAborted) << static_cast<int>(request.op);
    EXPECT_EQ(response.leads_to, workspace() + "/secrets/a");
    EXPECT_EQ(response.content, "");
  }
  EXPECT_EQ(Read("secrets/a").content, "token");
  EXPECT_EQ(Do({.op = Op::kRead, .path = "secrets/a", .no_links = true}).content, "token");
}

// An adversary who exchanges a file with a link to another one: each read is of the file, or is
// refused, and no write reaches the other one.
TEST_F(FileOpsTest, NoLinkIsFollowedThatIsExchangedMeanwhile) {
  Put(workspace() + "/public", "public");
  Put(workspace() + "/secret", "secret");
  fs::create_symlink("secret", workspace() + "/link");
  std::atomic<bool> stop = false;
  std::thread adversary([&] {
    while (!stop) {
      renameat2(AT_FDCWD, (workspace() + "/public").c_str(), AT_FDCWD,
                (workspace() + "/link").c_str(), RENAME_EXCHANGE);
    }
  });
  int read = 0;
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    const Response response = Do({.op = Op::kRead, .path = "public", .no_links = true});
    ASSERT_NE(response.content, "secret");
    read += response.content == "public" ? 1 : 0;
    refused += response.code == Code::kAborted ? 1 : 0;
  }
  for (int i = 0; i < 2000; ++i) {
    (void)Do({.op = Op::kWrite, .path = "public", .content = "public", .no_links = true});
  }
  stop = true;
  adversary.join();
  EXPECT_GT(read, 0);
  EXPECT_GT(refused, 0);
  EXPECT_EQ(Read("secret").content, "secret");
}

// --- the whole of case ODY-069

TEST_F(FileOpsTest, ReadsWritesEditsAndLists) {
  fs::create_directory(workspace() + "/docs");
  Put(workspace() + "/docs/notes.txt", "hello world\nhello odyssey\n");
  EXPECT_EQ(Read("docs/notes.txt").content, "hello world\nhello odyssey\n");

  const Response wrote = Write("docs/new.txt", "new file");
  EXPECT_EQ(wrote.bytes, 8u);
  EXPECT_TRUE(wrote.created);
  EXPECT_EQ(Edit("docs/new.txt", "new", "updated").replacements, 1u);
  EXPECT_EQ(Get(workspace() + "/docs/new.txt"), "updated file");
  EXPECT_EQ(Lines(List("docs")),
            (std::vector<std::string>{"file docs/new.txt 12", "file docs/notes.txt 26"}));
}

// --- Read

TEST_F(FileOpsTest, ReadIsBoundedAndTellsWhereToGoOn) {
  Put(workspace() + "/f", std::string(300'000, 'x'));
  const Response first = Read("f");
  EXPECT_EQ(first.content.size(), tool::kDefaultReadBytes);
  EXPECT_EQ(first.total_bytes, 300'000u);
  EXPECT_TRUE(first.truncated);
  EXPECT_EQ(first.next_offset, tool::kDefaultReadBytes);
  const Response rest = Do({.op = Op::kRead, .path = "f", .offset = first.next_offset});
  EXPECT_EQ(rest.content.size(), 100'000u);
  EXPECT_FALSE(rest.truncated);
  EXPECT_EQ(rest.next_offset, 0u);
}

TEST_F(FileOpsTest, ReadOfAHugeFileStaysBounded) {
  UniqueFd fd(open((workspace() + "/huge").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  ASSERT_EQ(ftruncate(fd.get(), 1 << 30), 0);
  const Response response = Do({.op = Op::kRead, .path = "huge", .max_bytes = uint64_t{1} << 40});
  EXPECT_EQ(response.content.size(), tool::kMaxContent);
  EXPECT_EQ(response.total_bytes, uint64_t{1} << 30);
  EXPECT_TRUE(response.truncated);
}

TEST_F(FileOpsTest, ReadDoesNotSplitACharacter) {
  Put(workspace() + "/f", "aé");
  const Response first = Do({.op = Op::kRead, .path = "f", .max_bytes = 2});
  EXPECT_EQ(first.content, "a");
  EXPECT_EQ(first.next_offset, 1u);
  const Response second = Do({.op = Op::kRead, .path = "f", .offset = 1, .max_bytes = 2});
  EXPECT_EQ(second.content, "é");
  EXPECT_EQ(second.next_offset, 0u);
}

TEST_F(FileOpsTest, ReadBeyondTheEndIsEmpty) {
  Put(workspace() + "/f", "abc");
  const Response response = Do({.op = Op::kRead, .path = "f", .offset = UINT64_MAX});
  EXPECT_EQ(response.code, Code::kOk);
  EXPECT_EQ(response.content, "");
  EXPECT_EQ(response.total_bytes, 3u);
  EXPECT_FALSE(response.truncated);
}

TEST_F(FileOpsTest, OpensOnlyRegularFilesAndNeverBlocks) {
  ASSERT_EQ(mkfifo((workspace() + "/fifo").c_str(), 0600), 0);
  UniqueFd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  const std::string path = workspace() + "/s";
  ASSERT_LT(path.size(), sizeof(address.sun_path));
  path.copy(address.sun_path, path.size());
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);

  EXPECT_EQ(Read("fifo").error, "path `fifo` is not a regular file");
  EXPECT_EQ(Read("s").error, "path `" + path + "` is not a regular file");
  EXPECT_EQ(Read(".").error, "path `.` is a directory");
  EXPECT_EQ(Write("fifo", "x").error, "path `fifo` is not a regular file");
  EXPECT_EQ(Write("s", "x").error, "path `s` is not a regular file");
  EXPECT_EQ(Write(".", "x").code, Code::kFailedPrecondition);
  EXPECT_EQ(List("fifo").error, "path `fifo` is not a directory");
}

// --- Write

TEST_F(FileOpsTest, WriteMakesParentsAndReplacesWhole) {
  EXPECT_TRUE(Write("a/b/c", "one").created);
  EXPECT_FALSE(Write("a/b/c", "2").created);
  EXPECT_EQ(Get(workspace() + "/a/b/c"), "2");
  EXPECT_EQ(Lines(List("a/b")),
            std::vector<std::string>{"file a/b/c 1"});  // no temporary file left
}

TEST_F(FileOpsTest, WriteSetsTheModeOfANewFileAndKeepsThatOfAnOldOne) {
  Write("plain", "x");
  Write("script", "x", 0755);
  EXPECT_EQ(ModeOf(workspace() + "/plain"), 0644u);
  EXPECT_EQ(ModeOf(workspace() + "/script"), 0755u);
  Write("script", "y", 0600);
  EXPECT_EQ(ModeOf(workspace() + "/script"), 0755u);
}

TEST_F(FileOpsTest, WriteRefusesSpecialModeBits) {
  for (const uint32_t mode : {04755u, 02755u, 01777u, 0100644u}) {
    EXPECT_EQ(Write("f", "x", mode).code, Code::kInvalidArgument) << mode;
  }
  EXPECT_FALSE(fs::exists(workspace() + "/f"));
  EXPECT_EQ(Write("f", "x", 04755).error,
            "mode 04755: only permission bits, 0 to 0777, are allowed");
}

TEST_F(FileOpsTest, WriteGoesThroughALinkAndKeepsIt) {
  Put(workspace() + "/real", "old");
  fs::create_symlink("real", workspace() + "/link");
  fs::create_symlink(cell() + "/fresh", workspace() + "/dangling");
  EXPECT_FALSE(Write("link", "new").created);
  EXPECT_TRUE(fs::is_symlink(workspace() + "/link"));
  EXPECT_EQ(Get(workspace() + "/real"), "new");
  EXPECT_TRUE(Write("dangling", "made").created);
  EXPECT_EQ(Get(cell() + "/fresh"), "made");
}

TEST_F(FileOpsTest, WriteAndEditKeepHardLinksTogether) {
  Put(workspace() + "/one", "a long first content");
  fs::create_hard_link(workspace() + "/one", workspace() + "/two");
  ASSERT_EQ(Write("two", "short").code, Code::kOk);
  EXPECT_EQ(Get(workspace() + "/one"), "short");
  ASSERT_EQ(Edit("one", "short", "edited").code, Code::kOk);
  EXPECT_EQ(Get(workspace() + "/two"), "edited");
  EXPECT_EQ(fs::hard_link_count(workspace() + "/one"), 2u);
}

TEST_F(FileOpsTest, WriteNeverLeavesTheRoots) {
  Put(outside() + "/victim", "untouched");
  fs::create_symlink(outside() + "/victim", workspace() + "/file_link");
  fs::create_symlink(outside(), workspace() + "/dir_link");
  fs::create_symlink(outside() + "/new", workspace() + "/dangling");
  for (const char* path : {"file_link", "dir_link/victim", "dir_link/new", "dangling"}) {
    EXPECT_EQ(Write(path, "x").code, Code::kPermissionDenied) << path;
  }
  EXPECT_EQ(Write("file_link", "x").error,
            "sandbox policy blocks Write access to " + outside() + "/victim");
  EXPECT_EQ(Edit("file_link", "untouched", "x").code, Code::kPermissionDenied);
  EXPECT_EQ(Get(outside() + "/victim"), "untouched");
  EXPECT_FALSE(fs::exists(outside() + "/new"));
}

// A command in the cell swaps a directory for a link to the outside, over and over, while files are
// written below it. Fails at once if a path is checked first and opened by name afterwards.
TEST_F(FileOpsTest, WriteDoesNotFollowADirectorySwappedForALink) {
  fs::create_directory(workspace() + "/d");
  fs::create_symlink(outside(), workspace() + "/l");
  Put(outside() + "/f", "untouched");
  std::atomic<bool> stop = false;
  std::atomic<int> swaps = 0;
  std::thread swapper([&] {
    const std::string d = workspace() + "/d";
    const std::string l = workspace() + "/l";
    while (!stop) {
      if (renameat2(AT_FDCWD, d.c_str(), AT_FDCWD, l.c_str(), RENAME_EXCHANGE) == 0) ++swaps;
    }
  });
  int written = 0;
  int refused = 0;
  for (int i = 0; i < 100'000 && (i < 300 || written == 0 || refused == 0 || swaps < 100); ++i) {
    const Code code = Write("d/f", "x").code;
    written += code == Code::kOk ? 1 : 0;
    refused += code == Code::kPermissionDenied ? 1 : 0;
  }
  stop = true;
  swapper.join();
  EXPECT_GT(written, 0);
  EXPECT_GT(refused, 0);
  EXPECT_EQ(Get(outside() + "/f"), "untouched");
  EXPECT_EQ(std::distance(fs::directory_iterator(outside()), {}), 1);
}

TEST_F(FileOpsTest, ReadDoesNotFollowAFileSwappedForALink) {
  Put(workspace() + "/f", "inside");
  Put(outside() + "/secret", "secret");
  fs::create_symlink(outside() + "/secret", workspace() + "/l");
  std::atomic<bool> stop = false;
  std::thread swapper([&] {
    const std::string f = workspace() + "/f";
    const std::string l = workspace() + "/l";
    while (!stop) renameat2(AT_FDCWD, f.c_str(), AT_FDCWD, l.c_str(), RENAME_EXCHANGE);
  });
  int inside = 0;
  int refused = 0;
  for (int i = 0; i < 100'000 && (i < 300 || inside == 0 || refused == 0); ++i) {
    const Response response = Read("f");
    EXPECT_NE(response.content, "secret");
    inside += response.content == "inside" ? 1 : 0;
    refused += response.code == Code::kPermissionDenied ? 1 : 0;
  }
  stop = true;
  swapper.join();
  EXPECT_GT(inside, 0);
  EXPECT_GT(refused, 0);
}

// --- Edit

TEST_F(FileOpsTest, EditErrorsLeaveTheFileUntouched) {
  Put(workspace() + "/f", "one two one");
  struct stat before {};
  ASSERT_EQ(stat((workspace() + "/f").c_str(), &before), 0);
  EXPECT_EQ(Edit("f", "three", "x").error, "old_text not found");
  EXPECT_EQ(Edit("f", "one", "x").error, "old_text occurs 2 times; add context or set replace_all");
  EXPECT_EQ(Edit("f", "one", "x").code, Code::kFailedPrecondition);
  EXPECT_EQ(Edit("f", "", "x").code, Code::kInvalidArgument);
  struct stat after {};
  ASSERT_EQ(stat((workspace() + "/f").c_str(), &after), 0);
  EXPECT_EQ(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
  EXPECT_EQ(before.st_ino, after.st_ino);
  EXPECT_EQ(Get(workspace() + "/f"), "one two one");
}

TEST_F(FileOpsTest, EditReplacesAllOnlyWhenAsked) {
  Put(workspace() + "/f", "one two one");
  EXPECT_EQ(Edit("f", "one", "1", true).replacements, 2u);
  EXPECT_EQ(Get(workspace() + "/f"), "1 two 1");
}

TEST_F(FileOpsTest, EditsAreMadeInOrderAndWrittenOnce) {
  Put(workspace() + "/f", "one two one");
  ASSERT_EQ(chmod((workspace() + "/f").c_str(), 0750), 0);
  fs::create_symlink("f", workspace() + "/l");
  const Response made = Do({.op = Op::kMultiEdit,
                            .path = "l",
                            .edits = {{"two", "2"}, {"2", "three"}, {"one", "1", true}}});
  EXPECT_EQ(made.code, Code::kOk) << made.error;
  EXPECT_EQ(made.replacements, 4u);
  EXPECT_EQ(Get(workspace() + "/f"), "1 three 1");
  EXPECT_TRUE(fs::is_symlink(workspace() + "/l"));
  struct stat info {};
  ASSERT_EQ(stat((workspace() + "/f").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0750u);
}

TEST_F(FileOpsTest, OneEditThatFailsLeavesTheFileUntouched) {
  Put(workspace() + "/f", "one two one");
  struct stat before {};
  ASSERT_EQ(stat((workspace() + "/f").c_str(), &before), 0);
  const auto refused = [&](std::vector<tool::EditStep> edits) {
    return Do({.op = Op::kMultiEdit, .path = "f", .edits = std::move(edits)}).error;
  };
  EXPECT_EQ(refused({{"two", "2"}, {"two", "x"}}), "edits[1]: old_text not found");
  EXPECT_EQ(refused({{"two", "2"}, {"one", "x"}}),
            "edits[1]: old_text occurs 2 times; add context or set replace_all");
  EXPECT_EQ(refused({{"two", "2"}, {"", "x"}}), "edits[1]: old_text: must not be empty");
  EXPECT_EQ(refused({{"two", std::string(tool::kMaxContent, 'x')}}),
            "edits[0]: the edited file would be larger than 8388608 bytes");
  EXPECT_EQ(refused({}), "edits: give one or more");
  struct stat after {};
  ASSERT_EQ(stat((workspace() + "/f").c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
  EXPECT_EQ(Get(workspace() + "/f"), "one two one");
}

TEST_F(FileOpsTest, EditOfAMissingFileMakesNothing) {
  EXPECT_EQ(Edit("new/f", "a", "b").code, Code::kNotFound);
  EXPECT_FALSE(fs::exists(workspace() + "/new"));
}

TEST_F(FileOpsTest, EditBoundsTheFileBeforeAndAfter) {
  Put(workspace() + "/big", std::string(tool::kMaxContent + 1, 'a'));
  EXPECT_EQ(Edit("big", "b", "c").code, Code::kFailedPrecondition);
  Put(workspace() + "/grows", std::string(1000, 'a'));
  EXPECT_EQ(Edit("grows", "a", std::string(10'000, 'b'), true).code, Code::kFailedPrecondition);
  EXPECT_EQ(Get(workspace() + "/grows"), std::string(1000, 'a'));
}

// --- LS

TEST_F(FileOpsTest, ListsTheWorkspaceByTypeThenName) {
  fs::create_directory(workspace() + "/zdir");
  fs::create_directory(workspace() + "/.git");
  Put(workspace() + "/b", "12");
  Put(workspace() + "/a", "");
  fs::create_symlink("/etc/passwd", workspace() + "/0link");
  ASSERT_EQ(mkfifo((workspace() + "/0fifo").c_str(), 0600), 0);
  const std::vector<std::string> expected = {"dir .git", "dir zdir",    "file a 0",
                                             "file b 2", "other 0fifo", "symlink 0link"};
  EXPECT_EQ(Lines(List("")), expected);
  EXPECT_EQ(Lines(List("./")), expected);
}

TEST_F(FileOpsTest, ListShowsAbsolutePathsForAnAbsoluteRequest) {
  Put(cell() + "/f", "");
  EXPECT_EQ(Lines(List(cell())), std::vector<std::string>{"file " + cell() + "/f 0"});
}

TEST_F(FileOpsTest, ListRefusesWhatIsNotADirectory) {
  Put(workspace() + "/f", "");
  EXPECT_EQ(List("f").error, "path `f` is not a directory");
  EXPECT_EQ(List("f").code, Code::kFailedPrecondition);
  EXPECT_EQ(List("none").code, Code::kNotFound);
  EXPECT_EQ(List("/").code, Code::kPermissionDenied);
}

TEST_F(FileOpsTest, ListIsBoundedAndKeepsTheFirstInOrder) {
  UniqueFd directory(open(workspace().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (uint32_t i = 0; i <= tool::kMaxListEntries; ++i) {
    char name[16];
    snprintf(name, sizeof(name), "f%05u", tool::kMaxListEntries - i);
    ASSERT_EQ(mknodat(directory.get(), name, S_IFREG | 0644, 0), 0);
  }
  const Response response = List(".");
  EXPECT_TRUE(response.truncated);
  ASSERT_EQ(response.entries.size(), tool::kMaxListEntries);
  EXPECT_EQ(response.entries.front().name, "f00000");
  EXPECT_EQ(response.entries.back().name, "f09999");
}

TEST_F(FileOpsTest, ListMakesNamesValidUtf8) {
  Put(workspace() + "/bad\xFF", "");
  EXPECT_EQ(List(".").entries.at(0).name, "bad\xEF\xBF\xBD");
}

}  // namespace
}  // namespace odyssey::cell_tools
