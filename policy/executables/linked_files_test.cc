#include "policy/executables/linked_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace odyssey::executables {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class LinkedFilesTest : public testing::Test {
 protected:
  LinkedFilesTest() {
    std::string name = fs::temp_directory_path() / "linked-XXXXXX";
    root_ = mkdtemp(name.data());
    fs::create_directories(root_ + "/usr/share");
    fs::create_directories(root_ + "/etc");
  }
  ~LinkedFilesTest() override { fs::remove_all(root_); }

  void File(const std::string& path, mode_t mode = 0644) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << "content\n";
    ASSERT_EQ(chmod((root_ + path).c_str(), mode), 0);
  }
  void Link(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    fs::create_symlink(text, root_ + path);
  }
  std::vector<std::pair<std::string, std::string>> Found() const {
    std::vector<std::pair<std::string, std::string>> out;
    for (const compile::SystemEntry& entry : FindLinkedFiles(root_)) {
      out.emplace_back(entry.path, entry.link_target);
    }
    return out;
  }

  std::string root_;
};

using Pair = std::pair<std::string, std::string>;

TEST_F(LinkedFilesTest, WhatUsrLinksIntoIsFound) {
  File("/etc/maven/m2.conf");
  File("/etc/tool.conf");
  Link("/usr/share/maven/bin/m2.conf", "/etc/maven/m2.conf");
  Link("/usr/share/maven/conf", "/etc/maven");
  Link("/usr/lib/tool/conf", "../../../etc/tool.conf");
  EXPECT_THAT(Found(), ElementsAre(Pair("/etc/maven", ""), Pair("/etc/tool.conf", "")));
}

TEST_F(LinkedFilesTest, WhatNothingLinksToStaysHidden) {
  File("/etc/secret.conf");
  File("/etc/tool/linked");
  File("/etc/tool/other");
  Link("/usr/share/tool", "/etc/tool/linked");
  EXPECT_THAT(Found(), ElementsAre(Pair("/etc/tool/linked", "")));
}

TEST_F(LinkedFilesTest, WhatNotEveryUserMayReadStaysHidden) {
  File("/etc/closed.conf", 0640);
  File("/etc/locked/inside");
  ASSERT_EQ(chmod((root_ + "/etc/locked").c_str(), 0750), 0);
  Link("/usr/share/a", "/etc/closed.conf");
  Link("/usr/share/b", "/etc/locked/inside");
  Link("/usr/share/c", "/etc/locked");
  Link("/usr/share/d", "/etc/missing");
  EXPECT_THAT(Found(), IsEmpty());
}

TEST_F(LinkedFilesTest, TheHostsIdentityAndTheWholeOfEtcStayHidden) {
  for (const char* path : {"/etc/machine-id", "/etc/passwd", "/etc/environment", "/etc/hosts"}) {
    File(path);
    Link(std::string("/usr/share/x") + fs::path(path).filename().string(), path);
  }
  Link("/usr/share/all", "/etc");
  Link("/usr/share/up", "../../etc/../etc/machine-id");
  EXPECT_THAT(Found(), IsEmpty());
}

TEST_F(LinkedFilesTest, LinksOfEtcOnTheWayAreShownToo) {
  File("/etc/tool-2/conf");
  Link("/etc/tool", "tool-2");
  Link("/usr/share/tool.conf", "/etc/tool/conf");
  EXPECT_THAT(Found(), ElementsAre(Pair("/etc/tool", "tool-2"), Pair("/etc/tool-2/conf", "")));
}

TEST_F(LinkedFilesTest, AnAlternativeLeadsOn) {
  File("/etc/tool.cfg");
  Link("/etc/alternatives/tool", "/etc/tool.cfg");
  Link("/usr/bin/tool.cfg", "/etc/alternatives/tool");
  EXPECT_THAT(Found(), ElementsAre(Pair("/etc/tool.cfg", "")));
}

TEST_F(LinkedFilesTest, ADirectoryOfManyLinkedFilesIsOneMount) {
  for (int i = 0; i < 9; ++i) {
    const std::string name = "/f" + std::to_string(i);
    File("/etc/jdk" + name);
    Link("/usr/lib/jdk" + name, "/etc/jdk" + name);
  }
  EXPECT_THAT(Found(), ElementsAre(Pair("/etc/jdk", "")));
}

TEST_F(LinkedFilesTest, LinksInACircleEnd) {
  Link("/etc/a", "b");
  Link("/etc/b", "a");
  Link("/usr/share/a", "/etc/a");
  EXPECT_THAT(Found(), ElementsAre(Pair("/etc/a", "b"), Pair("/etc/b", "a")));
}

}  // namespace
}  // namespace odyssey::executables
