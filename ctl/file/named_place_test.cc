#include "ctl/file/named_place.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "ctl/file/local_files.h"
#include "ctl/policy/exec_options.h"
#include "ctl/policy/policy_file.h"

namespace odyssey::ctl {
namespace {

namespace fs = std::filesystem;

class NamedPlaceTest : public ::testing::Test {
 protected:
  NamedPlaceTest() {
    char name[] = "/tmp/named-XXXXXX";
    base_ = mkdtemp(name);
    fs::create_directories(base_ / "real/inner");
  }
  ~NamedPlaceTest() override { fs::remove_all(base_); }

  std::string In(const std::string& below) const { return (base_ / below).string(); }
  // The name that the walk finds, or its status.
  std::string Ask(const std::string& path, Links links = Links::kSystem) const {
    const Walk walk = WalkPath(path, links);
    return walk.place ? walk.place->name() : walk.status.ToString();
  }
  std::string Planted(const std::string& below, Links links = Links::kSystem) const {
    return WalkPath(In(below), links).planted_link;
  }
  static void Put(const std::string& path, const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
  }
  static std::string Get(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  fs::path base_;
};

TEST_F(NamedPlaceTest, APlaceIsWhatWasOpened) {
  const auto place = OpenNamedPlace(In("real/inner"));
  ASSERT_TRUE(place.ok()) << place.status().ToString();
  struct stat info;
  ASSERT_EQ(stat(In("real/inner").c_str(), &info), 0);
  EXPECT_EQ(place->identity(), (policy::FileIdentity{info.st_dev, info.st_ino}));
  EXPECT_TRUE(place->is_directory());
  fs::rename(In("real/inner"), In("moved"));
  fs::create_directory(In("real/inner"));
  ASSERT_EQ(fstat(place->fd(), &info), 0);
  EXPECT_EQ(place->identity().inode, info.st_ino);
}

TEST_F(NamedPlaceTest, NamesAreAsTheKernelReadsThem) {
  EXPECT_EQ(Ask("/"), "/");
  EXPECT_EQ(Ask("/../.."), "/");
  EXPECT_EQ(Ask(In("real/../real/./inner//")), In("real/inner"));
  EXPECT_EQ(Ask(In("real/inner/../..")), base_.string());
  Put(In("file"), "x");
  EXPECT_EQ(Ask(In("file")), In("file"));
  for (const std::string name : {"file/", "file/.", "file/..", "file/x"}) {
    EXPECT_EQ(WalkPath(In(name)).status, InvalidArgument("open " + In(name) + ": Not a directory"));
  }
  EXPECT_EQ(WalkPath("").status, NotFound("open : No such file or directory"));
  EXPECT_EQ(WalkPath(std::string("/tmp\0/etc", 9)).status.code(), Code::kInvalidArgument);
}

TEST_F(NamedPlaceTest, WhatIsMissingIsNamedBelowWhatIsThere) {
  const Walk walk = WalkPath(In("real/none/../deep/"));
  EXPECT_EQ(walk.status.code(), Code::kNotFound);
  EXPECT_EQ(walk.name, In("real/deep"));
  EXPECT_EQ(walk.missing, "none/../deep");
  ASSERT_TRUE(walk.above);
  EXPECT_EQ(walk.above->name(), In("real"));
}

TEST_F(NamedPlaceTest, LongNamesAreRefusedAndDeepOnesAreNot) {
  EXPECT_EQ(WalkPath(In(std::string(256, 'n'))).status.code(), Code::kInvalidArgument);
  EXPECT_EQ(WalkPath("/" + std::string(5000, 'n')).status.code(), Code::kInvalidArgument);
  std::string deep = base_.string();
  for (int i = 0; i < 600; ++i) deep += "/d";
  ASSERT_TRUE(NamedPlaces().Make(deep, 0700).ok());
  EXPECT_EQ(Ask(deep), deep);
}

TEST_F(NamedPlaceTest, AClosedDirectoryIsSaidSo) {
  constexpr uid_t kAnother = 54321;
  fs::permissions(In("real"), fs::perms::none);
  fs::permissions(base_, fs::perms::owner_all | fs::perms::others_exec);
  const bool root = geteuid() == 0;  // nothing is closed to it
  ASSERT_TRUE(!root || seteuid(kAnother) == 0);
  const Walk walk = WalkPath(In("real/inner/x"));
  ASSERT_TRUE(!root || seteuid(0) == 0);
  EXPECT_EQ(walk.status,
            Status(Code::kPermissionDenied, "open " + In("real/inner/x") + ": Permission denied"));
  EXPECT_EQ(walk.name, In("real/inner/x"));
  EXPECT_FALSE(walk.above);
  fs::permissions(In("real"), fs::perms::owner_all);
}

TEST_F(NamedPlaceTest, TheFirstLinkIsNamedWhereverItStands) {
  fs::create_symlink("real", In("link"));
  fs::create_symlink("/etc", In("real/inner/out"));
  fs::create_symlink("nowhere", In("dangling"));
  for (const std::string name : {"link", "link/inner", "link/inner/out", "real/../link", "link/"}) {
    EXPECT_EQ(Planted(name), In("link")) << name;
  }
  EXPECT_EQ(Planted("real/inner/out/ssl"), In("real/inner/out"));
  EXPECT_EQ(Planted("dangling"), In("dangling"));
  const Walk walk = WalkPath(In("link/inner/x"));
  EXPECT_EQ(walk.status.code(), Code::kFailedPrecondition);
  EXPECT_NE(walk.status.message().find(": " + In("real/inner/x")), std::string::npos);
  EXPECT_TRUE(WalkPath(In("link")).last_is_link);
  EXPECT_FALSE(WalkPath(In("link/")).last_is_link);
}

// Debian's own: /bin, and /var/run where there is one.
TEST_F(NamedPlaceTest, TheSystemsOwnAreFollowed) {
  ASSERT_TRUE(fs::is_symlink("/bin"));
  EXPECT_EQ(Ask("/bin"), fs::canonical("/bin").string());
  EXPECT_EQ(Ask("/bin/sh"), fs::canonical("/bin/sh").string());
  EXPECT_EQ(Ask("/var/run"), fs::canonical("/var/run").string());
}

// No cell can have made a link in /tmp itself; this user can, and so can others.
TEST_F(NamedPlaceTest, ALinkOfOursInTmpItselfIsFollowedWhereItLeads) {
  const fs::path tmp = "/tmp";
  const std::string link = tmp / ("odyssey-link-" + std::to_string(getpid()));
  fs::create_symlink(In("real"), link);
  const Walk ours = WalkPath(link + "/inner", Links::kBelow);
  EXPECT_EQ(ours.name, In("real/inner")) << ours.status.ToString();
  EXPECT_EQ(ours.followed, link);
  EXPECT_FALSE(WalkPath(link, Links::kSystem).status.ok());
  if (geteuid() == 0) {
    ASSERT_EQ(lchown(link.c_str(), 54321, 54321), 0);
    EXPECT_EQ(WalkPath(link, Links::kBelow).planted_link, link);
  }
  fs::remove(link);
}

TEST_F(NamedPlaceTest, ARelativePathBeginsWhereWeAre) {
  const fs::path before = fs::current_path();
  fs::create_symlink("real", In("link"));
  fs::current_path(In("link"));  // its name was typed by whoever came here
  EXPECT_EQ(Ask("."), In("real"));
  EXPECT_EQ(Ask("inner"), In("real/inner"));
  EXPECT_EQ(Ask("../real/inner/../.."), base_.string());
  EXPECT_EQ(WalkPath("../link").planted_link, In("link"));
  fs::current_path(before);
}

TEST_F(NamedPlaceTest, ALinkToWhatIsBelowItIsFollowedIfThatIsAskedFor) {
  fs::create_symlink("real", In("link"));
  fs::create_symlink(In("real/inner"), In("absolute"));
  fs::create_symlink("link/inner", In("two"));
  for (const std::string name : {"link/inner", "absolute", "two", "two/"}) {
    EXPECT_EQ(Ask(In(name), Links::kBelow), In("real/inner")) << name;
  }
  EXPECT_EQ(WalkPath(In("two"), Links::kBelow).followed, In("two"));
  EXPECT_EQ(WalkPath(In("real"), Links::kBelow).followed, "");
}

TEST_F(NamedPlaceTest, NoLinkLeadsAboveWhereItLies) {
  fs::create_symlink("..", In("real/up"));
  fs::create_symlink("inner/../../real", In("real/around"));
  fs::create_symlink(base_, In("real/absolute"));
  fs::create_symlink(In("real/../other"), In("real/dots"));
  fs::create_symlink("/etc", In("real/etc"));
  fs::create_symlink("inner", In("real/good"));
  fs::create_directory(In("other"));
  for (const std::string name :
       {"real/up", "real/around", "real/absolute", "real/dots", "real/etc", "real/etc/ssl"}) {
    EXPECT_NE(Planted(name, Links::kBelow), "") << name;
  }
  // Nor with what was typed after it: a command chooses how deep it leads.
  EXPECT_EQ(Planted("real/good/../../other", Links::kBelow), In("real/good"));
  EXPECT_EQ(Ask(In("real/good/../inner"), Links::kBelow), In("real/inner"));
}

TEST_F(NamedPlaceTest, LinksInACircleEnd) {
  fs::create_symlink("b", In("a"));
  fs::create_symlink("a", In("b"));
  EXPECT_EQ(WalkPath(In("a"), Links::kBelow).status.message(),
            "open " + In("a") + ": Too many levels of symbolic links");
}

TEST_F(NamedPlaceTest, WhatBelongsToAnotherIsNotBelow) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  fs::create_symlink("real/inner", In("link"));
  ASSERT_EQ(lchown(In("real/inner").c_str(), 54321, 54321), 0);
  EXPECT_EQ(Planted("link", Links::kBelow), In("link"));
  ASSERT_EQ(lchown(In("real/inner").c_str(), 0, 0), 0);
  ASSERT_EQ(lchown(In("link").c_str(), 54321, 54321), 0);
  EXPECT_EQ(Planted("link", Links::kBelow), In("link")) << "another user's link, as in /tmp";
}

TEST_F(NamedPlaceTest, AFileToBeReadMayBeALinkItself) {
  Put(In("real/file"), "text");
  fs::create_symlink(In("real/file"), In("real/inner/link"));
  fs::create_symlink("real", In("d"));
  EXPECT_EQ(Ask(In("real/inner/link"), Links::kFileItself), In("real/file"));
  EXPECT_EQ(Planted("d/file", Links::kFileItself), In("d"));
  NamedPlaces places;
  EXPECT_EQ(*places.Read(In("real/inner/link"), Links::kFileItself, 10), "text");
  EXPECT_EQ(places.Read(In("real/file"), Links::kSystem, 3).status().code(),
            Code::kResourceExhausted);
}

TEST_F(NamedPlaceTest, APathIsWalkedOnce) {
  fs::create_symlink("real", In("link"));
  NamedPlaces places;
  const Walk& first = places.Look(In("link"), Links::kBelow);
  const policy::FileIdentity identity = first.place->identity();
  fs::rename(In("real"), In("gone"));
  fs::create_directory(In("real"));
  EXPECT_EQ(places.Look(In("link"), Links::kBelow).place->identity(), identity);
  EXPECT_EQ(places.Look(In("real")).place->identity(), identity) << "by the name that it has";
}

TEST_F(NamedPlaceTest, AFileIsReplacedWhereItsDirectoryIs) {
  ASSERT_TRUE(ReplaceNamedFile(In("real/f"), "one", 0644).ok());
  ASSERT_TRUE(ReplaceNamedFile(In("real/f"), "two", 0644).ok());
  EXPECT_EQ(Get(In("real/f")), "two");
  fs::create_directory(In("hidden"));
  Put(In("hidden/victim"), "root's");
  fs::create_symlink(In("hidden"), In("real/out"));
  fs::create_symlink(In("hidden/victim"), In("real/file"));
  const Status status = ReplaceNamedFile(In("real/out/victim"), "text", 0644);
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_NE(status.message().find(In("real/out") + ": is a symbolic link"), std::string::npos);
  EXPECT_TRUE(ReplaceNamedFile(In("real/file"), "text", 0644).ok());
  EXPECT_EQ(Get(In("hidden/victim")), "root's");
  EXPECT_FALSE(fs::is_symlink(In("real/file")));
  for (const std::string name : {"real/", "none/f", "real/.."}) {
    EXPECT_FALSE(ReplaceNamedFile(In(name), "text", 0644).ok()) << name;
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(In("real")), {}), 4) << "nothing is left";
}

TEST_F(NamedPlaceTest, DirectoriesAreMadeThroughNoLink) {
  NamedPlaces places;
  EXPECT_FALSE(places.Look(In("real/a/b")).place);
  const auto made = places.Make(In("real/a/b"), 0755);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ((*made)->name(), In("real/a/b"));
  EXPECT_TRUE(places.Look(In("real/a/b")).place);
  EXPECT_TRUE(places.Make(In("real/a/b"), 0755).ok());
  fs::create_directory(In("hidden"));
  fs::create_symlink(In("hidden"), In("real/out"));
  EXPECT_FALSE(places.Make(In("real/out/x"), 0755).ok());
  EXPECT_TRUE(fs::is_empty(In("hidden")));
}

TEST_F(NamedPlaceTest, AProgramOfTheSystemMayBeNamedByALink) {
  fs::create_symlink("/usr/bin/env", In("real/env"));
  EXPECT_EQ(Ask(In("real/env"), Links::kBelow), fs::canonical("/usr/bin/env").string());
  fs::create_symlink("/usr/bin", In("real/bin"));
  EXPECT_EQ(Planted("real/bin/../../etc", Links::kBelow), In("real/bin"));
  fs::create_symlink("/usr/../etc", In("real/etc"));
  EXPECT_EQ(Planted("real/etc", Links::kBelow), In("real/etc"));
}

// A command in a cell exchanges a directory of its workspace with a link to one that it is not
// shown, as fast as it can, while each way in which ctl uses what a person named is gone.
class ExchangeTest : public NamedPlaceTest {
 protected:
  ExchangeTest() {
    fs::create_directories(In("ws/d"));
    fs::create_directories(In("hidden"));
    for (const std::string directory : {"ws/d", "hidden"}) Put(In(directory + "/f"), directory);
    fs::create_symlink(In("hidden"), In("ws/other"));
    exchanger_ = std::thread([this] {
      const std::string a = In("ws/d"), b = In("ws/other");
      while (!end_) {
        (void)renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE);
        ++exchanges_;
      }
    });
  }
  ~ExchangeTest() override {
    end_ = true;
    exchanger_.join();
  }

  // Until both have been met often: the directory, and the link, which is refused.
  template <typename Try>
  void Often(const Try& attempt, int rounds = 3000) {
    int used = 0, refused = 0;
    for (int i = 0; i < kMost && (i < rounds || used == 0 || refused == 0); ++i) {
      (attempt() ? used : refused) += 1;
    }
    EXPECT_GT(used, 0);
    EXPECT_GT(refused, 0);
    EXPECT_GT(exchanges_, 0);
  }

  static constexpr int kMost = 1000000;
  std::atomic<bool> end_ = false;
  std::atomic<int> exchanges_ = 0;
  std::thread exchanger_;
};

TEST_F(ExchangeTest, AMountIsNeverWhatTheLinkLeadsTo) {
  struct stat hidden;
  ASSERT_EQ(stat(In("hidden").c_str(), &hidden), 0);
  Often([&] {
    const Result<FoundPlace> place = MakeExecInputs().resolve(In("ws/d"));
    if (!place.ok()) return false;
    EXPECT_EQ(place->name, In("ws/d"));
    EXPECT_NE(place->identity.inode, hidden.st_ino);
    return true;
  });
}

TEST_F(ExchangeTest, ADirectoryOfAPolicyIsNeverWhatTheLinkLeadsTo) {
  Often([&] {
    const dialect::PolicyContext context = MakePolicyContext(
        base_.string(), [](const std::string&) { return std::optional<std::string>(); });
    const dialect::PathFacts facts = context.Look(In("ws/d"));
    if (!facts.planted_link.empty()) return false;
    EXPECT_EQ(facts.resolved, In("ws/d"));
    return true;
  });
}

TEST_F(ExchangeTest, APolicyIsNeverReadBehindTheLink) {
  Often([&] {
    NamedPlaces places;
    const auto text = places.Read(In("ws/d/f"), Links::kFileItself, 100);
    EXPECT_EQ(text.ok() ? *text : "ws/d", "ws/d");
    return text.ok();
  });
}

TEST_F(ExchangeTest, AFileToPutIsNeverReadBehindTheLink) {
  Often([&] {
    const auto chosen = ChooseFiles({In("ws/d/f")});
    if (!chosen.ok() || chosen->files.empty()) return false;
    uint32_t mode = 0;
    const auto fd = OpenFileToPut(chosen->files[0], &mode);
    char bytes[8] = {};
    EXPECT_TRUE(fd.ok() && read(fd->get(), bytes, sizeof(bytes)) == 4);
    EXPECT_STREQ(bytes, "ws/d");
    return true;
  });
}

TEST_F(ExchangeTest, NothingIsCollectedBehindTheLink) {
  Often([&] {
    auto destination = Destination::Open(In("ws/d"));
    if (!destination.ok()) return false;
    EXPECT_TRUE(destination->Begin("collected", 0600).ok());
    EXPECT_FALSE(fs::exists(In("hidden/collected")));
    destination->Abandon();
    return true;
  });
}

TEST_F(ExchangeTest, NothingIsSavedBehindTheLink) {
  Often([&] { return ReplaceNamedFile(In("ws/d/f"), "saved", 0644).ok(); }, 100);
  EXPECT_EQ(Get(In("hidden/f")), "hidden");
}

}  // namespace
}  // namespace odyssey::ctl
