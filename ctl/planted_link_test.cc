#include "ctl/planted_link.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>

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

}  // namespace
}  // namespace odyssey::ctl
