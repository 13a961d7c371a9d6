#include "policy/executables/configuration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "policy/executables/etc_list.h"
#include "policy/plan/plan_check.h"

namespace odyssey::executables {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ConfigurationTest : public testing::Test {
 protected:
  ConfigurationTest() {
    std::string name = fs::temp_directory_path() / "linked-XXXXXX";
    root_ = mkdtemp(name.data());
    fs::create_directories(root_ + "/usr/share");
    fs::create_directories(root_ + "/etc");
  }
  ~ConfigurationTest() override { fs::remove_all(root_); }

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
    for (const compile::SystemEntry& entry : FindConfiguration(root_)) {
      out.emplace_back(entry.path, entry.link_target);
    }
    return out;
  }

  std::string root_;
};

using Pair = std::pair<std::string, std::string>;

TEST_F(ConfigurationTest, WhatUsrLinksIntoIsFound) {
  File("/etc/maven/m2.conf");
  File("/etc/tool.conf");
  Link("/usr/share/maven/bin/m2.conf", "/etc/maven/m2.conf");
  Link("/usr/share/maven/conf", "/etc/maven");
  Link("/usr/lib/tool/conf", "../../../etc/tool.conf");
  EXPECT_THAT(Found(), ElementsAre(Pair("/etc/maven", ""), Pair("/etc/tool.conf", "")));
}

TEST_F(ConfigurationTest, WhatNothingLinksToStaysHidden) {
  File("/etc/secret.conf");
  File("/etc/tool/linked");
  File("/etc/tool/other");
  Link("/usr/share/tool", "/etc/tool/linked");
  EXPECT_THAT(Found(), ElementsAre(Pair("/etc/tool/linked", "")));
}

TEST_F(ConfigurationTest, WhatNotEveryUserMayReadStaysHidden) {
  File("/etc/closed.conf", 0640);
  File("/etc/locked/inside");
  ASSERT_EQ(chmod((root_ + "/etc/locked").c_str(), 0750), 0);
  Link("/usr/share/a", "/etc/closed.conf");
  Link("/usr/share/b", "/etc/locked/inside");
  Link("/usr/share/c", "/etc/locked");
  Link("/usr/share/d", "/etc/missing");
  EXPECT_THAT(Found(), IsEmpty());
}

TEST_F(ConfigurationTest, TheHostsIdentityAndTheWholeOfEtcStayHidden) {
  for (const char* path : {"/etc/machine-id", "/etc/passwd", "/etc/environment", "/etc/hosts"}) {
    File(path);
    Link(std::string("/usr/share/x") + fs::path(path).filename().string(), path);
  }
  Link("/usr/share/all", "/etc");
  Link("/usr/share/up", "../../etc/../etc/machine-id");
  EXPECT_THAT(Found(), IsEmpty());
}

TEST_F(ConfigurationTest, LinksOfEtcOnTheWayAreShownToo) {
  File("/etc/tool-2/conf");
  Link("/etc/tool", "tool-2");
  Link("/usr/share/tool.conf", "/etc/tool/conf");
  EXPECT_THAT(Found(), ElementsAre(Pair("/etc/tool", "tool-2"), Pair("/etc/tool-2/conf", "")));
}

TEST_F(ConfigurationTest, AnAlternativeLeadsOn) {
  File("/etc/tool.cfg");
  Link("/etc/alternatives/tool", "/etc/tool.cfg");
  Link("/usr/bin/tool.cfg", "/etc/alternatives/tool");
  EXPECT_THAT(Found(), ElementsAre(Pair("/etc/alternatives", ""), Pair("/etc/tool.cfg", "")));
}

TEST_F(ConfigurationTest, ADirectoryOfManyLinkedFilesIsOneMount) {
  for (int i = 0; i < 9; ++i) {
    const std::string name = "/f" + std::to_string(i);
    File("/etc/jdk" + name);
    Link("/usr/lib/jdk" + name, "/etc/jdk" + name);
  }
  EXPECT_THAT(Found(), ElementsAre(Pair("/etc/jdk", "")));
}

TEST_F(ConfigurationTest, WhatTheListHasIsFoundWithoutALink) {
  File("/etc/services");
  File("/etc/magic", 0600);
  File("/etc/fpc-3.cfg");
  Link("/etc/alternatives/fpc.cfg", "/etc/fpc-3.cfg");
  Link("/etc/fpc.cfg", "alternatives/fpc.cfg");
  EXPECT_THAT(Found(),
              ElementsAre(Pair("/etc/alternatives", ""), Pair("/etc/fpc-3.cfg", ""),
                          Pair("/etc/fpc.cfg", "alternatives/fpc.cfg"), Pair("/etc/services", "")));
}

// However many links lead into it, and to it.
TEST_F(ConfigurationTest, ADirectoryWithSomethingHiddenIsNotShownAsAWhole) {
  File("/etc/ssl/private/key", 0644);
  File("/etc/ssl/openssl.cnf");
  for (int i = 0; i < 9; ++i) {
    const std::string name = "/f" + std::to_string(i);
    File("/etc/ssl" + name);
    Link("/usr/lib/ssl" + name, "/etc/ssl" + name);
  }
  Link("/usr/lib/ssl/all", "/etc/ssl");
  Link("/usr/lib/ssl/private", "/etc/ssl/private");
  for (const auto& [path, link] : Found()) {
    EXPECT_TRUE(path == "/etc/ssl/openssl.cnf" || path.rfind("/etc/ssl/f", 0) == 0) << path;
  }
  EXPECT_EQ(Found().size(), 10U);
}

TEST_F(ConfigurationTest, NothingIsBothShownAndHidden) {
  for (const EtcPath& shown : kShownOfEtc) {
    for (const EtcPath& hidden : kNotShownOfEtc) {
      EXPECT_FALSE(plan::IsWithin(shown.path, hidden.path) ||
                   plan::IsWithin(hidden.path, shown.path))
          << shown.path << " " << hidden.path;
    }
  }
}

TEST_F(ConfigurationTest, LinksInACircleEnd) {
  Link("/etc/a", "b");
  Link("/etc/b", "a");
  Link("/usr/share/a", "/etc/a");
  EXPECT_THAT(Found(), ElementsAre(Pair("/etc/a", "b"), Pair("/etc/b", "a")));
}

}  // namespace
}  // namespace odyssey::executables
