#include "ctl/file/seen_places.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace odyssey::ctl {
namespace {

using compile::PlaceKind;

class SeenPlacesTest : public ::testing::Test {
 protected:
  SeenPlacesTest() {
    char name[] = "/tmp/odyssey-seen-XXXXXX";
    base_ = mkdtemp(name);
    chmod(base_.c_str(), 0755);
    std::filesystem::create_directory(base_ + "/dir");
    std::ofstream(base_ + "/file") << "x";
    mkfifo((base_ + "/fifo").c_str(), 0644);
  }
  ~SeenPlacesTest() override { std::filesystem::remove_all(base_); }

  std::map<std::string, answer::Seen> See(const std::string& name, uint32_t uid = getuid()) const {
    policy::SandboxRequest request;
    request.mounts = {{.source = base_ + name, .target = "/x"}};
    return SeenPlaces(request, {.uid = uid});
  }

  std::string base_;
};

TEST_F(SeenPlacesTest, TellsKindOwnerAndMode) {
  EXPECT_EQ(See("/dir").at(base_ + "/dir").kind, PlaceKind::kDirectory);
  EXPECT_EQ(See("/file").at(base_ + "/file").kind, PlaceKind::kFile);
  EXPECT_EQ(See("/fifo").at(base_ + "/fifo").kind, PlaceKind::kOther);
  EXPECT_EQ(See("/dir").at(base_ + "/dir").uid, getuid());
  EXPECT_TRUE(S_ISDIR(See("/dir").at(base_ + "/dir").mode));
}

TEST_F(SeenPlacesTest, WhatIsMissingMayBeMadeUnlessItIsAProgram) {
  EXPECT_TRUE(See("/none").empty());
  policy::SandboxRequest request;
  request.executables = {base_ + "/none", "sh"};
  const auto seen = SeenPlaces(request, {.uid = getuid()});
  EXPECT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen.at(base_ + "/none").kind, PlaceKind::kMissing);
}

TEST_F(SeenPlacesTest, RootLooksAsTheOwner) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  chmod((base_ + "/dir").c_str(), 0700);
  std::filesystem::create_directory(base_ + "/dir/in");
  constexpr uint32_t kNobody = 65534;
  EXPECT_TRUE(See("/dir/in", kNobody).at(base_ + "/dir/in").closed);
  EXPECT_FALSE(See("/dir/in").at(base_ + "/dir/in").closed);
}

TEST_F(SeenPlacesTest, HostExecutionHasNoPlaces) {
  policy::SandboxRequest request;
  request.mode = policy::Mode::kDangerFullAccess;
  request.workspace = base_;
  EXPECT_TRUE(SeenPlaces(request, {.uid = getuid()}).empty());
}

TEST_F(SeenPlacesTest, LinksAreFollowedAsFarAsTheyLead) {
  std::filesystem::create_symlink("dir", base_ + "/a");
  std::filesystem::create_symlink(base_ + "/file", base_ + "/dir/b");
  std::filesystem::create_symlink("turn", base_ + "/turn");
  EXPECT_EQ(LinksOnTheWay(base_ + "/a/b"),
            (std::map<std::string, std::string>{{base_ + "/a", "dir"},
                                                {base_ + "/dir/b", base_ + "/file"}}));
  EXPECT_EQ(LinksOnTheWay(base_ + "/turn").size(), 1u);
  EXPECT_TRUE(LinksOnTheWay(base_ + "/file").empty());
}

}  // namespace
}  // namespace odyssey::ctl
