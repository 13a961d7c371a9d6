#include "ctl/planted_link.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

namespace odyssey::ctl {
namespace {

namespace fs = std::filesystem;

class PlantedLinkTest : public ::testing::Test {
 protected:
  PlantedLinkTest() {
    char name[] = "/tmp/planted-XXXXXX";
    base_ = mkdtemp(name);
    fs::create_directories(base_ / "real/inner");
  }
  ~PlantedLinkTest() override { fs::remove_all(base_); }
  std::string Ask(const std::string& below) { return PlantedLink((base_ / below).string()); }

  fs::path base_;
};

TEST_F(PlantedLinkTest, ThereIsNoneWhereNoneIs) {
  EXPECT_EQ(Ask("real/inner"), "");
  EXPECT_EQ(Ask("real/../real/./inner/"), "");
  EXPECT_EQ(Ask("real/missing/deep"), "");
  EXPECT_EQ(PlantedLink("/"), "");
}

TEST_F(PlantedLinkTest, TheFirstOneIsNamedWhereverItStands) {
  fs::create_symlink("real", base_ / "link");
  fs::create_symlink("/etc", base_ / "real/inner/out");
  fs::create_symlink("nowhere", base_ / "dangling");
  const std::string link = (base_ / "link").string();
  EXPECT_EQ(Ask("link"), link);
  EXPECT_EQ(Ask("link/inner"), link);
  EXPECT_EQ(Ask("link/inner/out"), link);
  EXPECT_EQ(Ask("real/../link"), link);
  EXPECT_EQ(Ask("real/inner/out/ssl"), (base_ / "real/inner/out").string());
  EXPECT_EQ(Ask("dangling"), (base_ / "dangling").string());
}

// Debian's own: /bin, and /var/run where there is one.
TEST_F(PlantedLinkTest, TheSystemsOwnDoNotCount) {
  ASSERT_TRUE(fs::is_symlink("/bin"));
  EXPECT_EQ(PlantedLink("/bin"), "");
  EXPECT_EQ(PlantedLink("/bin/sh"), "");
  EXPECT_EQ(PlantedLink("/var/run"), "");
}

TEST_F(PlantedLinkTest, ARelativePathBeginsWhereWeAre) {
  const fs::path before = fs::current_path();
  fs::create_symlink("real", base_ / "link");
  fs::current_path(base_ / "link");  // its name was typed by whoever came here
  EXPECT_EQ(PlantedLink("."), "");
  EXPECT_EQ(PlantedLink("inner"), "");
  EXPECT_EQ(PlantedLink("../link"), (base_ / "link").string());
  fs::current_path(before);
}

// A command in a cell exchanges a directory of its workspace with a link, again and again, while a
// path through it is resolved: what is judged, named and opened is one place. Two walks of the same
// path, the one to judge it and the other to name it, are fooled within some hundred tries.
class ExchangedLinkTest : public PlantedLinkTest {
 protected:
  ExchangedLinkTest() {
    fs::create_directories(base_ / "hidden");
    fs::create_directory_symlink(base_ / "hidden", base_ / "link");
    fs::create_directories(base_ / "directory");
    swapper_ = std::thread([this] {
      const std::string a = (base_ / "link").string(), b = (base_ / "directory").string();
      while (!done_) {
        syscall(SYS_renameat2, AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE);
      }
    });
  }
  ~ExchangedLinkTest() override {
    done_ = true;
    swapper_.join();
  }
  static ino_t InodeOf(int fd) {
    struct stat info;
    EXPECT_EQ(fstat(fd, &info), 0);
    return info.st_ino;
  }

  std::atomic<bool> done_ = false;
  std::thread swapper_;
};

TEST_F(ExchangedLinkTest, NeverLeadsToWhereTheLinkDoes) {
  const std::string path = (base_ / "directory").string();
  struct stat hidden;
  ASSERT_EQ(stat((base_ / "hidden").c_str(), &hidden), 0);
  int opened = 0, refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    const Result<OpenedPath> found = OpenUnplanted(path);
    if (!found.ok()) {
      ++refused;
      continue;
    }
    ++opened;
    ASSERT_EQ(found->path, path);
    ASSERT_NE(InodeOf(found->place.get()), hidden.st_ino);
    const WalkedPath walked = WalkAlong(path);
    ASSERT_TRUE(!walked.planted.empty() || walked.path == path) << walked.path;
  }
  EXPECT_GT(opened, 0);
  EXPECT_GT(refused, 0) << "the link was never met";
}

}  // namespace
}  // namespace odyssey::ctl
