#include "policy/executables/finder.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "policy/executables/closure.h"
#include "policy/executables/companions.h"
#include "tests/fakes/elf_file.h"
#include "tests/fakes/temporary_directory.h"

namespace odyssey::executables {
namespace {

namespace fs = std::filesystem;
using compile::Executable;
using compile::FoundExecutables;

constexpr char kLoader[] = "/lib64/ld.so";
constexpr uint64_t kNeeded = 1, kRpath = 15, kRunpath = 29;

struct Elf {
  std::vector<std::string> needed;
  std::string rpath, runpath;
  bool program = true;
};

// A host of a test's own: merged /usr, a loader, one C library.
class FinderTest : public ::testing::Test {
 protected:
  FinderTest() {
    fs::create_directories(Path("/usr/bin"));
    fs::create_directories(Path("/usr/lib64"));
    Link("/bin", "usr/bin");
    Link("/lib64", "usr/lib64");
    Library("/usr/lib64/ld.so", {});
    Library("/usr/lib64/libc.so.6", {});
  }

  std::string Path(const std::string& path) const { return host_.path() + path; }
  void File(const std::string& path, const std::string& content, mode_t mode = 0755) const {
    chmod(host_.Write(path.substr(1), content).c_str(), mode);
  }
  void Link(const std::string& path, const std::string& target) const {
    fs::create_directories(fs::path(Path(path)).parent_path());
    fs::create_symlink(target, Path(path));
  }
  void Program(const std::string& path, const Elf& elf) const {
    fakes::ElfFile file;
    if (elf.program) file.Interpreter(kLoader);
    for (const std::string& name : elf.needed) file.String(kNeeded, name);
    if (!elf.rpath.empty()) file.String(kRpath, elf.rpath);
    if (!elf.runpath.empty()) file.String(kRunpath, elf.runpath);
    File(path, file.bytes);
  }
  void Library(const std::string& path, Elf elf) const {
    elf.program = false;
    Program(path, elf);
  }

  // As if nothing had changed for a while.
  void Age() const {
    for (const auto& entry : fs::recursive_directory_iterator(host_.path())) {
      if (!entry.is_symlink()) fs::last_write_time(entry.path(), hour_ago_);
    }
  }

  // "r /path" or "l /path": may be run, or only loaded.
  static std::vector<std::string> Lines(const FoundExecutables& found) {
    std::vector<std::string> lines;
    for (const Executable& file : found.files) {
      lines.push_back((file.run ? "r " : "l ") + file.path);
    }
    return lines;
  }
  std::vector<std::string> Found(const std::vector<std::string>& names) {
    const Result<FoundExecutables> found = finder_.Find(names);
    EXPECT_TRUE(found.ok()) << found.status().ToString();
    return found.ok() ? Lines(*found) : std::vector<std::string>{};
  }
  Status Refused(const std::string& name) { return finder_.Find({name}).status(); }

  using Expected = std::vector<std::string>;
  const fs::file_time_type hour_ago_ = fs::file_time_type::clock::now() - std::chrono::hours(1);
  const fakes::TemporaryDirectory host_;
  Finder finder_{host_.path()};
};

TEST_F(FinderTest, ProgramOfTheHostByItsName) {
  Program("/usr/bin/tool", {});
  File("/usr/bin/data", "x", 0644);
  Program("/srv/own", {});
  Link("/usr/bin/own", "/srv/own");
  Link("/usr/bin/other", "tool");
  const HostTree tree(host_.path());
  EXPECT_EQ(FindProgram(tree, "tool"), "/usr/bin/tool");
  EXPECT_EQ(FindProgram(tree, "other"), "/usr/bin/tool");
  for (const char* name : {"nosuch", "data", "own", "", ".", ".."}) {
    EXPECT_EQ(FindProgram(tree, name), "") << name;
  }
}

TEST_F(FinderTest, NobodyWaitsForAFifo) {
  Program("/usr/bin/tool", {});
  ASSERT_EQ(mkfifo((host_.path() + "/usr/bin/pipe").c_str(), 0755), 0);
  EXPECT_EQ(Refused("/usr/bin/pipe").message(),
            "executables: /usr/bin/pipe: " + host_.path() + "/usr/bin/pipe is no regular file");
}

TEST_F(FinderTest, AProgramComesWithItsLoaderAndLibraries) {
  Program("/usr/bin/tool", {{"liba.so"}});
  Library("/usr/lib64/liba.so.1.2", {{"libc.so.6"}});
  Link("/usr/lib64/liba.so", "liba.so.1.2");
  Library("/usr/lib64/libother.so", {});
  EXPECT_EQ(Found({"tool"}), (Expected{"r /usr/bin/tool", "r /usr/lib64/ld.so",
                                       "l /usr/lib64/liba.so.1.2", "l /usr/lib64/libc.so.6"}));
}

TEST_F(FinderTest, NamesAndPathsLeadToTheOneFile) {
  Program("/usr/bin/dash", {});
  Link("/usr/bin/sh", "dash");
  const Expected expected = {"r /usr/bin/dash", "r /usr/lib64/ld.so"};
  EXPECT_EQ(Found({"sh"}), expected);
  EXPECT_EQ(Found({"/bin/sh"}), expected);
  EXPECT_EQ(Found({"/usr/bin/sh", "dash", "sh"}), expected);
}

TEST_F(FinderTest, LooksAlongTheSearchPathForWhatCanBeExecuted) {
  Program("/usr/bin/tool", {});
  Program("/usr/local/bin/tool", {});
  EXPECT_EQ(Found({"tool"})[1], "r /usr/local/bin/tool");
  chmod(Path("/usr/local/bin/tool").c_str(), 0644);
  EXPECT_EQ(Found({"tool"})[0], "r /usr/bin/tool");
}

TEST_F(FinderTest, WhatIsMissingIsSaidByItsName) {
  EXPECT_EQ(Refused("no-such"), NotFound("executables: missing system tool: no-such"));
  EXPECT_EQ(Refused("/usr/bin/no-such"),
            NotFound("executables: missing system tool: /usr/bin/no-such"));
  fs::create_directories(Path("/usr/bin/directory"));
  EXPECT_EQ(Refused("directory"), NotFound("executables: missing system tool: directory"));
}

TEST_F(FinderTest, RefusesWhatTheKernelWouldNotExecute) {
  File("/usr/bin/data", "some words\n");
  File("/usr/bin/cut", "\177ELF\2\1");
  Program("/usr/bin/foreign", {});
  fs::remove(Path("/usr/lib64/ld.so"));
  EXPECT_EQ(Refused("data").message(), "executables: data: neither a program nor a script");
  EXPECT_EQ(Refused("cut").code(), Code::kFailedPrecondition);
  EXPECT_EQ(Refused("foreign").message(),
            "executables: /usr/bin/foreign: its interpreter /lib64/ld.so is missing");
}

TEST_F(FinderTest, RefusesLinksThatLeadOutOfTheSystemsTrees) {
  Program("/home/u/tool", {});
  Link("/usr/bin/tool", "/home/u/tool");
  Link("/usr/bin/round", "round");
  Link("/usr/bin/up", "../../../../../../home/u/tool");
  EXPECT_EQ(Refused("tool").message().rfind("executables: tool: it leads to /home/u/tool", 0), 0u);
  EXPECT_EQ(Refused("up").code(), Code::kFailedPrecondition);
  EXPECT_FALSE(Refused("round").ok());
}

TEST_F(FinderTest, AScriptComesWithItsInterpreter) {
  Program("/usr/bin/dash", {});
  Link("/usr/bin/sh", "dash");
  Program("/usr/bin/env", {});
  Program("/usr/bin/lua", {});
  File("/usr/bin/plain", "#!/bin/sh -e\n");
  File("/usr/bin/by-env", "#!/usr/bin/env -S A=1 lua -x\n");
  File("/usr/bin/nested", "#!/usr/bin/plain\n");
  File("/usr/bin/lost", "#!/usr/bin/env no-such\n");
  EXPECT_EQ(Found({"plain"}),
            (Expected{"r /usr/bin/dash", "r /usr/bin/plain", "r /usr/lib64/ld.so"}));
  EXPECT_EQ(Found({"by-env"}), (Expected{"r /usr/bin/by-env", "r /usr/bin/env", "r /usr/bin/lua",
                                         "r /usr/lib64/ld.so"}));
  EXPECT_EQ(Found({"nested"}), (Expected{"r /usr/bin/dash", "r /usr/bin/nested", "r /usr/bin/plain",
                                         "r /usr/lib64/ld.so"}));
  EXPECT_EQ(Refused("lost").message(),
            "executables: /usr/bin/lost: its interpreter no-such is missing");
}

TEST_F(FinderTest, LibrariesAreLookedForWhereTheLoaderDoes) {
  File("/etc/ld.so.conf", "# comment\ninclude ld.so.conf.d/*.conf\n/opt/conf/lib  # more\n");
  File("/etc/ld.so.conf.d/x.conf", "/usr/lib/multi\n");
  File("/etc/ld.so.conf.d/ignored", "/usr/lib/ignored\n");
  Program("/usr/bin/tool", {{"libmulti.so", "libconf.so", "libign.so", "libfast.so"}});
  Library("/usr/lib/multi/libmulti.so", {});
  Library("/opt/conf/lib/libconf.so", {});
  Library("/usr/lib/ignored/libign.so", {});
  Library("/usr/lib64/libfast.so", {});
  Library("/usr/lib64/glibc-hwcaps/x86-64-v3/libfast.so", {});
  const Result<FoundExecutables> found = finder_.Find({"tool"});
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  EXPECT_EQ(Lines(*found), (Expected{"l /opt/conf/lib/libconf.so", "r /usr/bin/tool",
                                     "l /usr/lib/multi/libmulti.so",
                                     "l /usr/lib64/glibc-hwcaps/x86-64-v3/libfast.so",
                                     "r /usr/lib64/ld.so", "l /usr/lib64/libfast.so"}));
  EXPECT_EQ(found->notes, (Expected{"libign.so: missing: a library of /usr/bin/tool"}));
}

TEST_F(FinderTest, ObjectsSayWhereTheirLibrariesAre) {
  Program("/opt/a/bin/run", {{"liba.so"}, "", "$ORIGIN/../lib:relative:$LIB"});
  Library("/opt/a/lib/liba.so", {{"libb.so", "libc.so.6"}});
  Library("/opt/a/lib/libb.so", {});
  // DT_RUNPATH is the program's alone: liba's own libraries are not looked for there.
  EXPECT_EQ(Found({"/opt/a/bin/run"}), (Expected{"r /opt/a/bin/run", "l /opt/a/lib/liba.so",
                                                 "r /usr/lib64/ld.so", "l /usr/lib64/libc.so.6"}));
  // DT_RPATH is for all that it loads.
  Program("/opt/a/bin/old", {{"liba.so"}, "${ORIGIN}/../lib", ""});
  EXPECT_EQ(Found({"/opt/a/bin/old"}),
            (Expected{"r /opt/a/bin/old", "l /opt/a/lib/liba.so", "l /opt/a/lib/libb.so",
                      "r /usr/lib64/ld.so", "l /usr/lib64/libc.so.6"}));
}

TEST_F(FinderTest, LibrariesOutsideTheSystemsTreesAreLeftOut) {
  Program("/usr/bin/tool", {{"libx.so"}, "", "/home/u"});
  Library("/home/u/libx.so", {});
  EXPECT_EQ(Found({"tool"}), (Expected{"r /usr/bin/tool", "r /usr/lib64/ld.so"}));
}

TEST_F(FinderTest, ADirectoryIsTakenWhole) {
  Program("/opt/d/bin/tool", {{"libc.so.6"}});
  File("/opt/d/bin/script", "#!/usr/bin/lua\n");
  Program("/usr/bin/lua", {});
  Link("/opt/d/bin/out", "/usr/bin/lua");
  // Its scripts' interpreters, and what its links lead to, are not named by that.
  EXPECT_EQ(Found({"/opt/d"}),
            (Expected{"r /opt/d", "r /usr/lib64/ld.so", "l /usr/lib64/libc.so.6"}));
  EXPECT_EQ(Found({"/opt/d", "/opt/d/bin/tool"}).size(), 3u);
}

TEST_F(FinderTest, TreesWithoutEndAreRefused) {
  for (size_t i = 0; i < 1100; ++i) fs::create_directories(Path("/opt/d/" + std::to_string(i)));
  EXPECT_EQ(Refused("/opt/d").code(), Code::kFailedPrecondition);
}

TEST_F(FinderTest, CompanionsComeWithTheirTool) {
  Program("/usr/bin/python3.11", {});
  Link("/usr/bin/python3", "python3.11");
  Library("/usr/lib/python3.11/lib-dynload/_ssl.so", {{"libssl.so"}});
  Library("/usr/lib64/libssl.so", {});
  Program("/usr/bin/git", {});
  Program("/usr/lib/git-core/git-http", {{"libc.so.6"}});
  EXPECT_EQ(Found({"python3"}),
            (Expected{"r /usr/bin/python3.11", "l /usr/lib/python3.11/lib-dynload",
                      "r /usr/lib64/ld.so", "l /usr/lib64/libssl.so"}));
  EXPECT_EQ(Found({"git"}), (Expected{"r /usr/bin/git", "r /usr/lib/git-core", "r /usr/lib64/ld.so",
                                      "l /usr/lib64/libc.so.6"}));
}

TEST(CompanionsTest, WhatCompilesWhileItRunsIsKnownByItsName) {
  for (const char* path : {"/usr/bin/node", "/usr/bin/php8.2", "/usr/lib/jvm/x/bin/java",
                           "/usr/bin/python3.11", "/usr/bin/git"}) {
    EXPECT_TRUE(CompilesWhileItRuns(path)) << path;
  }
  for (const char* path : {"/usr/bin/perl", "/usr/bin/bash", "/usr/lib/node/grep"}) {
    EXPECT_FALSE(CompilesWhileItRuns(path)) << path;
  }
}

TEST(CompanionsTest, TheStarIsTheSameTextInBoth) {
  const std::vector<Companion> companions = CompanionsOf("/usr/bin/python3.12");
  ASSERT_FALSE(companions.empty());
  EXPECT_EQ(companions[0].path, "/usr/lib/python3.12/lib-dynload");
  EXPECT_FALSE(companions[0].run);
  const std::string jvm = "/usr/lib/jvm/java-17-openjdk-amd64";
  for (const char* tool : {"java", "javac", "javadoc", "jar"}) {
    const std::vector<Companion> of_java = CompanionsOf(jvm + "/bin/" + tool);
    ASSERT_FALSE(of_java.empty()) << tool;
    EXPECT_EQ(of_java[0].path, jvm + "/lib");
    EXPECT_FALSE(of_java[0].run) << "what is in it is loaded, and of it one program runs";
  }
  EXPECT_TRUE(CompanionsOf("/usr/bin/python3./x").empty());
  EXPECT_TRUE(CompanionsOf("/usr/bin/gitk").empty());
}

TEST_F(FinderTest, LooksAgainWhenWhatItSawHasChanged) {
  Program("/usr/bin/dash", {});
  Program("/usr/bin/bash", {{"libc.so.6"}});
  Link("/usr/bin/sh", "dash");
  Age();
  const Result<FoundExecutables> first = finder_.Find({"sh"});
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(finder_.Find({"sh"})->identity, first->identity);

  // Another file in its place, as a package manager does it.
  Program("/usr/bin/new", {{"libc.so.6"}});
  fs::rename(Path("/usr/bin/new"), Path("/usr/bin/dash"));
  const Result<FoundExecutables> replaced = finder_.Find({"sh"});
  ASSERT_TRUE(replaced.ok());
  EXPECT_NE(replaced->identity, first->identity);
  EXPECT_EQ(replaced->files.size(), 3u);

  fs::remove(Path("/usr/bin/sh"));
  Link("/usr/bin/sh", "bash");
  EXPECT_EQ(Found({"sh"})[0], "r /usr/bin/bash");

  fs::remove(Path("/usr/bin/sh"));
  EXPECT_EQ(Refused("sh").code(), Code::kNotFound);
}

TEST_F(FinderTest, LooksOnceAtWhatStaysAsItIs) {
  Program("/usr/bin/tool", {});
  Age();
  const Expected first = Found({"tool"});
  // In the same file, of the same length, at the same time: nothing that could be noticed.
  Program("/usr/bin/tool", {{"libc.so.6"}});
  Age();
  EXPECT_EQ(Found({"tool"}), first);
  fs::last_write_time(Path("/usr/bin/tool"), hour_ago_ + std::chrono::seconds(1));
  EXPECT_EQ(Found({"tool"}).size(), first.size() + 1);
}

TEST_F(FinderTest, SeesALibraryThatComesLater) {
  Program("/usr/bin/tool", {{"libx.so"}});
  Age();
  EXPECT_EQ(finder_.Find({"tool"})->notes.size(), 1u);
  Library("/usr/lib64/libx.so", {});
  EXPECT_EQ(Found({"tool"}),
            (Expected{"r /usr/bin/tool", "r /usr/lib64/ld.so", "l /usr/lib64/libx.so"}));
}

TEST_F(FinderTest, SeesWhatIsAddedToADirectory) {
  Program("/opt/d/a/tool", {});
  Age();
  EXPECT_EQ(Found({"/opt/d"}).size(), 2u);
  Library("/opt/d/a/b/c/plugin.so", {{"libc.so.6"}});
  EXPECT_EQ(Found({"/opt/d"}).size(), 3u);
}

TEST_F(FinderTest, FindsTheToolsOfThisHost) {
  Finder finder;
  const Result<FoundExecutables> found = finder.Find({"sh", "env"});
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  EXPECT_TRUE(std::any_of(found->files.begin(), found->files.end(), [](const Executable& file) {
    return !file.run && file.path.find("/libc.so") != std::string::npos;
  }));
  EXPECT_TRUE(found->notes.empty()) << found->notes.front();
}

}  // namespace
}  // namespace odyssey::executables
